//! From protobuf to JSON: what Go would write in JSON for the object that it reads from these bytes.
//!
//! What is read may come from anyone. The values are charged for before they are made, as those of JSON bodies are, and
//! the nesting has an end.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::HostType;
use super::accept::float;
use super::fill::fill;
use super::table::{Field, FieldKind, Instead, Message, Shape, schema_message};
use super::wire::{DELIMITED, Entry, FIXED64, Key, MAX_DEPTH, VARINT, Wire};
use crate::decode::{Budget, MAX_DECODED, from_json};
use crate::object::Object;
use crate::proto::Envelope;
use crate::quantity::{Quantity, QuantityError};
use crate::time::{ZERO, format_rfc3339, format_rfc3339_micro};

/// Why bytes are no message of their kind. The texts are upstream's, where it has any.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// They end early.
    #[error("unexpected EOF")]
    UnexpectedEnd,
    /// A number has more than 64 bits.
    #[error("proto: integer overflow")]
    Overflow,
    /// A length is below zero.
    #[error("proto: negative length found during unmarshaling")]
    NegativeLength,
    /// A group ends that has not begun.
    #[error("proto: unexpected end of group")]
    StrayEnd,
    /// A group ends that has not begun, where a field was expected.
    #[error("proto: {message}: wiretype end group for non-group")]
    StrayGroupEnd {
        /// In which message.
        message: &'static str,
    },
    /// A field has a number that none can have.
    #[error("proto: {message}: illegal tag {number} (wire type {key})")]
    IllegalTag {
        /// In which message.
        message: &'static str,
        /// The number.
        number: i32,
        /// What was read for the number and the wire type together.
        key: u64,
    },
    /// A value does not lie on the wire as those of its field do.
    #[error("proto: wrong wireType = {found} for field {field}")]
    WrongWireType {
        /// How it lies there.
        found: u8,
        /// The field, as Go calls it.
        field: String,
    },
    /// A value lies on the wire as none can.
    #[error("proto: illegal wireType {wire_type}")]
    IllegalWireType {
        /// How.
        wire_type: u8,
    },
    /// A quantity is none.
    #[error(transparent)]
    Quantity(QuantityError),
    /// Messages are in messages, and so on.
    #[error("the values in the body are more than {MAX_DEPTH} deep")]
    TooDeep,
    /// The values take too much memory.
    #[error("the values in the body take more than {MAX_DECODED} bytes of memory")]
    TooManyValues,
    /// A time lies outside of the years that have a text, or the set of fields of a manager is not JSON.
    #[error("protobuf message has no JSON form: {0}")]
    NotJson(String),
}

/// What stands for a number that is a text as well.
#[derive(Default)]
struct IntOrString {
    kind: u64,
    number: i32,
    text: String,
}

// === impl HostType ===

impl HostType {
    /// The object in an envelope whose kind is this one.
    pub fn from_protobuf(self, envelope: &Envelope) -> Result<Object, ReadError> {
        let mut budget = Budget::new();
        let mut fields = Map::new();
        read_message(self.message, Wire::new(envelope.message()), &mut fields, &mut budget)?;
        fill(self.message, &mut fields, &mut budget)?;
        fields.insert("apiVersion".to_owned(), envelope.api_version.as_str().into());
        fields.insert("kind".to_owned(), envelope.kind.as_str().into());
        Ok(Object::new(fields))
    }
}

/// Reads a message into fields there may be already: a message that comes twice is one.
fn read_message(
    message: &'static Message,
    mut wire: Wire<'_>,
    fields: &mut Map<String, Value>,
    budget: &mut Budget,
) -> Result<(), ReadError> {
    while let Some(key) = wire.key(message.go_name())? {
        match message.numbered(key.number) {
            None => wire.skip(key)?,
            Some(field) => read_field(field, key, &mut wire, fields, budget)?,
        }
    }
    Ok(())
}

fn read_field(
    field: &'static Field,
    key: Key,
    wire: &mut Wire<'_>,
    fields: &mut Map<String, Value>,
    budget: &mut Budget,
) -> Result<(), ReadError> {
    if let Some(inlined) = field.inlined() {
        key.expect(DELIMITED, &field.go_name)?;
        return read_message(inlined, wire.message()?, fields, budget);
    }
    let slot = slot(fields, field.name, budget)?;
    match field.shape {
        Shape::Plain | Shape::Pointer => {
            key.expect(wire_type(field.kind), &field.go_name)?;
            read_value(field, wire, slot, budget)
        }
        Shape::List => read_items(field, key, wire, slot, budget),
        Shape::Map => {
            key.expect(DELIMITED, &field.go_name)?;
            read_entry(field, wire.entry()?, slot, budget)
        }
    }
}

/// Where the value of a field is, or will be.
fn slot<'m>(fields: &'m mut Map<String, Value>, name: &str, budget: &mut Budget) -> Result<&'m mut Value, ReadError> {
    if !fields.contains_key(name) {
        budget.text(name.len()).and_then(|()| budget.field(fields.len())).map_err(|_| ReadError::TooManyValues)?;
    }
    Ok(fields.entry(name).or_insert(Value::Null))
}

/// Numbers may come one by one, or all together.
fn read_items(
    field: &'static Field,
    key: Key,
    wire: &mut Wire<'_>,
    slot: &mut Value,
    budget: &mut Budget,
) -> Result<(), ReadError> {
    if !slot.is_array() {
        *slot = Value::Array(Vec::new());
    }
    let Value::Array(items) = slot else { return Ok(()) };
    let mut read_item = |wire: &mut Wire<'_>| {
        budget.item(items.len()).map_err(|_| ReadError::TooManyValues)?;
        let mut item = Value::Null;
        read_value(field, wire, &mut item, budget)?;
        items.push(item);
        Ok(())
    };
    if wire_type(field.kind) == VARINT && key.wire_type == DELIMITED {
        let mut packed = Wire::new(wire.delimited()?);
        while !packed.is_at_end() {
            read_item(&mut packed)?;
        }
        return Ok(());
    }
    key.expect(wire_type(field.kind), &field.go_name)?;
    read_item(wire)
}

/// An entry of a map. Upstream does not look at how its two parts lie on the wire.
fn read_entry(
    field: &'static Field,
    mut entry: Entry<'_>,
    slot: &mut Value,
    budget: &mut Budget,
) -> Result<(), ReadError> {
    let mut name = String::new();
    let mut value = Value::Null;
    while let Some(key) = entry.key()? {
        match key.number {
            1 => name = text(entry.value().delimited()?, budget)?,
            2 => read_value(field, entry.value(), &mut value, budget)?,
            _ => entry.skip(key)?,
        }
    }
    if value.is_null() {
        value = match field.kind {
            FieldKind::Bytes | FieldKind::Text => Value::from(""),
            FieldKind::Message(_) => Value::Object(Map::new()),
            FieldKind::Quantity => Value::from("0"),
            FieldKind::Texts => Value::Array(Vec::new()),
            _ => Value::Null,
        };
    }
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    let Value::Object(entries) = slot else { return Ok(()) };
    budget.field(entries.len()).map_err(|_| ReadError::TooManyValues)?;
    entries.insert(name, value);
    Ok(())
}

fn wire_type(kind: FieldKind) -> u8 {
    match kind {
        FieldKind::Bool | FieldKind::Int32 | FieldKind::Int64 => VARINT,
        FieldKind::Float64 => FIXED64,
        _ => DELIMITED,
    }
}

fn read_value(
    field: &'static Field,
    wire: &mut Wire<'_>,
    slot: &mut Value,
    budget: &mut Budget,
) -> Result<(), ReadError> {
    *slot = match field.kind {
        FieldKind::Bool => Value::from(wire.varint()? != 0),
        // What is above 32 bits is cut off.
        FieldKind::Int32 => Value::from(wire.varint()? as i32),
        FieldKind::Int64 => Value::from(wire.varint()?.cast_signed()),
        FieldKind::Text => Value::from(text(wire.delimited()?, budget)?),
        FieldKind::Bytes => {
            let bytes = wire.delimited()?;
            budget.text(bytes.len() / 3 * 4 + 4).map_err(|_| ReadError::TooManyValues)?;
            Value::from(STANDARD.encode(bytes))
        }
        FieldKind::Quantity => read_quantity(wire.delimited()?, budget)?,
        FieldKind::IntOrString => read_int_or_string(wire.delimited()?, budget)?,
        FieldKind::Time => match read_time(wire.delimited()?)? {
            (ZERO, _) => Value::Null,
            (seconds, _) => time(format_rfc3339(seconds))?,
        },
        FieldKind::MicroTime => match read_time(wire.delimited()?)? {
            (ZERO, 0) => Value::Null,
            (seconds, micros) => time(format_rfc3339_micro(seconds, micros))?,
        },
        FieldKind::FieldsV1 => read_json(wire.delimited()?, "FieldsV1", budget)?,
        FieldKind::Texts => read_texts(wire.delimited()?, budget)?,
        FieldKind::Float64 => float(wire.float()?),
        FieldKind::Json => read_json(wire.delimited()?, "JSON", budget)?,
        FieldKind::SchemaOr(instead) => read_schema_or(instead, wire.message()?, budget)?,
        FieldKind::Message(_) => {
            let inner = wire.message()?;
            if !slot.is_object() {
                *slot = Value::Object(Map::new());
            }
            return match (field.message(), slot) {
                (Some(message), Value::Object(fields)) => read_message(message, inner, fields, budget),
                _ => Ok(()),
            };
        }
    };
    Ok(())
}

/// Go keeps bytes that are no UTF-8, and shows each as what replaces it.
fn text(bytes: &[u8], budget: &mut Budget) -> Result<String, ReadError> {
    budget.text(bytes.len()).map_err(|_| ReadError::TooManyValues)?;
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(text)
}

fn time(text: Option<String>) -> Result<Value, ReadError> {
    text.map(Value::from).ok_or_else(|| ReadError::NotJson("a time is out of range".to_owned()))
}

fn read_quantity(bytes: &[u8], budget: &mut Budget) -> Result<Value, ReadError> {
    let mut quantity = Quantity::default();
    let mut wire = Wire::new(bytes);
    while let Some(key) = wire.key("Quantity")? {
        if key.number == 1 {
            key.expect(DELIMITED, "String_")?;
            quantity = Quantity::parse(&text(wire.delimited()?, budget)?).map_err(ReadError::Quantity)?;
        } else {
            wire.skip(key)?;
        }
    }
    Ok(quantity.to_json())
}

fn read_int_or_string(bytes: &[u8], budget: &mut Budget) -> Result<Value, ReadError> {
    let mut read = IntOrString::default();
    let mut wire = Wire::new(bytes);
    while let Some(key) = wire.key("IntOrString")? {
        match key.number {
            1 => {
                key.expect(VARINT, "Type")?;
                read.kind = wire.varint()?;
            }
            2 => {
                key.expect(VARINT, "IntVal")?;
                read.number = wire.varint()? as i32;
            }
            3 => {
                key.expect(DELIMITED, "StrVal")?;
                read.text = text(wire.delimited()?, budget)?;
            }
            _ => wire.skip(key)?,
        }
    }
    match read.kind {
        0 => Ok(Value::from(read.number)),
        1 => Ok(Value::from(read.text)),
        _ => Err(ReadError::NotJson("impossible IntOrString.Type".to_owned())),
    }
}

/// Seconds and millionths. No bytes are the zero time.
fn read_time(bytes: &[u8]) -> Result<(i64, u32), ReadError> {
    if bytes.is_empty() {
        return Ok((ZERO, 0));
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut wire = Wire::new(bytes);
    while let Some(key) = wire.key("Timestamp")? {
        match key.number {
            1 => {
                key.expect(VARINT, "Seconds")?;
                seconds = wire.varint()?.cast_signed();
            }
            2 => {
                key.expect(VARINT, "Nanos")?;
                nanos = wire.varint()? as i32;
            }
            _ => wire.skip(key)?,
        }
    }
    // Go moves what is below zero or above a second into the seconds.
    let micros = i64::from(nanos) / 1_000;
    let seconds = seconds.saturating_add(micros.div_euclid(1_000_000));
    Ok((seconds, u32::try_from(micros.rem_euclid(1_000_000)).unwrap_or(0)))
}

/// A schema, or what stands in its place.
fn read_schema_or(instead: Instead, mut wire: Wire<'_>, budget: &mut Budget) -> Result<Value, ReadError> {
    let (mut allows, mut schema, mut items) = (false, None, Vec::new());
    let schema_number = if instead == Instead::Bool { 2 } else { 1 };
    while let Some(key) = wire.key(instead.go_name())? {
        match (key.number, instead) {
            (number, _) if number == schema_number => {
                key.expect(DELIMITED, "Schema")?;
                let fields = schema.get_or_insert_with(Map::new);
                if let Some(message) = schema_message() {
                    read_message(message, wire.message()?, fields, budget)?;
                }
            }
            (1, _) => {
                key.expect(VARINT, "Allows")?;
                allows = wire.varint()? != 0;
            }
            (2, Instead::List) => {
                key.expect(DELIMITED, "JSONSchemas")?;
                budget.item(items.len()).map_err(|_| ReadError::TooManyValues)?;
                let mut fields = Map::new();
                if let Some(message) = schema_message() {
                    read_message(message, wire.message()?, &mut fields, budget)?;
                }
                items.push(Value::Object(fields));
            }
            (2, _) => {
                key.expect(DELIMITED, "Property")?;
                budget.item(items.len()).map_err(|_| ReadError::TooManyValues)?;
                items.push(Value::from(text(wire.delimited()?, budget)?));
            }
            _ => wire.skip(key)?,
        }
    }
    // Of a schema and something in its place, Go writes one: which one depends on what it is.
    Ok(match (instead, schema) {
        (Instead::Bool, Some(schema)) => Value::Object(schema),
        (Instead::Bool, None) => Value::from(allows),
        (Instead::List | Instead::Texts, _) if !items.is_empty() => Value::Array(items),
        (Instead::List | Instead::Texts, schema) => schema.map_or(Value::Null, Value::Object),
    })
}

/// A message that consists of JSON.
fn read_json(bytes: &[u8], message: &'static str, budget: &mut Budget) -> Result<Value, ReadError> {
    let mut raw: &[u8] = &[];
    let mut wire = Wire::new(bytes);
    while let Some(key) = wire.key(message)? {
        if key.number == 1 {
            key.expect(DELIMITED, "Raw")?;
            raw = wire.delimited()?;
        } else {
            wire.skip(key)?;
        }
    }
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    budget.json(raw).map_err(|_| ReadError::TooManyValues)?;
    from_json(raw).map(|decoded| decoded.value).map_err(|error| ReadError::NotJson(error.to_string()))
}

fn read_texts(bytes: &[u8], budget: &mut Budget) -> Result<Value, ReadError> {
    let mut items = Vec::new();
    let mut wire = Wire::new(bytes);
    while let Some(key) = wire.key("ExtraValue")? {
        if key.number == 1 {
            key.expect(DELIMITED, "Items")?;
            budget.item(items.len()).map_err(|_| ReadError::TooManyValues)?;
            items.push(Value::from(text(wire.delimited()?, budget)?));
        } else {
            wire.skip(key)?;
        }
    }
    Ok(Value::Array(items))
}
