//! JSON as Go's types read it: what has another type is refused, what nobody knows is dropped, and what is left is what Go
//! would write for it.

use base64::Engine;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use super::fill::fill;
use super::table::{Field, FieldKind, Instead, Message, Shape, schema_message};
use super::{HostType, ReadError};
use crate::decode::Budget;
use crate::encode::number::whole;
use crate::go::json_type;
use crate::object::Object;
use crate::quantity::{Quantity, QuantityError};
use crate::time::{
    RFC3339_LAYOUT, RFC3339_MICRO_LAYOUT, ZERO, format_rfc3339, format_rfc3339_micro, parse_rfc3339,
    parse_rfc3339_micro, quote, where_unread,
};

/// Why JSON is no object of its kind. The texts are those of Go's JSON package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// A field has a value of another type.
    #[error("json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {expected}")]
    Field {
        /// What was found.
        found: String,
        /// The type that the field belongs to.
        owner: &'static str,
        /// Where the field is, without the indexes of lists.
        path: String,
        /// What should be there.
        expected: String,
    },
    /// A quantity is none.
    #[error(transparent)]
    Quantity(QuantityError),
    /// A time is none.
    #[error("parsing time {text} as {layout}: cannot parse {rest} as {expected}")]
    Time {
        /// The text, quoted.
        text: String,
        /// How a time is written, quoted.
        layout: String,
        /// What of the text could not be read, quoted.
        rest: String,
        /// What should stand there, quoted.
        expected: String,
    },
    /// Bytes are not written as base64.
    #[error("illegal base64 data at input byte {at}")]
    Base64 {
        /// Where.
        at: usize,
    },
    /// What should be a schema, or say whether anything is allowed, is neither.
    #[error("boolean or JSON schema expected")]
    SchemaOrBool,
    /// A value has another type, at a place whose name is not known.
    #[error("json: cannot unmarshal {found} into Go value of type {expected}")]
    Value {
        /// What was found.
        found: String,
        /// What should be there.
        expected: String,
    },
    /// The values take too much memory once everything is there that their types have.
    #[error(transparent)]
    TooManyValues(ReadError),
}

/// Go does not mind what the bits say that are left over.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// Where a walk is.
struct Place<'p> {
    /// The type that a field belongs to.
    owner: &'static str,
    /// For errors: `spec.containers.name`.
    path: &'p str,
    /// For fields that are not known: `spec.containers[0].name`.
    precise: &'p str,
}

// === impl HostType ===

impl HostType {
    /// Makes an object what Go would make of it. Returns where the fields were that nobody knows: `spec.parts[2].foo`.
    pub fn accept(self, object: &mut Object) -> Result<Vec<String>, TypeError> {
        let fields = object.fields_mut();
        let mut unknown = Vec::new();
        let kept: Vec<(&str, Option<Value>)> =
            ["apiVersion", "kind"].into_iter().map(|name| (name, fields.remove(name))).collect();
        accept_fields(self.message, fields, "", "", &mut unknown)?;
        fill(self.message, fields, &mut Budget::new()).map_err(TypeError::TooManyValues)?;
        for (name, value) in kept {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        }
        Ok(unknown)
    }

    /// Adds what Go's types always have to an object that was accepted and has lost some of it since.
    pub fn complete(self, object: &mut Object) {
        // What was accepted once is small enough.
        drop(fill(self.message, object.fields_mut(), &mut Budget::new()));
    }
}

fn accept_fields(
    message: &'static Message,
    fields: &mut Map<String, Value>,
    path: &str,
    precise: &str,
    unknown: &mut Vec<String>,
) -> Result<(), TypeError> {
    let mut dropped = Vec::new();
    for (name, value) in fields.iter_mut() {
        let precise = join(precise, name);
        match message.field(name) {
            None => {
                unknown.push(precise);
                dropped.push(name.clone());
            }
            Some(_) if value.is_null() => dropped.push(name.clone()),
            Some(field) => {
                let path = join(path, name);
                let place = Place { owner: message.go_name(), path: &path, precise: &precise };
                accept_field(field, value, &place, unknown)?;
            }
        }
    }
    for name in dropped {
        fields.remove(&name);
    }
    Ok(())
}

fn accept_field(
    field: &'static Field,
    value: &mut Value,
    place: &Place<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), TypeError> {
    match (field.shape, value) {
        (Shape::Plain | Shape::Pointer, value) => accept_value(field, value, place, unknown),
        (Shape::List, Value::Array(items)) => items.iter_mut().enumerate().try_for_each(|(index, item)| {
            let precise = format!("{}[{index}]", place.precise);
            accept_value(field, item, &Place { precise: &precise, ..*place }, unknown)
        }),
        (Shape::Map, Value::Object(entries)) => entries.iter_mut().try_for_each(|(name, value)| {
            let precise = join(place.precise, name);
            accept_value(field, value, &Place { precise: &precise, ..*place }, unknown)
        }),
        (Shape::List | Shape::Map, other) => Err(place.mismatch(json_type(other), go_type(field))),
    }
}

/// One value of a field. A null is the zero value of its type.
fn accept_value(
    field: &'static Field,
    value: &mut Value,
    place: &Place<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), TypeError> {
    let accepted = match (field.kind, &mut *value) {
        (FieldKind::Message(_), Value::Object(fields)) => {
            return match field.message() {
                Some(message) => accept_fields(message, fields, place.path, place.precise, unknown),
                None => Ok(()),
            };
        }
        (FieldKind::Message(_), Value::Null) => Some(Value::Object(Map::new())),
        (FieldKind::SchemaOr(instead), value) => return accept_schema_or(instead, value),
        (FieldKind::Json, _) => None,
        (FieldKind::Float64, Value::Number(number)) => Some(float(number.as_f64().unwrap_or_default())),
        (FieldKind::Float64, Value::Null) => Some(Value::from(0)),
        (FieldKind::Text, Value::Null) => Some(Value::from("")),
        (FieldKind::Int32 | FieldKind::Int64 | FieldKind::IntOrString, Value::Null) => Some(Value::from(0)),
        (FieldKind::Bool, Value::Null) => Some(Value::from(false)),
        (FieldKind::Bytes | FieldKind::Time | FieldKind::MicroTime | FieldKind::Texts, Value::Null) => None,
        (FieldKind::FieldsV1, _) | (FieldKind::Text, Value::String(_)) | (FieldKind::Bool, Value::Bool(_)) => None,
        (FieldKind::Int32 | FieldKind::Int64, Value::Number(number)) => {
            let fits = number.as_i64().is_some_and(|n| field.kind == FieldKind::Int64 || i32::try_from(n).is_ok());
            if !fits {
                return Err(place.mismatch(&format!("number {number}"), item_type(field)));
            }
            None
        }
        (FieldKind::Bytes, Value::String(text)) => Some(Value::from(BASE64.encode(base64(text)?))),
        // Go reads the text of whatever it is.
        (FieldKind::Quantity, Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(TypeError::Quantity(QuantityError::Format));
        }
        (FieldKind::Quantity, value) => Some(Quantity::from_json(value).map_err(TypeError::Quantity)?.to_json()),
        (FieldKind::IntOrString, value) => {
            int_or_string(value, place)?;
            None
        }
        (FieldKind::Time | FieldKind::MicroTime, value) => Some(time(field.kind, value, place)?),
        (FieldKind::Texts, Value::Array(items)) => {
            for item in items {
                match item {
                    Value::String(_) => {}
                    Value::Null => *item = Value::from(""),
                    other => return Err(place.mismatch(json_type(other), "string".to_owned())),
                }
            }
            None
        }
        (_, other) => return Err(place.mismatch(json_type(other), item_type(field))),
    };
    if let Some(accepted) = accepted {
        *value = accepted;
    }
    Ok(())
}

/// Go reads what may be something else in a step of its own: it knows no path there, and does not mind unknown fields.
fn accept_schema_or(instead: Instead, value: &mut Value) -> Result<(), TypeError> {
    let accept = |fields: &mut Map<String, Value>| match schema_message() {
        Some(message) => accept_fields(message, fields, "", "", &mut Vec::new()),
        None => Ok(()),
    };
    match (instead, &mut *value) {
        (_, Value::Object(fields)) => return accept(fields),
        (Instead::Bool, Value::Bool(_)) => {}
        (Instead::Bool, _) => return Err(TypeError::SchemaOrBool),
        (Instead::List, Value::Array(items)) if !items.is_empty() => {
            for item in items {
                match item {
                    Value::Object(fields) => accept(fields)?,
                    Value::Null => *item = Value::Object(Map::new()),
                    other => {
                        let expected = "v1.JSONSchemaProps".to_owned();
                        return Err(TypeError::Value { found: json_type(other).to_owned(), expected });
                    }
                }
            }
        }
        (Instead::Texts, Value::Array(items)) if !items.is_empty() => {
            for item in items {
                match item {
                    Value::String(_) => {}
                    Value::Null => *item = Value::from(""),
                    other => {
                        let expected = "string".to_owned();
                        return Err(TypeError::Value { found: json_type(other).to_owned(), expected });
                    }
                }
            }
        }
        (Instead::List | Instead::Texts, other) => *other = Value::Null,
    }
    Ok(())
}

/// A number as Go writes it: without a point if it has none.
pub(super) fn float(number: f64) -> Value {
    whole(number).map_or_else(|| Value::from(number), Value::from)
}

fn int_or_string(value: &Value, place: &Place<'_>) -> Result<(), TypeError> {
    let found = match value {
        Value::String(_) => return Ok(()),
        Value::Number(number) if number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()) => return Ok(()),
        Value::Number(number) => format!("number {number}"),
        other => json_type(other).to_owned(),
    };
    Err(place.mismatch(&found, "int32".to_owned()))
}

/// As Go writes it again: in UTC, and without a fraction, or with six digits of one.
fn time(kind: FieldKind, value: &Value, place: &Place<'_>) -> Result<Value, TypeError> {
    let Value::String(text) = value else {
        return Err(place.mismatch(json_type(value), "string".to_owned()));
    };
    let written = match kind {
        FieldKind::MicroTime => parse_rfc3339_micro(text).map(|(seconds, micros)| match (seconds, micros) {
            (ZERO, 0) => Some(Value::Null),
            (seconds, micros) => format_rfc3339_micro(seconds, micros).map(Value::from),
        }),
        _ => parse_rfc3339(text).map(|seconds| match seconds {
            ZERO => Some(Value::Null),
            seconds => format_rfc3339(seconds).map(Value::from),
        }),
    };
    written.flatten().ok_or_else(|| {
        let layout = if kind == FieldKind::MicroTime { RFC3339_MICRO_LAYOUT } else { RFC3339_LAYOUT };
        let (rest, expected) = where_unread(text, layout);
        let (text, layout) = (quote(text), quote(&layout.concat()));
        TypeError::Time { text, layout, rest: quote(rest), expected: quote(expected) }
    })
}

/// Go passes over line breaks.
fn base64(text: &str) -> Result<Vec<u8>, TypeError> {
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    BASE64.decode(&text).map_err(|error| {
        use base64::DecodeError::{InvalidByte, InvalidLastSymbol, InvalidLength, InvalidPadding};
        let at = match error {
            InvalidByte(at, _) | InvalidLastSymbol(at, _) => at,
            InvalidLength(_) | InvalidPadding => text.len() / 4 * 4,
        };
        TypeError::Base64 { at }
    })
}

// === impl Place ===

impl Place<'_> {
    fn mismatch(&self, found: &str, expected: String) -> TypeError {
        TypeError::Field { found: found.to_owned(), owner: self.owner, path: self.path.to_owned(), expected }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The type of a field, as Go prints it.
fn go_type(field: &Field) -> String {
    match (field.shape, field.named) {
        (Shape::Map, Some(named)) => named.to_owned(),
        (Shape::Map, None) => format!("map[string]{}", item_type(field)),
        (Shape::List, _) => format!("[]{}", item_type(field)),
        (Shape::Plain | Shape::Pointer, _) => item_type(field),
    }
}

/// The type of one value of a field.
fn item_type(field: &Field) -> String {
    let named = field.named.filter(|_| field.shape != Shape::Map);
    let plain = match field.kind {
        FieldKind::Text => "string",
        FieldKind::Bool => "bool",
        FieldKind::Int32 => "int32",
        FieldKind::Int64 => "int64",
        FieldKind::Bytes => "[]uint8",
        FieldKind::Quantity => "resource.Quantity",
        FieldKind::IntOrString => "intstr.IntOrString",
        FieldKind::Time => "v1.Time",
        FieldKind::MicroTime => "v1.MicroTime",
        FieldKind::FieldsV1 => "v1.FieldsV1",
        FieldKind::Texts => "v1.ExtraValue",
        FieldKind::Float64 => "float64",
        FieldKind::Json => "v1.JSON",
        FieldKind::SchemaOr(instead) => return format!("v1.{}", instead.go_name()),
        FieldKind::Message(_) => {
            return format!("v1.{}", field.message().map_or("", Message::go_name));
        }
    };
    named.unwrap_or(plain).to_owned()
}
