use serde_json::{Value, json};

use super::*;

fn document() -> Arc<Value> {
    Arc::new(json!({"components": {"schemas": {
        "v1.Widget": {
            "type": "object",
            "required": ["spec"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"allOf": [{"$ref": "#/components/schemas/v1.Meta"}], "default": {}},
                "spec": {"$ref": "#/components/schemas/v1.WidgetSpec"},
            },
            "x-kubernetes-group-version-kind": [{"group": "example.dev", "version": "v1", "kind": "Widget"}],
        },
        "v1.Meta": {"type": "object", "properties": {
            "name": {"type": "string"},
            "labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
        }},
        "v1.WidgetSpec": {"type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "format": "int32"},
            "port": {"x-kubernetes-int-or-string": true},
            "memory": {"oneOf": [{"type": "string"}, {"type": "number"}]},
            "mode": {"type": "string", "enum": ["Fast", "Slow"]},
            "parts": {"type": "array", "items": {"$ref": "#/components/schemas/v1.WidgetSpec"}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "loop": {"$ref": "#/components/schemas/loop"},
        }},
        "loop": {"$ref": "#/components/schemas/loop"},
    }}}))
}

fn widget() -> HostSchema {
    let gvk = GroupVersionKind { group: "example.dev".into(), version: "v1".into(), kind: "Widget".into() };
    HostSchema::find(&document(), &gvk).unwrap()
}

fn problems(object: &Value) -> Vec<String> {
    widget().check(object).as_slice().iter().map(ToString::to_string).collect()
}

#[test]
fn what_fits_is_right() {
    let object = json!({
        "apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "a", "labels": {"a": "b"}},
        "spec": {
            "size": 3, "port": "http", "memory": 1.5, "mode": "Fast", "free": {"any": [1, "b"]}, "loop": {"a": 1},
            "parts": [{"size": 1.0, "port": 80, "memory": "1Gi", "mode": null}],
        },
    });
    assert_eq!(problems(&object), Vec::<String>::new());
}

#[test]
fn what_is_surely_wrong_is_named() {
    let object = json!({
        "kind": 1, "metadata": {"labels": {"a": 1}}, "extra": true,
        "spec": {"port": true, "mode": "Medium", "parts": [{"size": "3"}, 7], "free": []},
    });
    let found = problems(&object);
    for (field, what) in [
        ("extra", "unknown field"),
        ("kind", "string"),
        ("metadata.labels.a", "string"),
        ("spec.free", "object"),
        ("spec.mode", "supported values"),
        ("spec.parts[0].size", "integer"),
        ("spec.parts[1]", "object"),
        ("spec.port", "integer or string"),
        ("spec.size", "Required"),
    ] {
        assert!(
            found.iter().any(|line| line.starts_with(&format!("{field}: ")) && line.contains(what)),
            "{field}: {found:#?}"
        );
    }
    assert_eq!(found.len(), 9, "{found:#?}");
}

#[test]
fn types_are_found_by_paths() {
    let schema = widget();
    let types = |path: &[Step<'_>]| schema.types_at(path);
    let spec = Step::Field("spec");
    assert_eq!(types(&[spec, Step::Field("size")]), Some(vec!["integer"]));
    assert_eq!(types(&[spec, Step::Field("port")]), Some(vec!["integer", "string"]));
    assert_eq!(types(&[spec, Step::Field("memory")]), Some(vec!["string", "number"]));
    assert_eq!(types(&[spec, Step::Field("parts"), Step::Item, Step::Field("mode")]), Some(vec!["string"]));
    assert_eq!(types(&[Step::Field("metadata"), Step::Field("labels"), Step::Field("x")]), Some(vec!["string"]));
    assert_eq!(types(&[spec, Step::Field("free"), Step::Field("x")]), None);
    assert_eq!(types(&[spec, Step::Field("loop")]), None);
}

#[test]
fn what_no_document_tells_of_is_not_known() {
    let gvk = GroupVersionKind { group: "example.dev".into(), version: "v1".into(), kind: "Gadget".into() };
    assert!(HostSchema::find(&document(), &gvk).is_none());
    assert!(HostSchema::find(&Arc::new(json!([])), &gvk).is_none());
}
