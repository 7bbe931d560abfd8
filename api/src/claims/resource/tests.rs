use serde_json::json;

use super::*;

fn claim() -> ClaimRef {
    ObjectRef {
        api_version: "database.example/v1".to_owned(),
        kind: "MySQL".to_owned(),
        namespace: "shop".to_owned(),
        name: "db".to_owned(),
        uid: "1-2-3".to_owned(),
    }
}

/// Whose a resource is can be read as it was written, wherever that is.
#[test]
fn whose_it_is() {
    for place in [ClaimRefPlace::Field, ClaimRefPlace::Annotations] {
        let mut resource = json!({ "metadata": { "name": "r" } });
        assert_eq!(claim_ref(&resource, place), None);
        set_claim_ref(&mut resource, place, &claim());
        let read = claim_ref(&resource, place).unwrap();
        assert_eq!((read.group(), read.uid.as_str()), ("database.example", "1-2-3"));
        assert_eq!((read.kind.as_str(), read.namespace.as_str(), read.name.as_str()), ("MySQL", "shop", "db"));
    }
    let offered = json!({ "spec": { "claimRef": { "namespace": "shop", "name": "db" } } });
    assert_eq!(claim_ref(&offered, ClaimRefPlace::Field).unwrap().uid, "");
    assert_eq!(claim_ref(&json!({ "spec": { "claimRef": {} } }), ClaimRefPlace::Field), None);
}

/// RCD-43: resources of one claim, and of claims of one name, are called differently.
#[test]
fn names_are_unique() {
    let uid = "01234567-89ab-cdef-0123-456789abcdef";
    assert_eq!(resource_name("db", uid, 0), format!("db-{uid}-0"));
    let long = resource_name("a-very-long-name-of.-a-claim", uid, 15);
    assert_eq!(long, format!("a-very-long-name-of-{uid}-15"));
    assert!(long.len() <= 63);
}

#[test]
fn readiness_is_a_condition_where_there_are_conditions() {
    let ready = |status: &str| json!({ "status": { "conditions": [{ "type": "Ready", "status": status }] } });
    assert!(is_ready(&ready("True"), true) && !is_ready(&ready("False"), true) && !is_ready(&ready("False"), false));
    assert!(!is_ready(&json!({}), true) && is_ready(&json!({}), false));
}

#[test]
fn where_the_secret_is() {
    let found = |resource| connection_secret(&resource);
    let pair = |namespace: &str, name: &str| Some((namespace.to_owned(), name.to_owned()));
    let written = json!({ "spec": { "writeConnectionSecretToRef": { "namespace": "system", "name": "s" } } });
    assert_eq!(found(written), pair("system", "s"));
    let local = json!({
        "metadata": { "namespace": "shop" },
        "spec": { "writeConnectionSecretToRef": { "namespace": "kube-system", "name": "s" } },
    });
    assert_eq!(found(local), pair("shop", "s"), "a resource in a namespace has its secret there");
    assert_eq!(
        found(json!({ "metadata": { "namespace": "shop" }, "status": { "binding": { "name": "t" } } })),
        pair("shop", "t")
    );
    assert_eq!(found(json!({ "spec": { "writeConnectionSecretToRef": { "name": "s" } } })), None);
    assert_eq!(found(json!({})), None);
    for (namespace, name) in [("a/../b", "s"), ("A", "s"), ("a", "../../pods"), ("a", "s?watch=1"), ("a", "S")] {
        let odd = json!({ "spec": { "writeConnectionSecretToRef": { "namespace": namespace, "name": name } } });
        assert_eq!(found(odd), None, "there can be no {namespace}/{name}");
    }
}

#[test]
fn phases_are_words() {
    assert_eq!(phase(&json!({ "status": { "bindingPhase": "Unbindable" } })), Some(Phase::Unbindable));
    assert_eq!(
        phase(&json!({ "metadata": { "annotations": { PHASE_ANNOTATION: "Released" } } })),
        Some(Phase::Released)
    );
    assert_eq!(phase(&json!({ "status": { "bindingPhase": "" } })), None);
}
