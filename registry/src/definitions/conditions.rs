//! What the status of a definition says of it.

use bailiwick_machinery::Object;
use serde_json::{Map, Value, json};

/// Something that is to be known of a definition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition<'c> {
    /// What.
    pub(crate) name: &'c str,
    /// `True` or `False`.
    pub(crate) status: &'c str,
    /// Why, in a word.
    pub(crate) reason: &'c str,
    /// Why.
    pub(crate) message: &'c str,
}

/// Says something of a definition. Since when is kept if it was said before.
pub(crate) fn set_condition(object: &mut Object, condition: Condition<'_>, now: &str) {
    let conditions = status(object).entry("conditions").or_insert(Value::Null);
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Value::Array(conditions) = conditions else { return };
    let known = conditions.iter_mut().find(|known| known["type"] == condition.name);
    let since = known.as_ref().filter(|known| known["status"] == condition.status);
    let since = since.and_then(|known| known["lastTransitionTime"].as_str()).unwrap_or(now);
    let said = json!({
        "type": condition.name,
        "status": condition.status,
        "lastTransitionTime": since,
        "reason": condition.reason,
        "message": condition.message,
    });
    match known {
        Some(known) => *known = said,
        None => conditions.push(said),
    }
}

/// The status, which is made if it is not there.
pub(crate) fn status(object: &mut Object) -> &mut Map<String, Value> {
    let status = object.fields_mut().entry("status").or_insert(Value::Null);
    if !status.is_object() {
        *status = json!({});
    }
    match status {
        Value::Object(fields) => fields,
        _ => unreachable!("it was just made an object"),
    }
}
