use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Schema;

/// A widget.
///
/// It has parts.
#[derive(Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
struct Widget {
    /// How large it is.
    size: i32,
    count: Option<u32>,
    ratio: f64,
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    tags: Vec<String>,
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    parts: Vec<Part>,
    labels: BTreeMap<String, String>,
    first: Option<Part>,
    mode: Mode,
    policy: Option<Policy>,
    source: Option<Source>,
    raw: Option<Value>,
    object: serde_json::Map<String, Value>,
    port: Option<Port>,
    #[schemars(range(min = 1, max = 5))]
    bounded: u8,
    #[schemars(length(min = 1, max = 5), regex(pattern = "^a"))]
    text: String,
    #[schemars(extend("nullable" = true))]
    nothing: Option<bool>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct EmbeddedMap {
    #[schemars(extend("x-kubernetes-embedded-resource" = true))]
    template: BTreeMap<String, String>,
}

/// A part.
#[derive(Serialize, Deserialize, JsonSchema, Default, PartialEq)]
struct Part {
    name: String,
    #[serde(default = "three")]
    weight: i64,
}

fn three() -> i64 {
    3
}

#[derive(Serialize, Deserialize, JsonSchema, Default)]
enum Mode {
    #[default]
    Fast,
    Slow,
}

/// What happens in the end.
#[derive(Serialize, Deserialize, JsonSchema)]
enum Policy {
    /// keeps it
    Retain,
    /// removes it
    Delete,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
enum Source {
    File { path: String },
    Url { url: String },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Port {
    Number(i32),
    Name(String),
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Recursive {
    inner: Option<Box<Recursive>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Pair(i32, String);

#[test]
fn a_type_becomes_what_kubernetes_can_serve() {
    let part = json!({
        "description": "A part.", "type": "object", "required": ["name"],
        "properties": {"name": {"type": "string"}, "weight": {"type": "integer", "format": "int64", "default": 3}},
    });
    let expected = json!({
        "description": "A widget.\n\nIt has parts.",
        "type": "object",
        "properties": {
            "size": {"description": "How large it is.", "type": "integer", "format": "int32"},
            "count": {"type": "integer", "format": "int64", "minimum": 0},
            "ratio": {"type": "number", "format": "double"},
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "parts": {"type": "array", "items": part, "x-kubernetes-list-type": "map",
                      "x-kubernetes-list-map-keys": ["name"]},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "first": part,
            "mode": {"type": "string", "enum": ["Fast", "Slow"], "default": "Fast"},
            "policy": {
                "type": "string", "enum": ["Retain", "Delete"],
                "description": "What happens in the end.\n\nPossible enum values:\n - `\"Retain\"` keeps it\n \
                                - `\"Delete\"` removes it",
            },
            "source": {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "enum": ["File", "Url"]},
                    "path": {"type": "string"},
                    "url": {"type": "string"},
                },
                "oneOf": [
                    {"properties": {"type": {"enum": ["File"]}}, "required": ["type", "path"]},
                    {"properties": {"type": {"enum": ["Url"]}}, "required": ["type", "url"]},
                ],
            },
            "raw": {"x-kubernetes-preserve-unknown-fields": true},
            "object": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "port": {"x-kubernetes-int-or-string": true},
            "bounded": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 5},
            "text": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a"},
            "nothing": {"type": "boolean", "nullable": true},
        },
    });
    let schema = Schema::from_type::<Widget>().unwrap();
    assert_eq!(schema.to_json(), expected);
    assert_eq!(Schema::from_json(&schema.to_json()).unwrap(), schema);
}

#[test]
fn what_has_no_structural_form_is_refused() {
    assert!(Schema::from_type::<Recursive>().unwrap_err().to_string().contains("has no structural form"));
    assert!(Schema::from_type::<Pair>().is_err());
    assert!(Schema::from_type::<String>().unwrap_err().to_string().contains("must be object at the root"));
    let embedded_map = Schema::from_type::<EmbeddedMap>().unwrap_err().to_string();
    assert!(embedded_map.contains("must not be used if x-kubernetes-embedded-resource is set"), "{embedded_map}");
}
