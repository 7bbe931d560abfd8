//! The keys that tokens are signed with: each server has its own.

use serde_json::Value;

/// What of a key is different in every one.
const OWN: [&str; 4] = ["kid", "n", "x", "y"];

/// Replaces what is a key's own in a set of keys.
pub(super) fn hide(body: &mut Value) {
    for key in body.get_mut("keys").and_then(Value::as_array_mut).into_iter().flatten() {
        for field in OWN {
            if let Some(value) = key.get_mut(field) {
                *value = Value::from("<key>");
            }
        }
    }
}
