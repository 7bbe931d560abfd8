//! From JSON to protobuf, to the byte what Go writes for the same object.
//!
//! Upstream's messages are proto2 without optional fields of its own: what is no pointer in Go is always written, also
//! when it is empty. Fields come in the order of their numbers, entries of maps in the order of their keys.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use serde_json::{Map, Value};

use super::HostType;
use super::table::{Field, FieldKind, Instead, Message, Shape, schema_message};
use crate::encode::push_json;
use crate::object::Object;
use crate::proto::in_envelope;
use crate::quantity::Quantity;
use crate::time::{ZERO, parse_rfc3339, parse_rfc3339_micro};

/// A value is not what its field holds. Objects that were accepted have no such values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("field {field} of {message} cannot be written in protobuf: its value is not of the field's type")]
pub struct WriteError {
    /// The message.
    pub message: &'static str,
    /// The field.
    pub field: &'static str,
}

/// The value itself does not fit; whoever knows the field tells of it.
struct Misfit;

type Fit = Result<(), Misfit>;

// === impl HostType ===

impl HostType {
    /// The object or the list in protobuf, in the envelope that names its kind.
    pub fn to_protobuf(self, object: &Object) -> Result<Vec<u8>, WriteError> {
        let mut message = Vec::with_capacity(1024);
        write_message(&mut message, self.message, object.fields())?;
        Ok(in_envelope(object.api_version(), object.kind(), &message))
    }
}

fn write_message(out: &mut Vec<u8>, message: &'static Message, fields: &Map<String, Value>) -> Result<(), WriteError> {
    for field in message.fields() {
        if let Some(inlined) = field.inlined() {
            delimited(out, field.number, |out| write_message(out, inlined, fields))?;
            continue;
        }
        let value = fields.get(field.name).filter(|value| !value.is_null());
        write_field(out, field, value, WriteError { message: message.name(), field: field.name })?;
    }
    Ok(())
}

fn write_field(out: &mut Vec<u8>, field: &Field, value: Option<&Value>, error: WriteError) -> Result<(), WriteError> {
    let single = |out: &mut Vec<u8>, number, value: Option<&Value>| match (field.message(), value) {
        (Some(message), Some(Value::Object(fields))) => {
            delimited(out, number, |out| write_message(out, message, fields))
        }
        (Some(message), None | Some(Value::Null)) => {
            delimited(out, number, |out| write_message(out, message, &Map::new()))
        }
        (Some(_), Some(_)) => Err(error.clone()),
        (None, value) => {
            write_scalar(out, number, field.kind, value.filter(|value| !value.is_null())).map_err(|_| error.clone())
        }
    };
    match (field.shape, value) {
        (Shape::Plain, value) => single(out, field.number, value),
        (_, None) => Ok(()),
        (Shape::Pointer, value) => single(out, field.number, value),
        (Shape::List, Some(Value::Array(items))) => {
            items.iter().try_for_each(|item| single(out, field.number, Some(item)))
        }
        (Shape::Map, Some(Value::Object(entries))) => entries.iter().try_for_each(|(key, value)| {
            delimited(out, field.number, |out| {
                write_bytes(out, 1, key.as_bytes());
                single(out, 2, Some(value))
            })
        }),
        (Shape::List | Shape::Map, Some(_)) => Err(error),
    }
}

/// A value that is no message of the table. One that is not there is the zero value of its type.
fn write_scalar(out: &mut Vec<u8>, number: u32, kind: FieldKind, value: Option<&Value>) -> Fit {
    match kind {
        FieldKind::Text => write_bytes(out, number, text(value)?.as_bytes()),
        FieldKind::Bool => {
            let value = value.map_or(Some(false), Value::as_bool).ok_or(Misfit)?;
            write_number(out, number, i64::from(value));
        }
        FieldKind::Int32 | FieldKind::Int64 => write_number(out, number, whole(value)?),
        FieldKind::Bytes => {
            if let Some(value) = value {
                write_bytes(out, number, &STANDARD.decode(text(Some(value))?).map_err(|_| Misfit)?);
            }
        }
        FieldKind::Quantity => {
            let text = match value {
                Some(value) => Quantity::from_json(value).map_err(|_| Misfit)?.to_string(),
                None => "0".to_owned(),
            };
            delimited(out, number, |out| write_text(out, &text))?;
        }
        FieldKind::IntOrString => delimited(out, number, |out| write_int_or_string(out, value))?,
        FieldKind::Time => {
            let time = value.map(|value| text(Some(value)).map(parse_rfc3339)).transpose()?;
            let time = time.map(|time| time.ok_or(Misfit)).transpose()?;
            delimited(out, number, |out| write_time(out, time.unwrap_or(ZERO), 0))?;
        }
        FieldKind::MicroTime => {
            let time = value.map(|value| text(Some(value)).map(parse_rfc3339_micro)).transpose()?;
            let (seconds, micros) = time.map(|time| time.ok_or(Misfit)).transpose()?.unwrap_or((ZERO, 0));
            delimited(out, number, |out| write_time(out, seconds, micros))?;
        }
        FieldKind::FieldsV1 => delimited(out, number, |out| {
            if let Some(value) = value {
                let mut json = Vec::new();
                push_json(&mut json, value);
                write_bytes(out, 1, &json);
            }
            Fit::Ok(())
        })?,
        FieldKind::Texts => {
            let none = Vec::new();
            let items = value.map_or(Some(&none), Value::as_array).ok_or(Misfit)?;
            delimited(out, number, |out| items.iter().try_for_each(|item| write_text(out, text(Some(item))?)))?;
        }
        FieldKind::Float64 => {
            let value = value.map_or(Some(0.0), Value::as_f64).ok_or(Misfit)?;
            encode_key(number, WireType::SixtyFourBit, out);
            out.extend_from_slice(&value.to_le_bytes());
        }
        FieldKind::Json => delimited(out, number, |out| {
            if let Some(value) = value {
                let mut json = Vec::new();
                push_json(&mut json, value);
                write_bytes(out, 1, &json);
            }
            Fit::Ok(())
        })?,
        FieldKind::SchemaOr(instead) => delimited(out, number, |out| write_schema_or(out, instead, value))?,
        FieldKind::Message(_) => return Err(Misfit),
    }
    Ok(())
}

/// The schema has one number, what stands in its place another; that anything is allowed is also said of a schema.
fn write_schema_or(out: &mut Vec<u8>, instead: Instead, value: Option<&Value>) -> Fit {
    let schema = |out: &mut Vec<u8>, number: u32, fields: &Map<String, Value>| {
        let message = schema_message().ok_or(Misfit)?;
        delimited(out, number, |out| write_message(out, message, fields)).map_err(|_| Misfit)
    };
    match (instead, value) {
        (Instead::Bool, Some(Value::Object(fields))) => {
            write_number(out, 1, 1);
            schema(out, 2, fields)
        }
        (Instead::Bool, value) => {
            write_number(out, 1, i64::from(value.map_or(Some(false), Value::as_bool).ok_or(Misfit)?));
            Ok(())
        }
        (Instead::List | Instead::Texts, Some(Value::Object(fields))) => schema(out, 1, fields),
        (Instead::List, Some(Value::Array(items))) => {
            items.iter().try_for_each(|item| schema(out, 2, item.as_object().ok_or(Misfit)?))
        }
        (Instead::Texts, Some(Value::Array(items))) => items.iter().try_for_each(|item| {
            write_bytes(out, 2, text(Some(item))?.as_bytes());
            Ok(())
        }),
        (Instead::List | Instead::Texts, None) => Ok(()),
        (Instead::List | Instead::Texts, Some(_)) => Err(Misfit),
    }
}

fn write_int_or_string(out: &mut Vec<u8>, value: Option<&Value>) -> Fit {
    let (kind, number, text) = match value {
        Some(Value::String(text)) => (1, 0, text.as_str()),
        value => (0, whole(value)?, ""),
    };
    write_number(out, 1, kind);
    write_number(out, 2, number);
    write_bytes(out, 3, text.as_bytes());
    Ok(())
}

/// The zero time is a message without fields.
fn write_time(out: &mut Vec<u8>, seconds: i64, micros: u32) -> Fit {
    if (seconds, micros) != (ZERO, 0) {
        write_number(out, 1, seconds);
        write_number(out, 2, i64::from(micros) * 1_000);
    }
    Ok(())
}

fn text(value: Option<&Value>) -> Result<&str, Misfit> {
    value.map_or(Some(""), Value::as_str).ok_or(Misfit)
}

fn whole(value: Option<&Value>) -> Result<i64, Misfit> {
    value.map_or(Some(0), Value::as_i64).ok_or(Misfit)
}

fn write_text(out: &mut Vec<u8>, text: &str) -> Fit {
    write_bytes(out, 1, text.as_bytes());
    Ok(())
}

fn write_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Numbers below zero take ten bytes, also those of 32 bits.
fn write_number(out: &mut Vec<u8>, number: u32, value: i64) {
    encode_key(number, WireType::Varint, out);
    encode_varint(value.cast_unsigned(), out);
}

/// Something that is preceded by its length, which is known only afterwards.
fn delimited<E>(out: &mut Vec<u8>, number: u32, content: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
    encode_key(number, WireType::LengthDelimited, out);
    let start = out.len();
    content(out)?;
    let length = (out.len() - start) as u64;
    let mut head = Vec::with_capacity(encoded_len_varint(length));
    encode_varint(length, &mut head);
    out.splice(start..start, head);
    Ok(())
}
