//! What must be known of a kind to handle its objects, from the CustomResourceDefinition that defines it.

use serde_json::Value;

use super::resource::ClaimRefPlace;
use super::standard_fields::{has, missing_fields};

/// The label of ClusterRoles that the provisioner holds.
pub const PROVISIONER_LABEL: &str = "claim.bailiwick.dev/aggregate-to-provisioner";

/// What the provisioner does with claims.
pub(super) const CLAIM_VERBS: [&str; 4] = ["get", "list", "patch", "watch"];
/// What the provisioner does with classes: beside reading them, it holds those that are in use.
pub(super) const CLASS_VERBS: [&str; 4] = ["get", "list", "patch", "watch"];
/// What the provisioner does with resources.
pub(super) const RESOURCE_VERBS: [&str; 6] = ["create", "delete", "get", "list", "patch", "watch"];
/// What the provisioner does with connection secrets.
pub(super) const SECRET_VERBS: [&str; 6] = ["create", "delete", "get", "list", "update", "watch"];

/// What must be known of a kind, in one of its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindFacts {
    /// The group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The name in paths.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Where its objects say whose they are.
    pub claim_ref: ClaimRefPlace,
    /// Whether its objects say in conditions whether they are ready.
    pub has_conditions: bool,
    /// Whether its objects say in which phase they are, in a status that is written apart.
    pub has_phase: bool,
    /// What claims have, and objects of this kind cannot hold.
    pub missing: Vec<String>,
    /// Whether it is being deleted: none of its objects is made any more, and all that there are are about to go.
    pub going: bool,
}

// === impl KindFacts ===

impl KindFacts {
    /// What the provisioner must be allowed to do with claims of a kind.
    pub const CLAIM_VERBS: &'static [&'static str] = &CLAIM_VERBS;
    /// What the provisioner must be allowed to do with classes of a kind.
    pub const CLASS_VERBS: &'static [&'static str] = &CLASS_VERBS;
    /// What the provisioner must be allowed to do with resources of a kind.
    pub const RESOURCE_VERBS: &'static [&'static str] = &RESOURCE_VERBS;

    /// The group and the kind of an established definition. There may be objects of it, also if no version is served any more.
    pub fn established(definition: &Value) -> Option<(&str, &str)> {
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        is(definition, "Established").then(|| (text("/spec/group"), text("/spec/names/kind")))
    }

    /// What an established definition says of its kind, for each version that is served.
    pub fn of(definition: &Value) -> Vec<Self> {
        if Self::established(definition).is_none() {
            return Vec::new();
        }
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let going = is(definition, "Terminating") || !text("/metadata/deletionTimestamp").is_empty();
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        let served = versions.filter(|version| version["served"] == true);
        let facts = |version: &Value| {
            let schema = version.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null);
            let mut missing = missing_fields(schema);
            let has_status = version.pointer("/subresources/status").is_some();
            if !has_status {
                missing.push("subresource status".to_owned());
            }
            Self {
                group: text("/spec/group"),
                version: version["name"].as_str().unwrap_or_default().to_owned(),
                kind: text("/spec/names/kind"),
                plural: text("/spec/names/plural"),
                namespaced: text("/spec/scope") == "Namespaced",
                claim_ref: match has(schema, &["spec", "claimRef", "uid"]) {
                    true => ClaimRefPlace::Field,
                    false => ClaimRefPlace::Annotations,
                },
                has_conditions: has(schema, &["status", "conditions"]),
                has_phase: has_status && has(schema, &["status", "bindingPhase"]),
                missing,
                going,
            }
        };
        served.map(facts).collect()
    }

    /// As objects state it.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }
}

/// Whether a definition says that this is so.
fn is(definition: &Value, name: &str) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| condition["type"] == name && condition["status"] == "True")
}

#[cfg(test)]
mod tests;
