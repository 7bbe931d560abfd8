//! Role-based access control: what roles allow, to whom bindings give them, and who may hand out what.
//!
//! Everything here is a function of a [`Policy`], an immutable picture of all roles and bindings. Whoever follows the
//! objects keeps a [`LivePolicy`] up to date, and readers take its newest picture without waiting for anyone.
//!
//! ```text
//! changes of objects ──▶ LivePolicy ──picture──▶ Rbac (may they?), rules_review (what may they?), escalation (may they give it?)
//! ```

mod aggregate;
mod authorizer;
mod bootstrap;
mod controllers;
mod coverage;
mod defaults;
mod error;
mod escalation;
mod follow;
mod guard;
mod live;
mod policy;
mod review;
mod rule;
mod shared_map;
mod validation;

pub use aggregate::aggregate;
pub use authorizer::Rbac;
pub use bootstrap::bootstrap;
pub use coverage::uncovered;
pub use defaults::{cluster_role_bindings, cluster_roles};
pub use error::{RoleError, aggregated};
pub use escalation::{EscalationError, RoleWrite, check_binding, check_role, confirm_no_escalation};
pub use follow::follow;
pub use guard::NoEscalation;
pub use live::LivePolicy;
pub use policy::{Grant, Policy, PolicyChange, PolicyKey, PolicyKind, PolicyObject, RoleSource};
pub use review::rules_review;
pub use rule::rule_allows;
pub(crate) use validation::validate_same_role;
pub use validation::{
    validate_cluster_role, validate_cluster_role_binding, validate_cluster_role_binding_update, validate_role,
    validate_role_binding, validate_role_binding_update,
};

/// The group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// Service accounts' names as users.
const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// A list that may be absent, which is the same as empty.
fn list<T>(list: &Option<Vec<T>>) -> &[T] {
    list.as_deref().unwrap_or_default()
}
