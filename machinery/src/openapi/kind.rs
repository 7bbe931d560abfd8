//! The schemas of a kind and of its list, made of what its own schema says and of what all objects have.

use serde_json::{Map, Value, json};

use super::Resource;
use super::components::{Edition, children};
use super::names::component;
use super::{meta, v2};

/// What schemas may say but documents do not repeat.
const NOT_TOLD: [&str; 2] = ["example", "externalDocs"];

/// The schemas of a kind and of its list, with their names.
pub(super) fn components(resource: &Resource<'_>, edition: Edition) -> [(String, Map<String, Value>); 2] {
    let named = |kind: &str, mut schema: Map<String, Value>| {
        let gvk =
            json!([{"group": resource.group_version.group, "version": resource.group_version.version, "kind": kind}]);
        schema.insert("x-kubernetes-group-version-kind".to_owned(), gvk);
        let selectable = resource.selectable_fields.iter().map(|path| json!({ "fieldPath": path }));
        let selectable: Vec<Value> = selectable.collect();
        // Kubernetes says this only of kinds that it was taught.
        if !selectable.is_empty() && !resource.typed {
            schema.insert("x-kubernetes-selectable-fields".to_owned(), selectable.into());
        }
        (component(resource.group_version, kind), schema)
    };
    [named(resource.kind, object(resource, edition)), named(resource.list_kind, list(resource))]
}

fn object(resource: &Resource<'_>, edition: Edition) -> Map<String, Value> {
    let Value::Object(mut schema) = resource.schema.to_json() else { return Map::new() };
    if edition == Edition::V2 && flag(&schema, "x-kubernetes-preserve-unknown-fields") {
        // To kubectl, properties would mean that there are no others.
        return Map::from_iter([("type".to_owned(), "object".into())]);
    }
    unfold(&mut schema);
    if edition == Edition::V2 {
        v2::reduce(&mut schema);
    }
    set_property(&mut schema, "apiVersion", meta::api_version());
    set_property(&mut schema, "kind", meta::kind());
    set_property(&mut schema, "metadata", object_metadata());
    add_embedded(&mut schema, edition);
    schema
}

fn list(resource: &Resource<'_>) -> Map<String, Value> {
    let schema = json!({
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": meta::api_version(),
            "items": {
                "description": format!("List of {}.", resource.plural),
                "type": "array",
                "items": { "$ref": component(resource.group_version, resource.kind) },
            },
            "kind": meta::kind(),
            "metadata": { "description": "Standard list metadata.", "$ref": meta::name("ListMeta") },
        },
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn object_metadata() -> Value {
    json!({ "description": "Standard object's metadata.", "$ref": meta::name("ObjectMeta") })
}

/// Says in words of OpenAPI what an extension says: a value that is a number or text.
fn unfold(schema: &mut Map<String, Value>) {
    for keyword in NOT_TOLD {
        schema.remove(keyword);
    }
    if flag(schema, "x-kubernetes-int-or-string") {
        let either = json!([{"type": "integer"}, {"type": "string"}]);
        let said_first = schema.get("allOf").and_then(|all| all.get(0)?.get("anyOf")) == Some(&either);
        match schema.get("anyOf") {
            Some(said) if *said == either => {}
            _ if said_first => {}
            None => drop(schema.insert("anyOf".to_owned(), either)),
            Some(_) => {
                let all = schema.entry("allOf").or_insert_with(|| json!([]));
                if let Value::Array(all) = all {
                    all.insert(0, json!({ "anyOf": either }));
                }
            }
        }
    }
    for child in children(schema) {
        unfold(child);
    }
}

/// Objects inside an object have a head and metadata of their own.
fn add_embedded(schema: &mut Map<String, Value>, edition: Edition) {
    for child in children(schema) {
        add_embedded(child, edition);
    }
    let open = edition == Edition::V2 && flag(schema, "x-kubernetes-preserve-unknown-fields");
    if open || !flag(schema, "x-kubernetes-embedded-resource") {
        return;
    }
    set_property(schema, "apiVersion", meta::api_version());
    set_property(schema, "kind", meta::kind());
    set_property(schema, "metadata", object_metadata());
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|there| there == name) {
                required.push(name.into());
            }
        }
    }
}

fn set_property(schema: &mut Map<String, Value>, name: &str, property: Value) {
    if let Value::Object(properties) = schema.entry("properties").or_insert_with(|| json!({})) {
        properties.insert(name.to_owned(), property);
    }
}

pub(super) fn flag(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}
