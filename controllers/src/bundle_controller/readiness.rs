//! Whether an object is ready, by what it says itself: by what is said of its kind, or else by the usual conventions.

use bailiwick_api::bundle::ObjectPath;
use serde_json::Value;

use super::type_rules::TypeRules;

mod conventions;

/// Whether an object is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// It is.
    Ready,
    /// Not yet, because of this.
    NotYet(String),
    /// It says that it will not be, because of this.
    Failed(String),
}

/// Whether an object is ready, but for what must exist beside it.
pub(super) fn readiness(object: &Value, rules: &TypeRules) -> Readiness {
    if object.pointer("/metadata/deletionTimestamp").is_some_and(|deleted| !deleted.is_null()) {
        return Readiness::NotYet("it is being deleted".to_owned());
    }
    // What an object says of itself in any way is about what it was when that was said.
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    if let (Some(observed), Some(generation)) = (number("/status/observedGeneration"), number("/metadata/generation"))
        && observed < generation
    {
        return Readiness::NotYet(format!("its controller has seen generation {observed} of {generation}"));
    }
    if rules.is_empty() {
        return conventions::readiness(object);
    }
    if let Some((path, value)) = &rules.field
        && !equals(path.find(object), value)
    {
        return Readiness::NotYet(format!("{path} is {}, and must be \"{value}\"", shown(path, object)));
    }
    match &rules.condition {
        Some(condition) => conventions::condition(object, condition),
        None => Readiness::Ready,
    }
}

/// Whether a field has a value that was written as text. Numbers and booleans are what they are, however they are written.
fn equals(found: Option<&Value>, wanted: &str) -> bool {
    match found {
        Some(Value::String(found)) => found == wanted,
        Some(Value::Bool(found)) => wanted.parse() == Ok(*found),
        Some(Value::Number(found)) => {
            found.to_string() == wanted || wanted.parse().is_ok_and(|wanted: f64| found.as_f64() == Some(wanted))
        }
        Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => false,
    }
}

/// How far a text is shown.
const MAX_SHOWN: usize = 64;

/// What people are told of a field that decides. Only a short text of the status is shown: whatever else may be secret.
fn shown(path: &ObjectPath, object: &Value) -> String {
    match path.find(object) {
        None | Some(Value::Null) => "not there".to_owned(),
        Some(Value::String(text)) if path.begins_with(&["status"]) && text.len() <= MAX_SHOWN => format!("\"{text}\""),
        Some(value @ (Value::Bool(_) | Value::Number(_))) if path.begins_with(&["status"]) => value.to_string(),
        Some(_) => "something else".to_owned(),
    }
}

#[cfg(test)]
mod tests;
