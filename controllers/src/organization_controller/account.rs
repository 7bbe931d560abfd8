//! What our account may bind in a cluster, whatever its role says: policies keep it from giving anything to itself, or where it is,
//! and from binding groups of the system.
//!
//! One subject that is refused would keep all others of a RoleBinding from what they are to have, so such are left out.

use k8s_openapi::api::rbac::v1::Subject;

/// What begins the name of a service account among users.
pub(super) const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
/// What begins the names of Kubernetes' own groups.
const SYSTEM: &str = "system:";

/// Whom a cluster knows us as.
pub(super) struct Account(String);

// === impl Account ===

impl Account {
    pub(super) fn new(name: String) -> Self {
        Self(name)
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }

    /// The namespace that it is in, if it is a service account.
    pub(super) fn home(&self) -> Option<&str> {
        home(&self.0)
    }

    /// Whether it may bind a role to this subject.
    pub(super) fn may_bind_to(&self, subject: &Subject) -> bool {
        match subject.kind.as_str() {
            "User" => home(&subject.name).is_none_or(|namespace| Some(namespace) != self.home()),
            _ => !subject.name.starts_with(SYSTEM),
        }
    }
}

fn home(user: &str) -> Option<&str> {
    user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':').map(|(namespace, _)| namespace)
}
