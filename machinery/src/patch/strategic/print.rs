//! Values as Go prints them in errors.

use serde_json::Value;

use crate::go::GoNumber;

pub(super) const LIST: &str = "[]interface {}";
pub(super) const OBJECT: &str = "map[string]interface {}";

/// The type of a value, as `reflect` names it. Whole numbers and others are of different types.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) => match GoNumber::of(number) {
            GoNumber::Int(_) => "int64",
            GoNumber::Float(_) => "float64",
        },
        Value::String(_) => "string",
        Value::Array(_) => LIST,
        Value::Object(_) => OBJECT,
    }
}

/// As `%v` prints it: `map[a:1 b:[x y]]`.
pub(super) fn plain(value: &Value) -> String {
    print(value, &|value| match value {
        Value::Null => "<nil>".to_owned(),
        Value::Number(number) => GoNumber::of(number).text(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

/// As `%s` prints it, which complains about everything that is no text.
pub(super) fn text(value: &Value) -> String {
    print(value, &|value| match value {
        Value::Null => "%!s(<nil>)".to_owned(),
        Value::String(text) => text.clone(),
        other => format!("%!s({}={})", go_type(other), plain(other)),
    })
}

pub(super) fn list(items: &[Value]) -> String {
    let items: Vec<String> = items.iter().map(plain).collect();
    format!("[{}]", items.join(" "))
}

fn print(value: &Value, single: &dyn Fn(&Value) -> String) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| print(item, single)).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}:{}", print(value, single))).collect();
            format!("map[{}]", fields.join(" "))
        }
        value => single(value),
    }
}
