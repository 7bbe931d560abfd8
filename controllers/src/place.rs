//! Where an object of a kind is.

use std::fmt;

use bailiwick_machinery::name;
use kube::{Resource, ResourceExt};

/// Where an object of a kind is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// Empty if it has none.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// A name as clients put it into paths, which they do as it is. What nothing can be called is empty, which they refuse.
pub(crate) fn in_path(name: &str) -> String {
    name::in_path(name).unwrap_or_default()
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
