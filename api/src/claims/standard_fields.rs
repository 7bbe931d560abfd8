//! The fields that all claims have: what a definition is completed by, and what a kind that was defined by hand must have.

use serde_json::{Map, Value, json};

use super::resource::Phase;

/// What objects are called: names of DNS.
const NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const MAX_NAME: usize = 253;
/// What a schema demands of an object beside what it demands of each of its fields.
const DEMANDS: [&str; 9] = [
    "required",
    "minProperties",
    "maxProperties",
    "enum",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "x-kubernetes-validations",
];

/// What a claim says in its spec beside what is special to it.
pub(super) fn spec_fields() -> Map<String, Value> {
    let fields = json!({
        "classSelector": {
            "type": "object",
            "description": "Labels of the classes that may satisfy this claim.",
            "properties": {
                "matchLabels": { "type": "object", "additionalProperties": { "type": "string" } },
                "matchExpressions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["key", "operator"],
                        "properties": {
                            "key": { "type": "string" },
                            "operator": { "type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"] },
                            "values": { "type": "array", "items": { "type": "string" } },
                        },
                    },
                },
            },
        },
        "classRef": reference("The class that is to satisfy this claim. What was decided stands in the status."),
        "resourceRef": named(
            "A resource that exists already and is to satisfy this claim. What was decided stands in the status."
        ),
        "writeConnectionSecretToRef": {
            "type": "object",
            "description": "The Secret in the namespace of this claim that says how to reach what satisfies it. Absent means one \
                            of the claim's own name.",
            "required": ["name"],
            "properties": { "name": { "type": "string", "minLength": 1, "maxLength": 253 } },
        },
    });
    as_map(fields)
}

/// What is said of a claim.
pub(super) fn status_fields() -> Map<String, Value> {
    let text = || json!({ "type": "string" });
    let fields = json!({
        "bindingPhase": {
            "type": "string",
            "description": "Whether the claim is satisfied.",
            "enum": Phase::WORDS,
        },
        "conditions": conditions(),
        "bindings": {
            "type": "array",
            "description": "What satisfies the claim: one for each resource of the definition.",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["index"],
            "items": {
                "type": "object",
                "required": ["index"],
                "properties": {
                    "index": { "type": "integer", "format": "int64", "description": "Which of the definition's resources." },
                    "classRef": reference("The class that was chosen, if one was."),
                    "resourceRef": reference("The resource."),
                    "phase": { "type": "string", "enum": Phase::WORDS, "description": "How far it is." },
                    "ready": { "type": "boolean", "description": "Whether the resource is ready." },
                },
            },
        },
        "ready": { "type": "string", "description": "How many of the resources are bound and ready: \"1/2\"." },
        "definition": {
            "type": "object",
            "description": "The ResourceBindingDefinition by which the claim is satisfied, in the state in which it was chosen.",
            "properties": { "name": text(), "uid": text(), "generation": { "type": "integer", "format": "int64" } },
        },
        "candidates": {
            "type": "array",
            "description": "Classes that were considered, and why each can or cannot satisfy the claim: the eligible ones \
                            first, then those that came nearest.",
            "x-kubernetes-list-type": "atomic",
            "items": {
                "type": "object",
                "properties": {
                    "definition": { "type": "string", "description": "The definition that it was considered for." },
                    "index": { "type": "integer", "format": "int64", "description": "For which of its resources." },
                    "kind": { "type": "string", "description": "The kind of the class." },
                    "name": { "type": "string", "description": "Its name." },
                    "eligible": { "type": "boolean", "description": "Whether it can satisfy the claim." },
                    "reason": { "type": "string", "description": "Why, in one word." },
                    "message": { "type": "string", "description": "What it lacks." },
                },
            },
        },
        "candidateCount": { "type": "integer", "format": "int64", "description": "How many classes were considered." },
        "binding": {
            "type": "object",
            "description": "The Secret that says how to reach what satisfies the claim.",
            "properties": { "name": text() },
        },
        "observedGeneration": { "type": "integer", "format": "int64" },
    });
    as_map(fields)
}

fn reference(description: &str) -> Value {
    json!({
        "type": "object",
        "description": description,
        "required": ["name"],
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "namespace": { "type": "string" },
            "name": { "type": "string" },
            "uid": { "type": "string" },
        },
    })
}

/// A reference to something that must be called as objects are.
fn named(description: &str) -> Value {
    let mut reference = reference(description);
    reference["properties"]["name"] = json!({ "type": "string", "maxLength": MAX_NAME, "pattern": NAME });
    reference
}

fn conditions() -> Value {
    json!({
        "type": "array",
        "description": "What is the case with the claim.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": { "type": "string", "maxLength": 316 },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
                "observedGeneration": { "type": "integer", "format": "int64", "minimum": 0 },
                "lastTransitionTime": { "type": "string", "format": "date-time" },
                "reason": { "type": "string", "minLength": 1, "maxLength": 1024 },
                "message": { "type": "string", "maxLength": 32768 },
            },
        },
    })
}

fn as_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The standard fields that a written schema states itself, as paths below it. Whoever defines a claim leaves them alone.
pub fn redefined_fields(schema: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for (part, fields) in [("spec", spec_fields()), ("status", status_fields())] {
        let Some(written) = schema.get("properties").and_then(|properties| properties.get(part)) else { continue };
        if written.get("type").is_some_and(|kind| kind != "object") {
            found.push(part.to_owned());
        }
        let Some(written) = written.get("properties").and_then(Value::as_object) else { continue };
        found.extend(fields.keys().filter(|name| written.contains_key(*name)).map(|name| format!("{part}.{name}")));
    }
    found
}

/// What a written schema demands of standard fields beside them, as paths below it: a claim that cannot fulfil it could not say what
/// it has, or not ask for anything.
pub fn demands_of_standard_fields(schema: &Map<String, Value>) -> Vec<String> {
    let schema = Value::Object(schema.clone());
    let (spec, status) = (&schema["properties"]["spec"], &schema["properties"]["status"]);
    let fields = spec_fields();
    let is_standard = |name: &str| fields.contains_key(name);
    let mut found = Vec::new();
    for keyword in DEMANDS {
        let of_root = json!({ keyword: schema[keyword] });
        if mentions(&of_root, &|name| name == "status") || mentions_below(&of_root, "spec", &is_standard) {
            found.push(keyword.to_owned());
        }
        if mentions(&json!({ keyword: spec[keyword] }), &is_standard) {
            found.push(format!("properties.spec.{keyword}"));
        }
        // Nobody but the controllers writes it, and they know nothing of what else is in it.
        if !status[keyword].is_null() {
            found.push(format!("properties.status.{keyword}"));
        }
    }
    found
}

/// Whether a schema says something of a field that has one of these names.
fn mentions(schema: &Value, is_meant: &dyn Fn(&str) -> bool) -> bool {
    let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut properties = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    required.any(is_meant)
        || properties.any(|name| is_meant(name))
        || alternatives(schema).any(|inner| mentions(inner, is_meant))
}

/// Whether a schema says something of a field, below this one, that has one of these names.
fn mentions_below(schema: &Value, field: &str, is_meant: &dyn Fn(&str) -> bool) -> bool {
    mentions(&schema["properties"][field], is_meant)
        || alternatives(schema).any(|inner| mentions_below(inner, field, is_meant))
}

/// The schemas that a schema is put together from.
fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|keyword| schema[keyword].as_array());
    lists.flatten().chain(schema.get("not"))
}

/// The standard fields that a kind lacks which was defined by hand, as paths. `candidates` and what else is only told may be
/// left out: it is then not told.
pub fn missing_fields(schema: &Value) -> Vec<String> {
    const NEEDED: [(&str, &[&str]); 2] = [
        ("spec", &["classSelector", "classRef", "resourceRef", "writeConnectionSecretToRef"]),
        ("status", &["bindingPhase", "conditions", "bindings"]),
    ];
    let mut missing = Vec::new();
    for (part, fields) in NEEDED {
        for field in fields {
            if !has(schema, &[part, field]) {
                missing.push(format!(".{part}.{field}"));
            }
        }
    }
    missing
}

/// Whether objects of a schema keep a field at these names.
pub(super) fn has(schema: &Value, path: &[&str]) -> bool {
    let keeps = |schema: &Value| schema["x-kubernetes-preserve-unknown-fields"] == true;
    match path {
        [] => true,
        _ if keeps(schema) => true,
        [first, rest @ ..] => match schema.get("properties").and_then(|properties| properties.get(first)) {
            Some(inner) => has(inner, rest),
            None => schema.get("additionalProperties").is_some_and(|additional| match additional {
                Value::Bool(any) => *any,
                inner => has(inner, rest),
            }),
        },
    }
}
