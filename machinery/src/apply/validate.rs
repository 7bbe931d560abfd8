//! Whether a value is of a type, in the words of upstream.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use super::element::PathElement;
use super::item::element_of;
use super::print::{go_syntax, go_type, go_value};
use super::types::{self, Form, List, ListMerge, Scalar, Type};

/// How many errors are told. More would help nobody, and an object could be made to have millions.
const MAX_ERRORS: usize = 1000;
/// How long the texts of all errors may be. Paths and values are as long as objects are.
const MAX_ERROR_BYTES: usize = 1 << 20;

/// What is wrong with an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeErrors {
    errors: Vec<TypeError>,
    bytes: usize,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    /// Where: `.spec.parts[name="a"]`; empty for the object itself.
    pub path: String,
    /// In which way.
    pub message: String,
}

/// What may occur twice in lists that are sets or maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// Nothing: what is applied must be unambiguous.
    Refused,
    /// Anything: what is stored is as it is.
    Allowed,
}

/// Checks that a value is of a type.
pub(super) fn validate(kind: &Type, value: &Value, duplicates: Duplicates) -> Result<(), TypeErrors> {
    let mut walk = Walk { duplicates, errors: TypeErrors::default(), path: Vec::new() };
    walk.value(kind, value);
    if walk.errors.errors.is_empty() { Ok(()) } else { Err(walk.errors) }
}

// === impl TypeErrors ===

impl TypeErrors {
    /// Each thing that is wrong; of very many, the first.
    pub fn as_slice(&self) -> &[TypeError] {
        &self.errors
    }
}

impl fmt::Display for TypeErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.errors.as_slice() {
            return write!(f, "{only}");
        }
        f.write_str("errors:")?;
        self.errors.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}

impl std::error::Error for TypeErrors {}

// === impl TypeError ===

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

struct Walk {
    duplicates: Duplicates,
    errors: TypeErrors,
    path: Vec<PathElement>,
}

// === impl Walk ===

impl Walk {
    fn value(&mut self, kind: &Type, value: &Value) {
        match kind.form(value) {
            Form::Scalar(scalar) => self.scalar(scalar, value),
            Form::List(list) => match value {
                Value::Array(items) => self.items(list, items),
                Value::Null => {}
                other => self.note(|| format!("expected list, got &{{{}}}", go_value(other))),
            },
            Form::Map(map) => match value {
                Value::Object(fields) => self.fields(map, fields),
                Value::Null => {}
                other => self.note(|| format!("expected map, got &{{{}}}", go_value(other))),
            },
        }
    }

    fn scalar(&mut self, scalar: Scalar, value: &Value) {
        match (scalar, value) {
            (_, Value::Null)
            | (Scalar::Numeric, Value::Number(_))
            | (Scalar::Text, Value::String(_))
            | (Scalar::Boolean, Value::Bool(_))
            | (Scalar::Any, Value::Bool(_) | Value::Number(_) | Value::String(_)) => {}
            (Scalar::Numeric, other) => {
                self.note(|| format!("expected numeric (int or float), got {}", go_type(other)));
            }
            (Scalar::Text, other) => {
                self.note(|| format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(other)));
            }
            (Scalar::Boolean, other) => self.note(|| format!("expected boolean, got &{{{}}}", go_value(other))),
            (Scalar::Any, other) => self.note(|| format!("expected any scalar, got &{{{}}}", go_value(other))),
        }
    }

    fn items(&mut self, list: &List, items: &[Value]) {
        let mut seen = BTreeSet::new();
        for (i, item) in items.iter().enumerate() {
            let element = match list.merge {
                ListMerge::Atomic => PathElement::Index(i64::try_from(i).unwrap_or(i64::MAX)),
                ListMerge::Set | ListMerge::Map(_) => match element_of(list, item) {
                    Ok(element) => element,
                    Err(error) => {
                        self.note(|| format!("element {i}: {error}"));
                        return;
                    }
                },
            };
            if !list.is_atomic() && self.duplicates == Duplicates::Refused && !seen.insert(element.clone()) {
                self.note(|| format!("duplicate entries for key {element}"));
            }
            self.path.push(element);
            self.value(&list.items, item);
            self.path.pop();
        }
    }

    fn fields(&mut self, map: &types::Map, fields: &Map<String, Value>) {
        for (name, value) in fields {
            self.path.push(PathElement::Field(name.clone()));
            let kind = map.field(name);
            match kind {
                Some(kind) => self.value(kind, value),
                None => self.note(|| "field not declared in schema".to_owned()),
            }
            self.path.pop();
            // Upstream looks no further in this map.
            if kind.is_none() {
                return;
            }
        }
    }

    fn note(&mut self, message: impl FnOnce() -> String) {
        if self.errors.errors.len() < MAX_ERRORS && self.errors.bytes < MAX_ERROR_BYTES {
            let path: String = self.path.iter().map(PathElement::to_string).collect();
            let message = message();
            self.errors.bytes += path.len() + message.len();
            self.errors.errors.push(TypeError { path, message });
        }
    }
}
