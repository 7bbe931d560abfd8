//! What a token of a service account says.

use std::collections::BTreeMap;
use std::time::Duration;

use bailiwick_registry::User;
use serde_json::{Map, Value};

use crate::authentication::identity::CREDENTIAL_ID;
use crate::authentication::token::TokenError;

/// What a token says. Its signature was verified.
#[derive(Debug)]
pub(super) struct Claims {
    pub(super) audiences: Vec<String>,
    pub(super) namespace: String,
    pub(super) account: Reference,
    id: String,
    expires: i64,
    not_before: i64,
    issued: i64,
    secret: Option<Reference>,
    pod: Option<Reference>,
    node: Option<Reference>,
}

/// An object, as a token names it.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) uid: String,
}

// === impl Claims ===

impl Claims {
    pub(super) fn read(payload: &Map<String, Value>) -> Result<Self, TokenError> {
        let missing = |claim: &str| TokenError(format!("the service account token has no usable claim {claim:?}"));
        let time = |claim: &str| payload.get(claim).and_then(Value::as_i64);
        let kubernetes = payload.get("kubernetes.io").ok_or_else(|| missing("kubernetes.io"))?;
        let reference = |field: &str| Reference::read(kubernetes.get(field)?);
        let audiences = match payload.get("aud") {
            Some(Value::String(audience)) => vec![audience.clone()],
            Some(Value::Array(audiences)) => audiences.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        for field in ["secret", "pod", "node"] {
            // What a token is bound to is never passed over because it cannot be read.
            if kubernetes.get(field).is_some_and(|value| !value.is_null()) && reference(field).is_none() {
                return Err(missing(field));
            }
        }
        Ok(Self {
            audiences,
            namespace: text(kubernetes, "namespace").ok_or_else(|| missing("namespace"))?,
            account: reference("serviceaccount").ok_or_else(|| missing("serviceaccount"))?,
            id: payload.get("jti").and_then(Value::as_str).unwrap_or_default().to_owned(),
            expires: time("exp").ok_or_else(|| missing("exp"))?,
            not_before: time("nbf").unwrap_or_default(),
            issued: time("iat").unwrap_or_default(),
            secret: reference("secret"),
            pod: reference("pod"),
            node: reference("node"),
        })
    }

    /// Whether the token counts at a time, for clocks that differ by no more than `leeway`.
    pub(super) fn check_time(&self, now: i64, leeway: Duration) -> Result<(), TokenError> {
        let leeway = i64::try_from(leeway.as_secs()).unwrap_or_default();
        let refuse = |why: &str| Err(TokenError(format!("service account token {why}")));
        if now.saturating_sub(leeway) > self.expires {
            return refuse("has expired");
        }
        if now.saturating_add(leeway) < self.not_before {
            return refuse("is not valid yet");
        }
        if now.saturating_add(leeway) < self.issued {
            return refuse("is issued in the future");
        }
        Ok(())
    }

    /// What else must be there: the plural, how people call it, and which. The node of a pod is only told.
    pub(super) fn bound(&self) -> impl Iterator<Item = (&'static str, &'static str, &Reference)> {
        let node = self.node.as_ref().filter(|_| self.pod.is_none());
        let all =
            [("secrets", "secret", self.secret.as_ref()), ("pods", "pod", self.pod.as_ref()), ("nodes", "node", node)];
        all.into_iter().filter_map(|(plural, kind, reference)| Some((plural, kind, reference?)))
    }

    pub(super) fn user(&self) -> User {
        let (namespace, account) = (&self.namespace, &self.account);
        let mut extra = BTreeMap::new();
        let mut tell = |key: &str, value: &str| drop(extra.insert(key.to_owned(), vec![value.to_owned()]));
        if !self.id.is_empty() {
            tell(CREDENTIAL_ID, &format!("JTI={}", self.id));
        }
        for (kind, reference) in [("pod", &self.pod), ("node", &self.node)] {
            if let Some(Reference { name, uid }) = reference {
                tell(&format!("authentication.kubernetes.io/{kind}-name"), name);
                tell(&format!("authentication.kubernetes.io/{kind}-uid"), uid);
            }
        }
        User {
            name: format!("system:serviceaccount:{namespace}:{}", account.name),
            uid: account.uid.clone(),
            groups: vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")],
            extra,
            ..User::default()
        }
    }
}

// === impl Reference ===

impl Reference {
    fn read(value: &Value) -> Option<Self> {
        Some(Self { name: text(value, "name")?, uid: text(value, "uid")? })
    }
}

fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests;
