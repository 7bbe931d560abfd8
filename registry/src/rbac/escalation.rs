//! Nobody hands out what they do not have: checks at the write of roles and bindings.
//!
//! Who may `escalate` a role may write any rules into it, and who may `bind` a role may bind it. All others must hold every
//! right that the role gives, in the namespace of the role or binding. `system:masters` may do anything.

use bailiwick_machinery::go;
use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef};

use super::GROUP;
use super::coverage::{quoted, uncovered};
use super::error::{RoleError, aggregated};
use super::policy::Policy;
use crate::User;
use crate::authorization::{AllowGroup, Attributes, Authorizer, Decision, Resource, Target};

/// Why someone may not write a role or a binding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EscalationError {
    /// It would give rights that they do not hold.
    #[error("{}", not_held(user, missing, unresolved))]
    NotHeld {
        /// Who.
        user: Box<User>,
        /// The rights, as people read them.
        missing: Vec<String>,
        /// Which of their own roles were not found.
        unresolved: Vec<RoleError>,
    },
    /// It would collect rights from other roles, which could be any.
    #[error("must have cluster-admin privileges to use the aggregationRule")]
    Aggregation,
    /// What it binds does not exist.
    #[error("{}", .0.of_writer())]
    Role(RoleError),
}

/// A role that someone wants to write.
#[derive(Clone, Copy, Debug)]
pub struct RoleWrite<'a> {
    /// `roles` or `clusterroles`.
    pub resource: &'a str,
    /// Where; empty for cluster roles.
    pub namespace: &'a str,
    /// The name in the request's path; empty where an object is created, whose name Kubernetes does not look at here.
    pub name: &'a str,
    /// The rules it is to have.
    pub rules: &'a [PolicyRule],
    /// Whether it has an aggregation rule, or had one.
    pub aggregates: bool,
}

/// Whether a user may write a role.
pub async fn check_role(
    authorizer: &dyn Authorizer,
    policy: &Policy,
    user: &User,
    role: &RoleWrite<'_>,
) -> Result<(), EscalationError> {
    let escalate = Resource {
        group: GROUP,
        version: "*",
        resource: role.resource,
        namespace: role.namespace,
        name: role.name,
        ..Resource::default()
    };
    if AllowGroup::MASTERS.has(user) || allows(authorizer, user, "escalate", escalate).await {
        return Ok(());
    }
    confirm_no_escalation(policy, user, role.namespace, role.rules)?;
    if role.aggregates && confirm_no_escalation(policy, user, role.namespace, &full_authority()).is_err() {
        return Err(EscalationError::Aggregation);
    }
    Ok(())
}

/// Whether a user may bind a role, in a namespace or, if there is none, everywhere.
pub async fn check_binding(
    authorizer: &dyn Authorizer,
    policy: &Policy,
    user: &User,
    role: &RoleRef,
    namespace: &str,
) -> Result<(), EscalationError> {
    if AllowGroup::MASTERS.has(user) {
        return Ok(());
    }
    let resource = match role.kind.as_str() {
        "ClusterRole" => Some("clusterroles"),
        "Role" => Some("roles"),
        _ => None,
    };
    if let Some(resource) = resource {
        let group = role.api_group.as_deref().unwrap_or_default();
        let bind = Resource { group, version: "*", resource, namespace, name: &role.name, ..Resource::default() };
        if allows(authorizer, user, "bind", bind).await {
            return Ok(());
        }
    }
    let rules = policy.rules(role, namespace).map_err(EscalationError::Role)?;
    confirm_no_escalation(policy, user, namespace, rules)
}

/// Whether a user holds all rights that rules give, in a namespace or, if there is none, everywhere.
pub fn confirm_no_escalation(
    policy: &Policy,
    user: &User,
    namespace: &str,
    rules: &[PolicyRule],
) -> Result<(), EscalationError> {
    let (held, unresolved) = policy.rules_for(user, namespace);
    let missing = uncovered(&held, rules);
    if missing.is_empty() {
        return Ok(());
    }
    Err(EscalationError::NotHeld { user: Box::new(user.clone()), missing, unresolved })
}

/// Whether someone is explicitly allowed to. Who cannot be asked has not allowed it, and the rules decide.
async fn allows(authorizer: &dyn Authorizer, user: &User, verb: &str, resource: Resource<'_>) -> bool {
    let question = Attributes { user, verb, target: Target::Resource(resource) };
    matches!(authorizer.authorize(&question).await, Ok(Decision::Allow(_)))
}

fn full_authority() -> [PolicyRule; 2] {
    let all = || vec!["*".to_owned()];
    [
        PolicyRule { verbs: all(), api_groups: Some(all()), resources: Some(all()), ..PolicyRule::default() },
        PolicyRule { verbs: all(), non_resource_urls: Some(all()), ..PolicyRule::default() },
    ]
}

fn not_held(user: &User, missing: &[String], unresolved: &[RoleError]) -> String {
    let (name, groups) = (go::quote(&user.name), quoted(&user.groups));
    let missing = missing.join("\n");
    let mut text =
        format!("user {name} (groups={groups}) is attempting to grant RBAC permissions not currently held:\n{missing}");
    if !unresolved.is_empty() {
        let errors = aggregated(unresolved.iter().map(RoleError::of_writer));
        text.push_str(&format!("; resolution errors: [{errors}]"));
    }
    text
}

#[cfg(test)]
mod tests;
