//! From claims to a user.

use std::collections::BTreeMap;

use bailiwick_registry::User;
use serde_json::Value;

use super::claims::Claims;
use crate::authentication::configuration::{ClaimMappings, ClaimValidationRule, JwtConfiguration, PrefixedClaim};
use crate::authentication::identity::CREDENTIAL_ID;

/// Names that mean something to Kubernetes itself. An issuer can only give them if the configured prefix begins so.
const RESERVED: &str = "system:";
/// Where a token says which of its claims are held elsewhere.
const DISTRIBUTED: &str = "_claim_names";

/// Which claims name the user.
#[derive(Debug)]
pub(super) struct Mapping {
    mappings: ClaimMappings,
    rules: Vec<ClaimValidationRule>,
}

/// Why claims name nobody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum MappingError {
    #[error("parse {what} claim {claim:?}: claim not present")]
    Absent { what: &'static str, claim: String },
    #[error("parse {what} claim {claim:?}: it is not a text")]
    NoText { what: &'static str, claim: String },
    #[error("parse groups claim {claim:?}: it is neither a text nor a list of texts")]
    NoTexts { claim: String },
    #[error("the username claim {claim:?} is empty")]
    Nameless { claim: String },
    #[error("the username begins with \"system:\", which is reserved: set a prefix for the claim {claim:?}")]
    Reserved { claim: String },
    #[error("parse 'email_verified' claim: it is not true or false")]
    EmailVerifiedType,
    #[error("email not verified")]
    EmailNotVerified,
    #[error("required claim {0} not present in ID token, or not a text")]
    RequiredAbsent(String),
    #[error("required claim {0} value does not match")]
    RequiredValue(String),
    #[error("the claim {0:?} is held elsewhere: distributed claims are not supported")]
    Distributed(String),
}

// === impl Mapping ===

impl Mapping {
    pub(super) fn new(configuration: &JwtConfiguration) -> Self {
        Self { mappings: configuration.claim_mappings.clone(), rules: configuration.claim_validation_rules.clone() }
    }

    /// The user that the claims name, if they fulfil what is required of them.
    pub(super) fn user(&self, claims: &Claims) -> Result<User, MappingError> {
        let user = User {
            name: self.name(claims)?,
            groups: self.groups(claims)?,
            uid: self.uid(claims)?,
            extra: extra(claims),
            ..User::default()
        };
        self.rules.iter().try_for_each(|rule| require(claims, rule))?;
        Ok(user)
    }

    fn name(&self, claims: &Claims) -> Result<String, MappingError> {
        let PrefixedClaim { claim, prefix, .. } = &self.mappings.username;
        let name = text(claims, "username", claim)?;
        if name.is_empty() {
            return Err(MappingError::Nameless { claim: claim.clone() });
        }
        if claim == "email" {
            match claims.0.get("email_verified") {
                None | Some(Value::Bool(true)) => {}
                Some(Value::Bool(false)) => return Err(MappingError::EmailNotVerified),
                Some(_) => return Err(MappingError::EmailVerifiedType),
            }
        }
        let name = prefixed(prefix.as_deref(), name);
        if is_reserved(prefix.as_deref(), &name) {
            return Err(MappingError::Reserved { claim: claim.clone() });
        }
        Ok(name)
    }

    fn groups(&self, claims: &Claims) -> Result<Vec<String>, MappingError> {
        let PrefixedClaim { claim, prefix, .. } = &self.mappings.groups;
        if claim.is_empty() {
            return Ok(Vec::new());
        }
        let groups = match claims.0.get(claim) {
            None if is_distributed(claims, claim) => return Err(MappingError::Distributed(claim.clone())),
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::String(group)) => vec![group.as_str()],
            Some(Value::Array(groups)) => {
                let groups = groups.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
                groups.ok_or_else(|| MappingError::NoTexts { claim: claim.clone() })?
            }
            Some(_) => return Err(MappingError::NoTexts { claim: claim.clone() }),
        };
        let groups = groups.into_iter().map(|group| prefixed(prefix.as_deref(), group));
        Ok(groups.filter(|group| !group.is_empty() && !is_reserved(prefix.as_deref(), group)).collect())
    }

    fn uid(&self, claims: &Claims) -> Result<String, MappingError> {
        match self.mappings.uid.claim.as_str() {
            "" => Ok(String::new()),
            claim => text(claims, "uid", claim).map(str::to_owned),
        }
    }
}

fn text<'c>(claims: &'c Claims, what: &'static str, claim: &str) -> Result<&'c str, MappingError> {
    match claims.0.get(claim) {
        Some(Value::String(text)) => Ok(text),
        None => Err(MappingError::Absent { what, claim: claim.to_owned() }),
        Some(_) => Err(MappingError::NoText { what, claim: claim.to_owned() }),
    }
}

fn prefixed(prefix: Option<&str>, name: &str) -> String {
    format!("{}{name}", prefix.unwrap_or_default())
}

/// Whether an issuer, and not the operator's prefix, gives a name that is Kubernetes' own.
fn is_reserved(prefix: Option<&str>, name: &str) -> bool {
    name.starts_with(RESERVED) && !prefix.unwrap_or_default().starts_with(RESERVED)
}

fn is_distributed(claims: &Claims, claim: &str) -> bool {
    match claims.0.get(DISTRIBUTED) {
        None => false,
        Some(Value::Object(names)) => names.contains_key(claim),
        Some(_) => true,
    }
}

fn extra(claims: &Claims) -> BTreeMap<String, Vec<String>> {
    let id = claims.0.get("jti").and_then(Value::as_str).filter(|id| !id.is_empty());
    id.map(|id| (CREDENTIAL_ID.to_owned(), vec![format!("JTI={id}")])).into_iter().collect()
}

fn require(claims: &Claims, rule: &ClaimValidationRule) -> Result<(), MappingError> {
    let Some(Value::String(value)) = claims.0.get(&rule.claim) else {
        return Err(MappingError::RequiredAbsent(rule.claim.clone()));
    };
    if *value == rule.required_value { Ok(()) } else { Err(MappingError::RequiredValue(rule.claim.clone())) }
}
