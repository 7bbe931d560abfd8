//! What the status of a definition says of it.

use bailiwick_machinery::Object;
use bailiwick_machinery::crd::{self, Condition, Definition, TakenNames, accept_names};
use serde_json::{Map, Value, json};

/// Grants a definition the names it wants and can have, and establishes it if it has all of them. Whether that changed what
/// its status says.
pub(super) fn establish(object: &mut Object, definition: &Definition, taken: &TakenNames<'_>, now: &str) -> bool {
    let before = object.clone();
    let mut conditions = definition.status.conditions.clone();
    if let Some(accepted) = accept_names(definition, taken) {
        status(object).insert("acceptedNames".to_owned(), json!(accepted.names));
        crd::set_condition(&mut conditions, accepted.accepted, now);
        crd::set_condition(&mut conditions, accepted.established, now);
    }
    if is_true(&conditions, "NamesAccepted") && !is_true(&conditions, "Established") {
        crd::set_condition(&mut conditions, Condition::established(), now);
    }
    if let Some(approval) = Condition::approval(definition) {
        crd::set_condition(&mut conditions, approval, now);
    }
    if conditions != definition.status.conditions {
        status(object).insert("conditions".to_owned(), json!(conditions));
    }
    *object != before
}

/// Says something of a definition.
pub(crate) fn set_condition(object: &mut Object, condition: Condition, now: &str) {
    let mut conditions = Definition::from_object(object).map_or_else(|_| Vec::new(), |found| found.status.conditions);
    crd::set_condition(&mut conditions, condition, now);
    status(object).insert("conditions".to_owned(), json!(conditions));
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

fn is_true(conditions: &[Condition], name: &str) -> bool {
    conditions.iter().any(|condition| condition.condition_type == name && condition.status == "True")
}
