use serde_json::{Value, json};

use super::*;

fn first(path: &str) -> Value {
    let object = json!({
        "metadata": {"annotations": {"a.b/c": "dotted"}, "name": "n"},
        "spec": {"parts": [{"name": "x", "size": 1}, {"name": "y", "size": 2}, {"name": "z", "size": 3}], "on": true},
        "status": {"conditions": [
            {"type": "Synced", "status": "False"},
            {"type": "Ready", "status": "True"},
        ]},
    });
    JsonPath::parse(path).unwrap().first(&object).cloned().unwrap_or_default()
}

#[test]
fn paths_lead_where_columns_mean_them_to() {
    for (path, expected) in [
        (".metadata.name", json!("n")),
        ("metadata.name", json!("n")),
        (".metadata.annotations['a.b/c']", json!("dotted")),
        (".metadata.annotations.a\\.b/c", json!("dotted")),
        (".spec.parts[1].name", json!("y")),
        (".spec.parts[-1].name", json!("z")),
        (".spec.parts[*].name", json!("x")),
        (".spec.parts[1:].name", json!("y")),
        (".spec.parts[0:3:2].size", json!(1)),
        (".status.conditions[?(@.type==\"Ready\")].status", json!("True")),
        (".status.conditions[?(@.type == 'Synced')].status", json!("False")),
        (".spec.parts[?(@.size>1)].name", json!("y")),
        (".spec.parts[?(@.size>=3)].name", json!("z")),
        (".spec.parts[?(@.none)].name", Value::Null),
        ("..size", json!(1)),
        (".spec.on", json!(true)),
        (".spec.absent.more", Value::Null),
    ] {
        assert_eq!(first(path), expected, "{path}");
    }
}

#[test]
fn what_is_no_path_is_none() {
    for path in [".a[", ".a[x]", ".a[?(]", ".a[1:2:0]", ".a[?(@.b==)]"] {
        assert_eq!(JsonPath::parse(path), None, "{path}");
    }
}
