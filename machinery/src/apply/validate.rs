//! Whether a value is of a type, in the words of upstream.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use super::element::PathElement;
use super::item::element_of;
use super::print::{go_syntax, go_type, go_value};
use super::types::{self, Form, List, Scalar, Type};

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
    let mut walk = Walk { duplicates, errors: TypeErrors::default() };
    walk.value(kind, value, &Place { parent: None, step: Step::Root });
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
}

/// Where a walk is. Text is made of it only when there is something to say.
#[derive(Clone, Copy)]
struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Field(&'p str),
    Item(&'p PathElement),
    Index(usize),
}

// === impl Place ===

impl<'p> Place<'p> {
    fn inside<'c>(&'c self, step: Step<'c>) -> Place<'c>
    where
        'p: 'c,
    {
        Place { parent: Some(self), step }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) => write!(f, ".{name}"),
            Step::Item(element) => element.fmt(f),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

// === impl Walk ===

impl Walk {
    fn value(&mut self, kind: &Type, value: &Value, place: &Place<'_>) {
        match kind.form(value) {
            Form::Scalar(scalar) => self.scalar(scalar, value, place),
            Form::List(list) => match value {
                Value::Array(items) if list.is_atomic() => {
                    for (i, item) in items.iter().enumerate() {
                        self.value(&list.items, item, &place.inside(Step::Index(i)));
                    }
                }
                Value::Array(items) => self.items(list, items, place),
                Value::Null => {}
                other => self.note(place, || format!("expected list, got &{{{}}}", go_value(other))),
            },
            Form::Map(map) => match value {
                Value::Object(fields) => self.fields(map, fields, place),
                Value::Null => {}
                other => self.note(place, || format!("expected map, got &{{{}}}", go_value(other))),
            },
        }
    }

    fn scalar(&mut self, scalar: Scalar, value: &Value, place: &Place<'_>) {
        match (scalar, value) {
            (_, Value::Null)
            | (Scalar::Numeric, Value::Number(_))
            | (Scalar::Text, Value::String(_))
            | (Scalar::Boolean, Value::Bool(_))
            | (Scalar::Any, Value::Bool(_) | Value::Number(_) | Value::String(_)) => {}
            (Scalar::Numeric, other) => {
                self.note(place, || format!("expected numeric (int or float), got {}", go_type(other)));
            }
            (Scalar::Text, other) => self
                .note(place, || format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(other))),
            (Scalar::Boolean, other) => {
                self.note(place, || format!("expected boolean, got &{{{}}}", go_value(other)));
            }
            (Scalar::Any, other) => self.note(place, || format!("expected any scalar, got &{{{}}}", go_value(other))),
        }
    }

    fn items(&mut self, list: &List, items: &[Value], place: &Place<'_>) {
        let elements: Result<Vec<_>, _> =
            items.iter().enumerate().map(|(i, item)| element_of(list, item).map_err(|error| (i, error))).collect();
        // Upstream looks no further than the first item that cannot be told from others.
        let (elements, broken) = match elements {
            Ok(elements) => (elements, None),
            Err((i, error)) => {
                let before = items.iter().take(i).filter_map(|item| element_of(list, item).ok());
                (before.collect(), Some((i, error)))
            }
        };
        let mut seen = BTreeSet::new();
        for (element, item) in elements.iter().zip(items) {
            if self.duplicates == Duplicates::Refused && !seen.insert(element) {
                self.note(place, || format!("duplicate entries for key {element}"));
            }
            self.value(&list.items, item, &place.inside(Step::Item(element)));
        }
        if let Some((i, error)) = broken {
            self.note(place, || format!("element {i}: {error}"));
        }
    }

    fn fields(&mut self, map: &types::Map, fields: &Map<String, Value>, place: &Place<'_>) {
        for (name, value) in fields {
            let place = place.inside(Step::Field(name));
            match map.field(name) {
                Some(kind) => self.value(kind, value, &place),
                // Upstream looks no further in this map.
                None => return self.note(&place, || "field not declared in schema".to_owned()),
            }
        }
    }

    fn note(&mut self, place: &Place<'_>, message: impl FnOnce() -> String) {
        if self.errors.errors.len() < MAX_ERRORS && self.errors.bytes < MAX_ERROR_BYTES {
            let (path, message) = (place.to_string(), message());
            self.errors.bytes += path.len() + message.len();
            self.errors.errors.push(TypeError { path, message });
        }
    }
}
