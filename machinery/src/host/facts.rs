//! What a schema of Rust types does not say: how lists and maps merge, and what is there when nothing is said.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::HostType;
use super::table::{Field, Message, Shape};
use crate::FieldErrors;
use crate::schema::{ListType, MapType, Schema};

// === impl HostType ===

impl HostType {
    /// The schema of a Rust type of this kind, with the facts of the table.
    pub fn schema<T: JsonSchema>(self) -> Result<Schema, FieldErrors> {
        Schema::from_type_with::<T>(&recursive_fields(self.message), |json| {
            add_facts(self.message, json);
            // Metadata has rules of its own, whatever the kind.
            if let Some(metadata) = json.pointer_mut("/properties/metadata") {
                let description = metadata.get("description").cloned().unwrap_or_default();
                *metadata = json!({ "type": "object", "description": description });
            }
            if let Value::Object(keywords) = json {
                keywords.retain(|name, value| *name != "required" || !is_only_metadata(value));
            }
        })
    }
}

/// The names of fields whose messages contain themselves.
fn recursive_fields(message: &'static Message) -> Vec<&'static str> {
    let below = message.fields().iter().filter_map(|field| Some((field, field.message()?)));
    below
        .flat_map(|(field, message)| match message.is_recursive() {
            true => vec![field.name],
            false => recursive_fields(message),
        })
        .collect()
}

/// Rust's types cannot do without it; Kubernetes can.
fn is_only_metadata(required: &Value) -> bool {
    *required == json!(["metadata"])
}

fn add_facts(message: &'static Message, json: &mut Value) {
    let Value::Object(keywords) = json else { return };
    if message.is_atomic() {
        keywords.insert("x-kubernetes-map-type".to_owned(), MapType::Atomic.name().into());
    }
    let Some(Value::Object(properties)) = keywords.get_mut("properties") else { return };
    for (name, schema) in properties {
        if let (Some(field), Value::Object(keywords)) = (message.field(name), schema) {
            add_field_facts(field, keywords);
        }
    }
}

fn add_field_facts(field: &'static Field, keywords: &mut Map<String, Value>) {
    let mut add = |name: &str, value: Value| drop(keywords.insert(name.to_owned(), value));
    if let Some(list_type) = field.list_type {
        add("x-kubernetes-list-type", list_type.name().into());
    }
    if field.list_type == Some(ListType::Map) {
        add("x-kubernetes-list-map-keys", field.map_keys.clone().into());
    }
    if let Some(map_type) = field.map_type {
        add("x-kubernetes-map-type", map_type.name().into());
    }
    if let Some(default) = &field.default {
        add("default", default.clone());
    }
    let Some(message) = field.message() else { return };
    match field.shape {
        Shape::Plain | Shape::Pointer => {
            let mut below = Value::Object(std::mem::take(keywords));
            add_facts(message, &mut below);
            if let Value::Object(below) = below {
                *keywords = below;
            }
        }
        Shape::List => keywords.get_mut("items").into_iter().for_each(|items| add_facts(message, items)),
        Shape::Map => {
            keywords.get_mut("additionalProperties").into_iter().for_each(|values| add_facts(message, values));
        }
    }
}
