//! The JSON form of field sets: `{"f:spec":{"f:a":{},"f:b":{".":{},"f:c":{}}}}`.
//!
//! A field that is only a member has an empty object; one that also has members below it has a `.`.

use serde_json::{Map, Value};

use super::element::{ElementError, PathElement};
use super::set::FieldSet;

/// Why JSON is no field set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FieldsError {
    #[error("parsing key as path element: {0}")]
    Element(#[from] ElementError),
    #[error("expect {{ or n, but found {found}")]
    NoObject { found: String },
}

/// Reads a set.
pub(super) fn from_json(json: &Value) -> Result<FieldSet, FieldsError> {
    read(json).map(|(_, set)| set)
}

/// The set below, and whether the field itself is a member.
fn read(json: &Value) -> Result<(bool, FieldSet), FieldsError> {
    let mut set = FieldSet::default();
    let mut member = false;
    match json {
        Value::Null => {}
        Value::Object(fields) => {
            for (text, json) in fields {
                if text == "." {
                    member = true;
                    continue;
                }
                match PathElement::parse(text) {
                    Ok(element) => {
                        let (member, below) = read(json)?;
                        set.put(element, member, below);
                    }
                    Err(ElementError::UnknownType) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        other => {
            let found = other.to_string().chars().next().map(String::from).unwrap_or_default();
            return Err(FieldsError::NoObject { found });
        }
    }
    Ok((member || set.is_empty(), set))
}

/// Writes a set.
pub(super) fn to_json(set: &FieldSet) -> Value {
    write(set, false)
}

fn write(set: &FieldSet, member: bool) -> Value {
    let mut fields = Map::new();
    if member && !set.is_empty() {
        fields.insert(".".to_owned(), Value::Object(Map::new()));
    }
    for node in set.nodes() {
        fields.insert(node.element.to_text(), write(&node.below, node.member));
    }
    Value::Object(fields)
}
