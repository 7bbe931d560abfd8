//! Reading and writing metadata.

use serde_json::json;

use super::*;

fn object(value: Value) -> Object {
    Object::try_from(value).unwrap()
}

#[test]
fn metadata_is_read_by_name() {
    let object = object(json!({
        "apiVersion": "example.dev/v1", "kind": "Widget",
        "metadata": {
            "name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": 3,
            "labels": {"app": "x", "bad": 1}, "annotations": {"note": "y"}, "finalizers": ["f", 2],
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "o", "controller": true}, 3],
        },
    }));
    assert_eq!(object.gvk().unwrap().to_string(), "example.dev/v1, Kind=Widget");
    let metadata = object.metadata();
    assert_eq!((metadata.name(), metadata.namespace(), metadata.uid()), ("a", "ns", "u"));
    assert_eq!((metadata.resource_version(), metadata.generation()), ("7", 3));
    assert_eq!(metadata.labels().collect::<Vec<_>>(), [("app", "x")]);
    assert_eq!(metadata.annotation("note"), Some("y"));
    assert_eq!(metadata.finalizers().collect::<Vec<_>>(), ["f"]);
    assert_eq!(metadata.deletion_timestamp(), Some("2026-01-01T00:00:00Z"));
    let owners: Vec<_> = metadata.owner_references().collect();
    assert_eq!((owners.len(), owners[0].uid.as_str(), owners[0].controller), (1, "o", Some(true)));
}

#[test]
fn what_is_missing_or_malformed_reads_as_absent() {
    for value in
        [json!({}), json!({"metadata": null}), json!({"metadata": {"name": 1, "labels": [], "finalizers": {}}})]
    {
        let object = object(value);
        let metadata = object.metadata();
        assert_eq!((metadata.name(), metadata.generation(), metadata.deletion_timestamp()), ("", 0, None));
        assert_eq!((metadata.labels().count(), metadata.finalizers().count()), (0, 0));
    }
}

#[test]
fn metadata_is_written_by_name() {
    let mut object = object(json!({"metadata": "nonsense"}));
    object.set_gvk(&GroupVersion::new("example.dev", "v1").kind("Widget"));
    object.set_metadata_text("name", "a");
    object.set_metadata_text("uid", "");
    object.set_generation(1);
    object.set_finalizers(&["f".to_owned()]);
    assert_eq!(
        Value::from(object.clone()),
        json!({"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "a", "generation": 1, "finalizers": ["f"]}})
    );
    object.set_finalizers(&[]);
    assert_eq!(object.metadata().get("finalizers"), None);
}
