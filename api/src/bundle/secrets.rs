//! Where values of Secrets may go: into data of Secrets, and nowhere else without permission.

use super::path::{ObjectPath, Segment};

/// Fields of a Secret that everyone may know who knows of it.
const OPEN: [&str; 4] = ["apiVersion", "immutable", "kind", "type"];
/// The same of its metadata. Annotations are not among them: kubectl keeps whole objects there.
const OPEN_METADATA: [&str; 7] =
    ["creationTimestamp", "generation", "labels", "name", "namespace", "resourceVersion", "uid"];

/// Whether this is the kind of Secrets.
pub fn is_secret_kind(api_version: &str, kind: &str) -> bool {
    (api_version, kind) == ("v1", "Secret")
}

/// Whether what is at this path of a Secret is to be kept from others.
pub fn is_secret(path: &ObjectPath) -> bool {
    let named =
        |segment: &Segment, names: &[&str]| matches!(segment, Segment::Key(key) if names.contains(&key.as_str()));
    match path.segments() {
        [first] => !named(first, &OPEN),
        [first, second, ..] => !named(first, &["metadata"]) || !named(second, &OPEN_METADATA),
        [] => true,
    }
}

/// Whether a field of an object may hold what was in a Secret.
pub fn may_hold_secrets(api_version: &str, kind: &str, at: &ObjectPath) -> bool {
    is_secret_kind(api_version, kind) && (at.begins_with(&["data"]) || at.begins_with(&["stringData"]))
}

#[cfg(test)]
mod tests;
