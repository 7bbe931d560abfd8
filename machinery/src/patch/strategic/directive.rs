//! What stands in a patch beside fields: `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/…` and `$setElementOrder/…`.

use serde_json::{Map, Value};

use super::print::{plain, text};
use super::{Result, StrategicError};

/// `$patch: replace`, `delete` or, nowhere, `merge`.
pub(super) const DIRECTIVE: &str = "$patch";
pub(super) const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
pub(super) const SET_ORDER: &str = "$setElementOrder";
const RETAIN_KEYS: &str = "$retainKeys";

/// The field that a directive is about.
pub(super) fn field_of<'k>(key: &'k str, prefix: &str) -> Result<&'k str> {
    match key.split_once('/') {
        Some((found, field)) if found == prefix => Ok(field),
        _ if prefix == DELETE_FROM_LIST => Err(StrategicError::Format("primitive list")),
        _ => Err(StrategicError::Format("setElementOrder list")),
    }
}

/// What becomes of an object whose patch is about the whole of it.
pub(super) fn whole_object(directive: &Value, mut patch: Map<String, Value>) -> Result<Map<String, Value>> {
    match directive.as_str() {
        Some("replace") => {
            patch.remove(DIRECTIVE);
            Ok(patch)
        }
        Some("delete") => Ok(Map::new()),
        _ => Err(unknown(directive, patch)),
    }
}

pub(super) fn unknown(directive: &Value, item: Map<String, Value>) -> StrategicError {
    StrategicError::UnknownDirective { directive: text(directive), item: plain(&Value::Object(item)) }
}

/// Removes the fields that `$retainKeys` does not name; those that the patch sets must be named.
pub(super) fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<()> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    const FORMAT: StrategicError = StrategicError::Format("retainKeys");
    let Value::Array(keys) = keys else { return Err(FORMAT) };
    if keys.iter().any(|key| key.is_array() || key.is_object()) {
        return Err(StrategicError::Incomparable);
    }
    let is_kept = |name: &str| keys.iter().any(|key| key == name);
    let is_free = |name: &str, value: &Value| {
        value.is_null() || name.starts_with(DELETE_FROM_LIST) || name.starts_with(SET_ORDER)
    };
    if patch.iter().any(|(name, value)| !is_free(name, value) && !is_kept(name)) {
        return Err(FORMAT);
    }
    original.retain(|name, _| is_kept(name));
    Ok(())
}

/// A value without the objects in it that are directives; none if it is one.
pub(super) fn remove_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(name, value)| Some((name, remove_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(remove_directives).collect())),
        other => Some(other),
    }
}

/// Removes the fields that are null; items of lists that are null stay.
pub(super) fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}
