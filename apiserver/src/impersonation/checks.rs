//! What is asked, one by one, before someone acts as someone else.

use std::collections::BTreeMap;

use bailiwick_machinery::name::dns1123_subdomain;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, go};
use bailiwick_registry::{Attributes, AuthorizationTarget, Authorizer, Decision, ResourceAttributes, User};

use super::Refusal;
use super::mode::Mode;
use super::names::{node, service_account};
use crate::authorization::{forbidden, not_known};

const AUTHENTICATION: &str = "authentication.k8s.io";
const MASTERS: &str = "system:masters";
/// From so many groups or values on, whoever may take all of them is not asked for each.
const MANY: usize = 4;

/// Asks about one requestor, in one way.
pub(super) struct Checks<'c> {
    pub(super) authorizer: &'c dyn Authorizer,
    pub(super) requestor: &'c User,
    pub(super) mode: Mode,
}

// === impl Checks ===

impl Checks<'_> {
    pub(super) async fn ask(&self, question: &Attributes<'_>) -> Result<(), Refusal> {
        match self.authorizer.authorize(question).await {
            Ok(Decision::Allow(_)) => Ok(()),
            Ok(Decision::Deny(reason) | Decision::NoOpinion(reason)) => {
                Err(Refusal::Forbidden(Box::new(forbidden(question, &reason))))
            }
            Err(error) => Err(Refusal::Unknown(not_known(question, &error))),
        }
    }

    pub(super) async fn user(&self, wanted: &User) -> Result<(), Refusal> {
        let mut target = self.target("users", &wanted.name);
        if self.is_limited()
            && let Some(name) = node(&wanted.name)
        {
            // Whoever may act as its own node may do so on any node.
            let name = if self.mode == Mode::AssociatedNode { "*" } else { name };
            target = ResourceAttributes { resource: "nodes", name, ..target };
        }
        if let Some((namespace, name)) = service_account(&wanted.name) {
            target = ResourceAttributes { resource: "serviceaccounts", namespace, name, ..target };
        }
        self.ask_for(target).await
    }

    pub(super) async fn uid(&self, uid: &str) -> Result<(), Refusal> {
        if uid.is_empty() {
            return Ok(());
        }
        self.ask_for(ResourceAttributes { group: AUTHENTICATION, ..self.target("uids", uid) }).await
    }

    pub(super) async fn groups(&self, groups: &[String]) -> Result<(), Refusal> {
        if self.is_limited() && !groups.is_empty() {
            if groups.iter().any(String::is_empty) {
                return Err(self.refuse("groups", "", "impersonating the empty string group is not allowed"));
            }
            if groups.iter().any(|group| group == MASTERS) {
                return Err(self.refuse("groups", MASTERS, "impersonating the system:masters group is not allowed"));
            }
            if groups.len() >= MANY && self.ask_for(self.target("groups", "*")).await.is_ok() {
                return Ok(());
            }
        }
        for group in groups {
            self.ask_for(self.target("groups", group)).await?;
        }
        Ok(())
    }

    pub(super) async fn extra(&self, extra: &BTreeMap<String, Vec<String>>) -> Result<(), Refusal> {
        let target = |key, value| ResourceAttributes {
            group: AUTHENTICATION,
            subresource: key,
            ..self.target("userextras", value)
        };
        if self.is_limited() && !extra.is_empty() {
            for (key, values) in extra {
                if let Some(reason) = problem(key, values) {
                    let question = self.question(target("", ""));
                    return Err(Refusal::Forbidden(Box::new(forbidden(&question, &reason))));
                }
            }
            let many = extra.len() >= MANY || extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if many && self.ask_for(target("*", "*")).await.is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                self.ask_for(target(key, value)).await?;
            }
        }
        Ok(())
    }

    /// Whether this way also limits what may be done. Those that do came later, and their names are of another group.
    fn is_limited(&self) -> bool {
        self.mode != Mode::Legacy
    }

    fn target<'t>(&self, resource: &'t str, name: &'t str) -> ResourceAttributes<'t> {
        let group = if self.is_limited() { AUTHENTICATION } else { "" };
        ResourceAttributes { group, version: "v1", resource, name, ..ResourceAttributes::default() }
    }

    fn question<'t>(&'t self, target: ResourceAttributes<'t>) -> Attributes<'t> {
        let target = AuthorizationTarget::Resource(target);
        Attributes { user: self.requestor, verb: self.mode.verb(), target }
    }

    async fn ask_for(&self, target: ResourceAttributes<'_>) -> Result<(), Refusal> {
        self.ask(&self.question(target)).await
    }

    fn refuse(&self, resource: &str, name: &str, reason: &str) -> Refusal {
        Refusal::Forbidden(Box::new(forbidden(&self.question(self.target(resource, name)), reason)))
    }
}

/// What is wrong with a key and its values, where that is looked at.
fn problem(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let errors = domain_prefixed_path(key);
    if !errors.is_empty() {
        return Some(format!("impersonating an invalid key in extra is not allowed: {errors}"));
    }
    if key != key.to_lowercase() {
        return Some(format!("impersonating a non-lowercase key in extra is not allowed: {}", go::quote(key)));
    }
    values
        .iter()
        .any(String::is_empty)
        .then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

/// What keeps a text from being a domain and a path, such as `acme.io/foo`.
fn domain_prefixed_path(key: &str) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let field = FieldPath::new("extra").child("key");
    let Some((host, path)) = key.split_once('/').filter(|(host, path)| !host.is_empty() && !path.is_empty()) else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(FieldError::invalid(field, key, detail));
        return errors;
    };
    errors.extend(dns1123_subdomain(host).into_iter().map(|detail| FieldError::invalid(field.clone(), host, detail)));
    if !path.chars().all(|c| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c)) {
        let detail = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        errors.push(FieldError::invalid(field, path, detail));
    }
    errors
}

#[cfg(test)]
mod tests;
