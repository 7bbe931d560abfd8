//! Values for what is absent, and the end of nulls that mean absence.

use serde_json::Value;

use super::Schema;

/// Fills in the defaults of fields that are absent, or null where null is no value.
pub fn default(schema: &Schema, value: &mut Value) {
    if !schema.0.below.defaults {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, property) in schema.properties() {
                if let Some(default) = property.default_value()
                    && fields.get(name).is_none_or(|value| value.is_null() && !property.nullable())
                {
                    fields.insert(name.to_owned(), default.clone());
                }
            }
            for (name, value) in fields {
                if let Some(property) = schema.property(name) {
                    self::default(property, value);
                } else if let Some(additional) = schema.additional() {
                    default_null(additional, value);
                    self::default(additional, value);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items() else {
                return;
            };
            for item in items {
                default_null(schema, item);
                self::default(schema, item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Removes fields that are null where null is no value, unless a default takes their place. Items of lists stay.
pub fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let Some(schema) = schema.field(name) else {
                return true;
            };
            if value.is_null() {
                return schema.nullable() || schema.default_value().is_some();
            }
            drop_nulls(schema, value);
            true
        }),
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                items.iter_mut().for_each(|item| drop_nulls(schema, item));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn default_null(schema: &Schema, value: &mut Value) {
    if value.is_null()
        && !schema.nullable()
        && let Some(default) = schema.default_value()
    {
        *value = default.clone();
    }
}
