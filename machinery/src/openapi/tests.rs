//! The documents of a kind that uses everything a schema can say, beside those of kube-apiserver.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::*;
use crate::schema::Schema;

const INFO: Info<'_> = Info { title: "Test", version: "v1" };

/// What a kube-apiserver said that was taught `crd`; a test of the program checks that it still does.
static RECORDED: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../tests/data/go/openapi.json")).unwrap());

fn apple(make: impl FnOnce(&GroupVersion, Resource<'_>) -> Value) -> Value {
    let schema = Schema::from_json(&RECORDED["crd"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]).unwrap();
    let group_version = GroupVersion::new("fruit.example.k8s.io", "v1");
    let status = Subresource {
        name: "status",
        foreign: None,
        kind: "Apple",
        read_kind: "Apple",
        verbs: vec![Verb::Get, Verb::Update, Verb::Patch],
    };
    let resource = Resource {
        group_version: &group_version,
        kind: "Apple",
        list_kind: "AppleList",
        plural: "apples",
        scope: Scope::Namespaced,
        verbs: &Verb::ALL,
        schema: &schema,
        typed: false,
        tells_deleted: false,
        selectable_fields: Vec::new(),
        subresources: vec![status],
    };
    make(&group_version, resource)
}

/// Without descriptions, which are our own, and without what is not implemented.
fn reduced(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, value)| *name != "description" || !value.is_string());
            kept.map(|(name, value)| (name.clone(), reduced(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => {
            let kept = items.iter().filter(|item| item.get("name").is_none_or(|name| name != "shardSelector"));
            kept.map(reduced).collect::<Vec<_>>().into()
        }
        other => other.clone(),
    }
}

/// With shared parameters where they are referred to.
fn resolved(value: &Value, shared: &Value) -> Value {
    if let Some(name) = value.get("$ref").and_then(|name| name.as_str()?.strip_prefix("#/parameters/")) {
        return shared[name].clone();
    }
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), resolved(value, shared))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(|item| resolved(item, shared)).collect::<Vec<_>>().into(),
        other => other.clone(),
    }
}

/// Part by part, because nobody reads two documents of a thousand lines.
fn assert_same(ours: &Value, theirs: &Value) {
    let (ours, theirs) = (reduced(ours), reduced(theirs));
    let (ours, theirs) = (ours.as_object().unwrap(), theirs.as_object().unwrap());
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (name, part) in ours {
        for (inner, value) in part.as_object().unwrap() {
            assert_eq!(*value, theirs[name][inner], "{name}: {inner}");
        }
        assert_eq!(*part, theirs[name], "{name}");
    }
}

#[test]
fn version_3_is_what_kubernetes_says() {
    let document = apple(|group_version, resource| v3(INFO, group_version, &[resource]));
    assert_same(&document["paths"], &RECORDED["v3"]["paths"]);
    assert_same(&document["components"]["schemas"], &RECORDED["v3"]["schemas"]);
}

#[test]
fn version_2_is_what_kubernetes_says() {
    let document = apple(|_, resource| v2(INFO, &[resource]));
    assert_same(&resolved(&document["paths"], &document["parameters"]), &RECORDED["v2"]["paths"]);
    assert_same(&document["definitions"], &RECORDED["v2"]["schemas"]);
}

/// Without descriptions of what all objects have, which are our own.
fn without_ours(value: &Value) -> Value {
    let Value::Object(fields) = value else {
        return match value {
            Value::Array(items) => items.iter().map(without_ours).collect::<Vec<_>>().into(),
            other => other.clone(),
        };
    };
    let mut kept: Map<_, _> = fields.iter().map(|(name, value)| (name.clone(), without_ours(value))).collect();
    for name in ["apiVersion", "kind", "metadata"] {
        if let Some(property) = kept.get_mut(name).and_then(Value::as_object_mut) {
            property.remove("description");
        }
    }
    kept.into()
}

/// Without what upstream's builder writes and its server does not send.
fn as_sent(value: &Value, not_sent: &[&str]) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !not_sent.contains(&name.as_str()));
            kept.map(|(name, value)| (name.clone(), as_sent(value, not_sent))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(|item| as_sent(item, not_sent)).collect::<Vec<_>>().into(),
        other => other.clone(),
    }
}

#[test]
fn kinds_that_are_data_are_told_of_as_kubernetes_tells_of_them() {
    let recorded: Vec<Value> = serde_json::from_str(include_str!("../../../tests/data/go/crd-documents.json")).unwrap();
    let group_version = GroupVersion::new("example.dev", "v1");
    let name = "dev.example.v1.Widget";
    let mut differences = Vec::new();
    for case in &recorded {
        let schema = Schema::from_json(&case["schema"]).unwrap();
        let resource = Resource {
            group_version: &group_version,
            kind: "Widget",
            list_kind: "WidgetList",
            plural: "widgets",
            scope: Scope::Namespaced,
            verbs: &Verb::ALL,
            schema: &schema,
            typed: false,
            tells_deleted: false,
            selectable_fields: Vec::new(),
            subresources: Vec::new(),
        };
        let third = v3(INFO, &group_version, std::slice::from_ref(&resource));
        let second = v2(INFO, &[resource]);
        let not_sent = ["example", "externalDocs"];
        for (edition, ours, theirs) in [
            ("v3", &third["components"]["schemas"][name], as_sent(&case["v3"], &not_sent)),
            ("v2", &second["definitions"][name], as_sent(&case["v2"], &[not_sent.as_slice(), &["default"]].concat())),
        ] {
            let (ours, theirs) = (without_ours(ours), without_ours(&theirs));
            if ours != theirs {
                differences.push(format!("{edition} of {}\n  {ours}\n  {theirs}", case["schema"]));
            }
        }
    }
    assert!(recorded.len() > 40, "there are only {} schemas", recorded.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn only_what_is_served_is_told() {
    let document = apple(|group_version, resource| {
        let read_only = Resource { verbs: &[Verb::Get], subresources: Vec::new(), ..resource };
        v3(INFO, group_version, &[read_only])
    });
    let paths: Vec<_> = document["paths"].as_object().unwrap().keys().collect();
    assert_eq!(paths, ["/apis/fruit.example.k8s.io/v1/namespaces/{namespace}/apples/{name}"]);
    let schemas = document["components"]["schemas"].as_object().unwrap();
    assert!(schemas.contains_key("io.k8s.example.fruit.v1.Apple"));
    assert!(!schemas.contains_key("io.k8s.example.fruit.v1.AppleList"), "nothing refers to it");
    assert!(!schemas.contains_key(&meta::name("DeleteOptions")), "nothing can be deleted");

    let other = GroupVersion::new("other.dev", "v1");
    let document = apple(|_, resource| v3(INFO, &other, &[resource]));
    assert_eq!(document["paths"], json!({}));
}

#[test]
fn a_subresource_of_another_kind() {
    let document = apple(|group_version, resource| {
        let below = Subresource {
            name: "seeds",
            foreign: None,
            kind: "Apple",
            read_kind: "AppleList",
            verbs: vec![Verb::Create, Verb::Get],
        };
        v3(INFO, group_version, &[Resource { subresources: vec![below], ..resource }])
    });
    let item = &document["paths"]["/apis/fruit.example.k8s.io/v1/namespaces/{namespace}/apples/{name}/seeds"];
    assert_eq!(item["post"]["operationId"], "createFruitExampleV1NamespacedAppleSeeds");
    assert_eq!(item["post"]["description"], "create seeds of an Apple");
    let answer = |operation: &Value| operation["responses"]["200"]["content"]["application/json"]["schema"].clone();
    assert_eq!(answer(&item["get"])["$ref"], "#/components/schemas/io.k8s.example.fruit.v1.AppleList");
    assert_eq!(answer(&item["post"])["$ref"], "#/components/schemas/io.k8s.example.fruit.v1.Apple");
}

/// In version 2, properties would mean that there are no others.
#[test]
fn a_kind_that_keeps_everything() {
    let schema = Schema::from_json(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})).unwrap();
    let properties = |document: Value, place: &str| document.pointer(place).cloned();
    let name = "io.k8s.example.fruit.v1.Apple/properties";
    let second = apple(|_, resource| v2(INFO, &[Resource { schema: &schema, ..resource }]));
    assert_eq!(properties(second, &format!("/definitions/{name}")), None);
    let third = apple(|group_version, resource| v3(INFO, group_version, &[Resource { schema: &schema, ..resource }]));
    assert!(properties(third, &format!("/components/schemas/{name}/metadata")).is_some());
}
