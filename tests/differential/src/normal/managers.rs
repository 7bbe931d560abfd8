//! Who owns which fields: entries are in the order of their times, which are whole seconds, so that it is a matter of luck
//! whether two that followed each other have the same one.

use serde_json::Value;

/// Sorts the entries of every `managedFields` by what they say.
pub(super) fn sort(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Array(entries)) = fields.get_mut("managedFields") {
                entries.sort_by_cached_key(|entry| {
                    ["operation", "manager", "subresource", "apiVersion"].map(|field| entry[field].to_string())
                });
            }
            fields.values_mut().for_each(sort);
        }
        Value::Array(items) => items.iter_mut().for_each(sort),
        _ => {}
    }
}
