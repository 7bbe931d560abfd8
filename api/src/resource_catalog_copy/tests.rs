use serde_json::{Map, Value, json};

use super::{CopyError, copy_for};
use crate::ResourceCatalogClaim;

fn claim(spec: Value) -> ResourceCatalogClaim {
    let mut whole = json!({
        "catalogName": "tools", "resourceCatalogEntry": { "namespace": "shop", "name": "hammer" },
    });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let metadata = json!({ "name": "mine", "namespace": "here", "uid": "claim-uid" });
    serde_json::from_value(json!({ "metadata": metadata, "spec": whole })).unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// CAT-48, CAT-58, CAT-59: a copy has the content of its source, and nothing that belongs to the one object.
#[test]
fn a_copy_keeps_content_and_forgets_the_rest() {
    let source = object(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": { "k": "dg==" }, "status": { "phase": "old" },
        "metadata": {
            "name": "creds", "namespace": "shop", "uid": "source-uid", "resourceVersion": "7", "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{}], "finalizers": ["x/y"],
            "ownerReferences": [{ "kind": "Pod" }], "labels": { "a": "1", "keep": "me" },
            "annotations": { "note": "n", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
        },
    }));
    let claim = claim(json!({ "namePrefix": "my-", "additionalLabels": { "a": "2", "b": "3" } }));
    let copy = copy_for(&claim, &source, "source-uid").unwrap();
    let expected = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": { "k": "dg==" },
        "metadata": {
            "name": "my-creds", "namespace": "here",
            "labels": { "a": "2", "b": "3", "keep": "me", "bailiwick.dev/derived-from": "resourcecatalogclaims" },
            "annotations": {
                "note": "n", "catalog.bailiwick.dev/claim-uid": "claim-uid",
                "catalog.bailiwick.dev/source-uid": "source-uid",
            },
            "ownerReferences": [{
                "apiVersion": "catalog.bailiwick.dev/v1alpha1", "kind": "ResourceCatalogClaim", "name": "mine",
                "uid": "claim-uid", "controller": true,
            }],
        },
    });
    assert_eq!(Value::Object(copy), expected);
}

/// CAT-55: what controllers write of the one object is not forced upon another, where they would write it again.
#[test]
fn what_controllers_say_of_the_source_is_not_copied() {
    let source = object(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web", "annotations": {
            "deployment.kubernetes.io/revision": "5", "deprecated.daemonset.template.generation": "2",
            "pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/selected-node": "n",
            "volume.beta.kubernetes.io/storage-class": "fast", "note": "n",
        } },
    }));
    let copy = copy_for(&claim(json!({})), &source, "u").unwrap();
    let annotations = copy["metadata"]["annotations"].as_object().unwrap();
    let others: Vec<&String> = annotations.keys().filter(|key| !key.starts_with("catalog.bailiwick.dev/")).collect();
    assert_eq!(others, ["note", "volume.beta.kubernetes.io/storage-class"]);
}

/// CAT-55: what an entry's list has no more, its copies lose: a server takes no key out of a Secret that was applied as a text.
#[test]
fn texts_of_a_secret_are_copied_as_bytes() {
    let source = object(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "creds" }, "stringData": { "k": "v" },
    }));
    let copy = copy_for(&claim(json!({})), &source, "u").unwrap();
    assert_eq!((copy.get("stringData"), &copy["data"]), (None, &json!({ "k": "dg==" })));
}

/// CAT-59
#[test]
fn what_cannot_be_copied_is_told() {
    let long = object(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "n".repeat(252) } }));
    assert!(copy_for(&claim(json!({})), &long, "u").is_ok());
    let refused = copy_for(&claim(json!({ "namePrefix": "my-" })), &long, "u");
    assert!(matches!(refused, Err(CopyError::NameTooLong(name)) if name.len() == 255));
    let token = object(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": { "name": "t" },
    }));
    assert_eq!(copy_for(&claim(json!({})), &token, "u"), Err(CopyError::AccountToken));
}
