use serde_json::json;

use super::*;
use crate::recorded::{items, object, recorded};

#[test]
fn as_upstream_writes_them() {
    let mut lists = 0;
    for case in recorded("objects") {
        let json = &case["json"];
        let version = match json["apiVersion"].as_str() {
            Some("meta.k8s.io/v1") => MetaVersion::V1,
            Some("meta.k8s.io/v1beta1") => MetaVersion::V1beta1,
            _ => continue,
        };
        match json["kind"].as_str() {
            Some("PartialObjectMetadata") => {
                assert_eq!(&json!(PartialObjectMetadata::new(version, &object(json))), json);
            }
            Some("PartialObjectMetadataList") => {
                lists += 1;
                let metadata = serde_json::from_value(json["metadata"].clone()).unwrap();
                assert_eq!(&json!(PartialObjectMetadataList::new(version, metadata, &items(json))), json);
            }
            _ => {}
        }
    }
    assert_eq!(lists, 24);
}

#[test]
fn nothing_but_metadata() {
    let widget = object(&json!({
        "apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {}, "status": {},
    }));
    let text = serde_json::to_string(&PartialObjectMetadata::new(MetaVersion::V1, &widget)).unwrap();
    assert_eq!(text, r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}"#);
    for odd in [json!({}), json!({"metadata": "a"})] {
        assert_eq!(json!(PartialObjectMetadata::new(MetaVersion::V1, &object(&odd)))["metadata"], json!({}));
    }
}
