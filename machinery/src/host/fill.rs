//! What Go's types have beside what was said: fields that are written in JSON although they are empty, and none of those
//! that are left out when they are.

use serde_json::{Map, Value};

use super::ReadError;
use super::table::{Field, FieldKind, Message, Shape, schema_message};
use crate::decode::Budget;

/// Makes the fields those that Go would write.
pub(super) fn fill(
    message: &'static Message,
    fields: &mut Map<String, Value>,
    budget: &mut Budget,
) -> Result<(), ReadError> {
    for field in message.fields() {
        if let Some(inlined) = field.inlined() {
            fill(inlined, fields, budget)?;
            continue;
        }
        if let (Some(message), Some(value)) = (field.message(), fields.get_mut(field.name)) {
            fill_values(message, field.shape, value, budget)?;
        }
        if let (FieldKind::SchemaOr(_), Some(message), Some(value)) =
            (field.kind, schema_message(), fields.get_mut(field.name))
        {
            fill_schemas(message, field.shape, value, budget)?;
        }
        if fields.get(field.name).is_some_and(|value| is_left_out(field, value)) {
            fields.remove(field.name);
        }
        if !fields.contains_key(field.name)
            && let Some(zero) = zero(field, budget)?
        {
            budget
                .text(field.name.len())
                .and_then(|()| budget.field(fields.len()))
                .map_err(|_| ReadError::TooManyValues)?;
            fields.insert(field.name.to_owned(), zero);
        }
    }
    Ok(())
}

/// The schemas among values that may be something else.
fn fill_schemas(
    message: &'static Message,
    shape: Shape,
    value: &mut Value,
    budget: &mut Budget,
) -> Result<(), ReadError> {
    match (shape, value) {
        (Shape::Map, Value::Object(entries)) => {
            entries.values_mut().try_for_each(|value| fill_schemas(message, Shape::Plain, value, budget))
        }
        (_, value @ Value::Array(_)) => fill_values(message, Shape::List, value, budget),
        (_, value) => fill_values(message, Shape::Plain, value, budget),
    }
}

fn fill_values(
    message: &'static Message,
    shape: Shape,
    value: &mut Value,
    budget: &mut Budget,
) -> Result<(), ReadError> {
    match (shape, value) {
        (Shape::Plain | Shape::Pointer, Value::Object(fields)) => fill(message, fields, budget),
        (Shape::List, Value::Array(items)) => {
            items.iter_mut().try_for_each(|item| fill_values(message, Shape::Plain, item, budget))
        }
        (Shape::Map, Value::Object(entries)) => {
            entries.values_mut().try_for_each(|value| fill_values(message, Shape::Plain, value, budget))
        }
        _ => Ok(()),
    }
}

/// Whether Go leaves a value out that is there.
fn is_left_out(field: &Field, value: &Value) -> bool {
    if field.omit_zero && value.is_null() {
        return true;
    }
    let empty = match (field.shape, field.kind, value) {
        (Shape::Pointer, ..) => false,
        (_, _, Value::Array(items)) => items.is_empty(),
        (Shape::Map, _, Value::Object(entries)) => entries.is_empty(),
        (Shape::Plain, FieldKind::Text | FieldKind::Bytes, Value::String(text)) => text.is_empty(),
        (Shape::Plain, FieldKind::Bool, Value::Bool(flag)) => !flag,
        (Shape::Plain, FieldKind::Int32 | FieldKind::Int64, Value::Number(number)) => number.as_i64() == Some(0),
        _ => false,
    };
    empty && field.omit_empty
}

/// What Go writes for a field that is not there; nothing if it is left out.
fn zero(field: &'static Field, budget: &mut Budget) -> Result<Option<Value>, ReadError> {
    if field.shape != Shape::Plain {
        return Ok((!field.omit_empty).then_some(Value::Null));
    }
    Ok(match field.kind {
        FieldKind::Message(_) => {
            let mut fields = Map::new();
            if let Some(message) = field.message() {
                fill(message, &mut fields, budget)?;
            }
            Some(Value::Object(fields))
        }
        FieldKind::Quantity => Some(Value::from("0")),
        FieldKind::IntOrString => Some(Value::from(0)),
        FieldKind::Json | FieldKind::SchemaOr(_) => Some(Value::Null),
        FieldKind::Time | FieldKind::MicroTime | FieldKind::FieldsV1 => (!field.omit_zero).then_some(Value::Null),
        _ if field.omit_empty => None,
        FieldKind::Text => Some(Value::from("")),
        FieldKind::Bool => Some(Value::from(false)),
        FieldKind::Int32 | FieldKind::Int64 | FieldKind::Float64 => Some(Value::from(0)),
        FieldKind::Bytes | FieldKind::Texts => Some(Value::Null),
    })
}
