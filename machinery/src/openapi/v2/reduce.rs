//! What is left of a schema in version 2.
//!
//! Version 2 has neither null nor alternatives, and kubectl takes properties and items for all there is. So a value that
//! may be null, or may hold anything, has no type at all.

use serde_json::{Map, Value};

use crate::openapi::components::children;
use crate::openapi::kind::flag;

/// Takes away what version 2 cannot say, from the top down: what a field is required for is decided while it is still
/// known to be nullable.
pub(in crate::openapi) fn reduce(schema: &mut Map<String, Value>) {
    for keyword in ["allOf", "anyOf", "oneOf", "not"] {
        schema.remove(keyword);
    }
    let nullable = schema.remove("nullable") == Some(Value::Bool(true));
    let open = flag(schema, "x-kubernetes-preserve-unknown-fields");
    if nullable || open {
        schema.remove("items");
        schema.remove("properties");
    }
    let is = |schema: &Map<String, Value>, name: &str| schema.get("type").is_some_and(|kind| kind == name);
    let without_items = is(schema, "array") && !schema.contains_key("items");
    if nullable || without_items || (open && is(schema, "object")) {
        schema.remove("type");
    }
    forget_nullable(schema);
    children(schema).for_each(reduce);
}

/// A field that may be null counts as absent then, and so cannot be required.
fn forget_nullable(schema: &mut Map<String, Value>) {
    let nullable = |schema: &Value| schema.as_object().is_some_and(|schema| flag(schema, "nullable"));
    let Some(Value::Array(mut required)) = schema.remove("required") else { return };
    if schema.get("additionalProperties").is_some_and(nullable) {
        return;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    required.retain(|name| {
        let property = name.as_str().and_then(|name| properties?.get(name));
        !property.is_some_and(nullable)
    });
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
}
