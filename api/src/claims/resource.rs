//! The resource's side of a binding: whose it is, in which phase, and where its connection secret is.

use bailiwick_machinery::name;
use serde_json::{Map, Value, json};

use super::reference::{ClaimRef, ObjectRef};

/// The annotation of a resource with the UID of its claim, for kinds of resources that have no `spec.claimRef`.
pub const CLAIM_UID_ANNOTATION: &str = "claim.bailiwick.dev/claim-uid";
/// The annotation beside it that says which claim that is: "<kind>.<group>/<namespace>/<name>".
pub const CLAIM_ANNOTATION: &str = "claim.bailiwick.dev/claim";
/// The annotation of a resource with its phase, for kinds of resources that have no `status.bindingPhase`.
pub const PHASE_ANNOTATION: &str = "claim.bailiwick.dev/binding-phase";
/// The annotation of a resource that says what becomes of it when its claim goes: Delete or Retain.
pub const RECLAIM_ANNOTATION: &str = "claim.bailiwick.dev/reclaim-policy";
/// Holds a resource for as long as it is bound.
pub const BOUND_FINALIZER: &str = "claim.bailiwick.dev/bound";
/// Holds a class for as long as claims use it.
pub const CLASS_FINALIZER: &str = "claim.bailiwick.dev/in-use";

/// How much of a claim's name is in the names of its resources.
const NAME_SHOWN: usize = 20;

/// Where a resource says whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRefPlace {
    /// In `spec.claimRef`.
    Field,
    /// In annotations.
    Annotations,
}

/// In which phase a claim or a resource is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// It cannot be bound yet.
    Unbindable,
    /// It is not bound.
    #[default]
    Unbound,
    /// It is bound.
    Bound,
    /// It was bound, and its claim is gone.
    Released,
}

/// What the resource of a claim is called that is made for this entry of its definition. The claim's UID is in it, so that no
/// two claims can mean the same one, however they are called and whenever they were made.
pub fn resource_name(claim_name: &str, claim_uid: &str, index: usize) -> String {
    let shown = claim_name.get(..NAME_SHOWN.min(claim_name.len())).unwrap_or_default();
    let shown = shown.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    format!("{shown}-{claim_uid}-{index}")
}

/// Whose a resource says it is. The UID is empty if only a name is stated: that is an offer, and no binding.
pub fn claim_ref(resource: &Value, place: ClaimRefPlace) -> Option<ClaimRef> {
    match place {
        ClaimRefPlace::Field => {
            let found = resource.pointer("/spec/claimRef").and_then(Value::as_object)?;
            let text = |field: &str| found.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let read = ObjectRef {
                api_version: text("apiVersion"),
                kind: text("kind"),
                namespace: text("namespace"),
                name: text("name"),
                uid: text("uid"),
            };
            (!read.name.is_empty() || !read.uid.is_empty()).then_some(read)
        }
        ClaimRefPlace::Annotations => {
            let uid = annotation(resource, CLAIM_UID_ANNOTATION).unwrap_or_default();
            let claim = annotation(resource, CLAIM_ANNOTATION).unwrap_or_default();
            if uid.is_empty() && claim.is_empty() {
                return None;
            }
            let mut parts = claim.splitn(3, '/');
            let (kind, namespace, name) = (parts.next(), parts.next(), parts.next());
            let (kind, group) = kind.and_then(|kind| kind.split_once('.')).unwrap_or_default();
            Some(ObjectRef {
                // The version is not stated, and does not matter.
                api_version: format!("{group}/"),
                kind: kind.to_owned(),
                namespace: namespace.unwrap_or_default().to_owned(),
                name: name.unwrap_or_default().to_owned(),
                uid: uid.to_owned(),
            })
        }
    }
}

/// Says in a resource whose it is.
pub fn set_claim_ref(resource: &mut Value, place: ClaimRefPlace, claim: &ClaimRef) {
    match place {
        ClaimRefPlace::Field => {
            let spec = object_at(resource, "spec");
            spec.insert("claimRef".to_owned(), json!(claim));
        }
        ClaimRefPlace::Annotations => {
            let ClaimRef { kind, namespace, name, uid, .. } = claim;
            let text = format!("{kind}.{}/{namespace}/{name}", claim.group());
            let annotations = object_at_path(resource, &["metadata", "annotations"]);
            annotations.insert(CLAIM_UID_ANNOTATION.to_owned(), json!(uid));
            annotations.insert(CLAIM_ANNOTATION.to_owned(), json!(text));
        }
    }
}

/// In which phase a resource says it is, if it does.
pub fn phase(resource: &Value) -> Option<Phase> {
    let stated = resource.pointer("/status/bindingPhase").and_then(Value::as_str).filter(|phase| !phase.is_empty());
    stated.or_else(|| annotation(resource, PHASE_ANNOTATION)).and_then(Phase::read)
}

/// Whether a resource is ready. One of a kind that has no conditions is so once it is there.
pub fn is_ready(resource: &Value, has_conditions: bool) -> bool {
    let conditions = resource.pointer("/status/conditions").and_then(Value::as_array);
    let mut found = conditions.into_iter().flatten().filter(|condition| condition["type"] == "Ready");
    found.next().map_or(!has_conditions, |ready| ready["status"] == "True")
}

/// The Secret in which a resource says how to reach what it stands for: its namespace and name.
pub fn connection_secret(resource: &Value) -> Option<(String, String)> {
    let text = |pointer: &str| resource.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let own = text("/metadata/namespace");
    let written = text("/spec/writeConnectionSecretToRef/name")
        .map(|name| (own.or_else(|| text("/spec/writeConnectionSecretToRef/namespace")).unwrap_or_default(), name));
    let told = || text("/status/binding/name").map(|name| (own.unwrap_or_default(), name));
    let (namespace, name) = written.or_else(told)?;
    // Neither is put into a path before it is known that there can be such a Secret.
    let can_be = name::dns1123_label(namespace).is_empty() && name::dns1123_subdomain(name).is_empty();
    can_be.then(|| (namespace.to_owned(), name.to_owned()))
}

fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.pointer("/metadata/annotations")?.get(key)?.as_str()
}

fn object_at_path<'v>(value: &'v mut Value, path: &[&str]) -> &'v mut Map<String, Value> {
    match path {
        [] => as_object(value),
        [first, rest @ ..] => {
            let inner = as_object(value).entry((*first).to_owned()).or_insert(Value::Null);
            object_at_path(inner, rest)
        }
    }
}

fn object_at<'v>(value: &'v mut Value, field: &str) -> &'v mut Map<String, Value> {
    object_at_path(value, &[field])
}

fn as_object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(fields) => fields,
        _ => unreachable!("it was just made an object"),
    }
}

// === impl Phase ===

impl Phase {
    /// All words for phases.
    pub const WORDS: [&'static str; 4] = ["Unbindable", "Unbound", "Bound", "Released"];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unbindable => "Unbindable",
            Self::Unbound => "Unbound",
            Self::Bound => "Bound",
            Self::Released => "Released",
        }
    }

    /// What a word means.
    pub fn read(word: &str) -> Option<Self> {
        [Self::Unbindable, Self::Unbound, Self::Bound, Self::Released].into_iter().find(|phase| phase.as_str() == word)
    }
}

#[cfg(test)]
mod tests;
