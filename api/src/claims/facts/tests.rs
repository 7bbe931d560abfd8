use serde_json::{Value, json};

use super::KindFacts;
use crate::claims::ClaimRefPlace;

fn definition(schema: Value) -> Value {
    json!({
        "spec": {
            "group": "p.example", "scope": "Cluster", "names": { "kind": "Server", "plural": "servers" },
            "versions": [
                { "name": "v1", "served": true, "schema": { "openAPIV3Schema": schema } },
                { "name": "v0", "served": false },
            ],
        },
        "status": { "conditions": [{ "type": "Established", "status": "True" }] },
    })
}

/// RCD-37: what a kind lacks that was defined by hand is known by name.
#[test]
fn what_a_kind_has_and_lacks() {
    let facts =
        &KindFacts::of(&definition(json!({ "type": "object", "properties": { "spec": { "type": "object" } } })))[0];
    assert_eq!(facts.claim_ref, ClaimRefPlace::Annotations);
    assert!(!facts.has_conditions && !facts.has_phase && !facts.namespaced);
    assert_eq!(facts.missing.len(), 8, "{:?}", facts.missing);
    assert!(
        facts.missing.contains(&".spec.classRef".to_owned())
            && facts.missing.contains(&"subresource status".to_owned())
    );

    let open = json!({ "x-kubernetes-preserve-unknown-fields": true });
    let facts = &KindFacts::of(&definition(json!({ "properties": { "spec": open, "status": open } })))[0];
    assert_eq!(facts.claim_ref, ClaimRefPlace::Field);
    assert!(facts.has_conditions && !facts.has_phase, "the status is not written apart");
    assert_eq!(facts.missing, ["subresource status"]);
}

#[test]
fn only_what_is_served_counts() {
    assert_eq!(KindFacts::of(&definition(json!({}))).len(), 1);
    let mut going = definition(json!({}));
    going["status"]["conditions"] =
        json!([{ "type": "Established", "status": "True" }, { "type": "Terminating", "status": "True" }]);
    assert!(KindFacts::of(&going)[0].going, "its objects must be able to go");
    assert!(!KindFacts::of(&definition(json!({})))[0].going);
    assert_eq!(KindFacts::of(&json!({})), []);
    let mut unserved = definition(json!({}));
    unserved["spec"]["versions"][0]["served"] = json!(false);
    assert_eq!(KindFacts::of(&unserved), []);
    assert_eq!(KindFacts::established(&unserved), Some(("p.example", "Server")));
    assert_eq!(KindFacts::established(&json!({})), None);
}
