//! One step of a path into an object, as text in field sets (`f:spec`, `k:{"name":"a"}`, `v:"a"`, `i:0`) and in messages
//! (`.spec`, `[name="a"]`, `[="a"]`, `[0]`).

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};

use super::order::order;
use crate::go::{self, Dialect, GoNumber, Html, write_json, write_json_text};

/// A step from a value to one inside of it.
#[derive(Clone, Debug)]
pub(super) enum PathElement {
    /// A field of a map.
    Field(String),
    /// The item of a list whose fields have these values. Sorted by name.
    Key(Vec<(String, Value)>),
    /// The item of a set that is this value.
    Value(Value),
    /// The item of a list at this place.
    Index(i64),
}

/// Why a text is no path element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ElementError {
    #[error("key must be 2 characters long:")]
    TooShort,
    #[error("missing colon: {0}")]
    MissingColon(String),
    #[error("{0:?} holds no JSON of the right form")]
    Malformed(String),
    /// Of a type that a later version may know: to be passed over.
    #[error("unknown path element type")]
    UnknownType,
}

// === impl PathElement ===

impl PathElement {
    /// Reads what stands in a field set.
    pub(super) fn parse(text: &str) -> Result<Self, ElementError> {
        let &[kind, separator, ..] = text.as_bytes() else {
            return Err(ElementError::TooShort);
        };
        if separator != b':' {
            return Err(ElementError::MissingColon(text.to_owned()));
        }
        let content = text.get(2..).unwrap_or_default();
        let malformed = || ElementError::Malformed(text.to_owned());
        match kind {
            b'f' => Ok(Self::Field(content.to_owned())),
            b'v' => first_json(content).map(Self::Value).ok_or_else(malformed),
            b'k' => match first_json(content).ok_or_else(malformed)? {
                Value::Object(fields) => {
                    let mut fields: Vec<_> = fields.into_iter().collect();
                    fields.sort_by(|left, right| left.0.cmp(&right.0));
                    Ok(Self::Key(fields))
                }
                Value::Null => Ok(Self::Key(Vec::new())),
                _ => Err(malformed()),
            },
            b'i' => content.parse().map(Self::Index).map_err(|_| malformed()),
            _ => Err(ElementError::UnknownType),
        }
    }

    /// As it stands in a field set.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        match self {
            Self::Field(name) => {
                text.push_str("f:");
                text.push_str(name);
            }
            Self::Key(fields) => {
                text.push_str("k:{");
                for (i, (name, value)) in fields.iter().enumerate() {
                    if i > 0 {
                        text.push(',');
                    }
                    write_json_text(name, &mut text, Dialect::FieldSets, Html::Plain);
                    text.push(':');
                    write_json(value, &mut text, Dialect::FieldSets);
                }
                text.push('}');
            }
            Self::Value(value) => {
                text.push_str("v:");
                write_json(value, &mut text, Dialect::FieldSets);
            }
            Self::Index(index) => {
                text.push_str("i:");
                text.push_str(&index.to_string());
            }
        }
        text
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => {
                let fields = left.iter().zip(right);
                let mut fields =
                    fields.map(|(left, right)| left.0.cmp(&right.0).then_with(|| order(&left.1, &right.1)));
                fields.find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
            }
            (Self::Value(left), Self::Value(right)) => order(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            (left, right) => left.rank().cmp(&right.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

/// As messages have it.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", display(value))).collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(f, "[={}]", display(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A value in a message. The fields of a map stand side by side with nothing between, as upstream prints them.
fn display(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => GoNumber::of(number).text(),
        Value::String(text) => go::quote(text),
        Value::Array(items) => format!("[{}]", items.iter().map(display).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => fields.iter().map(|(name, value)| format!("{name}={}", display(value))).collect(),
    }
}

/// The first JSON value of a text, whatever follows it; numbers become floating.
fn first_json(text: &str) -> Option<Value> {
    let mut value = serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok()?;
    make_floating(&mut value);
    Some(value)
}

fn make_floating(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = Number::from_f64(GoNumber::of(number).as_f64()) {
                *number = float;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_floating),
        Value::Object(fields) => fields.values_mut().for_each(make_floating),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
