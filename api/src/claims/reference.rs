//! References between claims, classes and resources.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An object, as a claim names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectRef {
    /// The group and version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The namespace, if it has one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    pub name: String,
    /// Which of those that have had this name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// A claim, as a resource names it: whose it is.
pub type ClaimRef = ObjectRef;

// === impl ObjectRef ===

impl ObjectRef {
    /// The object that this is.
    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            uid: text("/metadata/uid"),
        }
    }

    /// What stands in a field; none if there is no name in it.
    pub fn read(value: Option<&Value>) -> Option<Self> {
        let read = Self::deserialize(value?).ok()?;
        (!read.name.is_empty()).then_some(read)
    }

    /// The group; empty for the core group.
    pub fn group(&self) -> &str {
        group_of(&self.api_version)
    }

    /// Whether an object of this kind may be meant. What names no kind means any.
    pub fn means(&self, api_version: &str, kind: &str) -> bool {
        (self.kind.is_empty() || self.kind == kind)
            && (self.api_version.is_empty() || self.group() == group_of(api_version))
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests;
