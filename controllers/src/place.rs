//! Where an object of a kind is.

use std::fmt;

use kube::{Resource, ResourceExt};

/// Where an object of a kind is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// Empty if it has none.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

// === impl Place ===

impl Place {
    pub(crate) fn of<K: Resource>(object: &K) -> Self {
        Self { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return f.write_str(&self.name);
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
