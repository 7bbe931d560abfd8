//! Which quotas are missing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Index;

fn index(allocations: &[(&str, Value)]) -> Index {
    let mut index = Index::default();
    for (name, spec) in allocations {
        let object = json!({ "metadata": { "name": name }, "spec": spec });
        index.set_allocation(name, Some(serde_json::from_value(object).unwrap()));
    }
    index.set_namespace("shop", Some(BTreeMap::from([("owner".to_owned(), "alice".to_owned())])));
    index
}

fn spec(policy: &str, hard: Value, default: Value) -> Value {
    json!({
        "selector": { "matchLabels": { "owner": "alice" } }, "allocation": { "hard": hard },
        "uncoveredPolicy": policy, "default": default,
    })
}

fn missing(index: &Index, namespace: &str) -> Value {
    index.missing(namespace).map_or(Value::Null, |missing| json!(missing.hard))
}

/// B-QUOTA-3, D-QUOTA-2: nothing where it is only reported, nothing at all with Zero, what is asked for with Default.
#[test]
fn a_project_gets_what_its_allocations_ask_for() {
    let hard = || json!({ "cpu": "10", "memory": "1Gi" });
    assert_eq!(missing(&index(&[("a", spec("Report", hard(), json!({})))]), "shop"), Value::Null);
    let zero = index(&[("a", spec("Zero", hard(), json!({})))]);
    assert_eq!(missing(&zero, "shop"), json!({ "cpu": "0", "memory": "0" }));
    assert_eq!(missing(&zero, "elsewhere"), Value::Null);
    let mut zero = zero;
    zero.set_namespace("kube-public", Some(BTreeMap::from([("owner".to_owned(), "alice".to_owned())])));
    assert_eq!(missing(&zero, "kube-public"), Value::Null, "nothing is made in namespaces of Kubernetes'");
    let default = spec("Default", hard(), json!({ "requests.cpu": "500m", "memory": "64Mi" }));
    let mut both = index(&[("a", default.clone()), ("b", spec("Default", json!({ "cpu": 5 }), json!({ "cpu": 2 })))]);
    assert_eq!(missing(&both, "shop"), json!({ "cpu": "500m", "memory": "64Mi" }));
    let quota = |name: &str, hard: Value| {
        let object = json!({ "metadata": { "name": name, "namespace": "shop" }, "spec": { "hard": hard } });
        serde_json::from_value(object).unwrap()
    };
    both.set_quota("shop", "lockdown", Some(quota("lockdown", json!({ "cpu": "1" }))));
    assert_eq!(missing(&both, "shop"), json!({ "memory": "64Mi" }), "what is limited needs nothing");
    both.set_quota("shop", "default", Some(quota("default", json!({}))));
    assert_eq!(missing(&both, "shop"), Value::Null, "what is there is its owner's");
    both.set_quota("shop", "default", None);
    assert_ne!(missing(&both, "shop"), Value::Null);
}
