//! How large the status of a Bundle can become, so that one whose status could not be stored is refused.

use serde_json::Value;

use super::BundleSpec;
use crate::path_name::MAX_OBJECT_NAME;

/// The most bytes of what is said of one resource, or of the Bundle.
pub const MAX_MESSAGE: usize = 2 * 1024;
/// The most bytes of what is said of all resources together.
const MAX_MESSAGES: usize = 128 * 1024;
/// What the status has however few resources there are: conditions, the critical path, who wrote it.
const FIXED: usize = 32 * 1024;
/// What it says of each resource beside names and messages: phases, times, UIDs, names of fields, and who owns these.
const OF_EACH: usize = 1024;

/// The most bytes of what is said of one resource, of so many.
pub fn max_message(resources: usize) -> usize {
    (MAX_MESSAGES / resources.max(1)).min(MAX_MESSAGE)
}

/// How many bytes the status of such a Bundle can have, about.
pub fn status_room(spec: &BundleSpec) -> usize {
    let length = |value: Option<&Value>| value.and_then(Value::as_str).map_or(0, str::len);
    let of_one = |resource: &super::BundleResource| {
        let object = resource.object();
        let name = object.pointer("/metadata/name");
        let name = match name.and_then(Value::as_str) {
            Some(name) if !name.contains("$(") => name.len(),
            Some(_) | None => MAX_OBJECT_NAME,
        };
        let named = length(object.get("apiVersion")) + length(object.get("kind")) + name;
        let needed: usize = resource.depends_on.iter().map(|name| name.len() + 3).sum();
        // It is named among the resources, and in the inventory.
        OF_EACH + 2 * named + 4 * resource.name.len() + needed
    };
    let count = spec.resources.len();
    FIXED + count * max_message(count) + spec.resources.iter().map(of_one).sum::<usize>()
}
