//! Why the rules of a role are not known. Others may still allow what is asked, so this is told and not thrown.

use bailiwick_machinery::go;

use super::GROUP;

/// Why the rules that a binding refers to are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoleError {
    /// There is no such role.
    #[error("role.{GROUP} {} not found", go::quote(.0))]
    NoRole(String),
    /// There is no such cluster role.
    #[error("clusterrole.{GROUP} {} not found", go::quote(.0))]
    NoClusterRole(String),
    /// What is referred to is no role.
    #[error("unsupported role reference kind: {}", go::quote(.0))]
    UnsupportedKind(String),
}

// === impl RoleError ===

impl RoleError {
    /// In the words of those who write bindings: Kubernetes names the resource there, and one object where it authorizes.
    pub fn of_writer(&self) -> String {
        match self {
            Self::NoRole(name) => format!("roles.{GROUP} {} not found", go::quote(name)),
            Self::NoClusterRole(name) => format!("clusterroles.{GROUP} {} not found", go::quote(name)),
            Self::UnsupportedKind(_) => self.to_string(),
        }
    }
}

/// Several texts as Kubernetes puts them into one: each once, in brackets if there are several.
pub fn aggregated(texts: impl IntoIterator<Item = String>) -> String {
    let mut known: Vec<String> = Vec::new();
    for text in texts {
        if !known.contains(&text) {
            known.push(text);
        }
    }
    match known.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}
