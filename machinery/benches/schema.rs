//! How long an object of about 1 KiB takes: `cargo bench -p bailiwick-machinery --bench schema`.

use std::hint::black_box;
use std::time::Instant;

use bailiwick_machinery::schema::{self, Schema};
use bailiwick_machinery::{FieldErrors, FieldPath};
use serde_json::{Value, json};

const ROUNDS: u32 = 100_000;

fn main() {
    let (schema, object) = sample();
    println!("an object of {} bytes", object.to_string().len());
    measure("validate", || {
        let mut errors = FieldErrors::default();
        schema::validate(&schema, &object, &FieldPath::root(), &mut errors);
        assert!(errors.is_empty(), "{errors}");
    });
    measure("validate an update", || {
        let mut errors = FieldErrors::default();
        schema::validate_update(&schema, &object, &object, &FieldPath::root(), &mut errors);
        assert!(errors.is_empty(), "{errors}");
    });
    measure("unknown fields", || assert!(schema::unknown_fields(&schema, &object).is_empty()));
    let mut defaulted = object.clone();
    measure("nulls and defaults", || {
        schema::drop_nulls(&schema, &mut defaulted);
        schema::default(&schema, &mut defaulted);
    });
    let text = object.to_string();
    measure("(parse the JSON)", || drop(black_box(serde_json::from_str::<Value>(&text))));
}

fn measure(what: &str, mut run: impl FnMut()) {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        run();
    }
    println!("{what:20} {:6.2} µs", start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS));
}

fn sample() -> (Schema, Value) {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["replicas", "parts"], "properties": {
            "replicas": {"type": "integer", "format": "int32", "minimum": 0, "default": 1},
            "mode": {"type": "string", "enum": ["Fast", "Slow"], "default": "Fast"},
            "name": {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
            "selector": {"type": "object", "additionalProperties": {"type": "string"}},
            "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name"], "properties": {
                    "name": {"type": "string"}, "image": {"type": "string", "minLength": 1},
                    "port": {"x-kubernetes-int-or-string": true}, "weight": {"type": "number"},
                    "ready": {"type": "boolean", "default": false},
                }}},
        }},
        "status": {"type": "object", "properties": {
            "conditions": {"type": "array", "items": {"type": "object", "properties": {
                "type": {"type": "string"}, "status": {"type": "string"}, "message": {"type": "string"},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
            }}},
        }},
    }});
    let part = |i: u32| {
        json!({
            "name": format!("part-{i}"), "image": format!("registry.example/team/image-{i}:v1.2.3"), "port": 8080 + i,
            "weight": 0.5, "ready": true,
        })
    };
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "message": "everything is as it should be",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        })
    };
    let object = json!({
        "apiVersion": "example.dev/v1", "kind": "Widget",
        "metadata": {"name": "sample", "namespace": "default", "labels": {"app": "sample"}},
        "spec": {
            "replicas": 3, "mode": "Fast", "name": "sample-widget", "selector": {"app": "sample", "tier": "backend"},
            "parts": (0..5).map(part).collect::<Vec<_>>(),
        },
        "status": {"conditions": [condition("Ready"), condition("Bound")]},
    });
    (Schema::from_json(&schema).expect("the schema is fixed"), object)
}
