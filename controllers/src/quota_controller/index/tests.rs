//! Which quotas are missing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Index, Work};

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
    let names = index(&[("a", default.clone()), ("b", spec("Zero", json!({ "requests.cpu": 5 }), json!({})))]);
    assert_eq!(missing(&names, "shop"), json!({ "cpu": "0", "memory": "64Mi" }), "one resource has one name");
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

/// D-QUOTA-2: of a project that is about to be limited nobody is warned; of one that stays unlimited they are, once.
#[test]
fn a_project_is_reported_unless_it_is_about_to_be_limited() {
    let set = |index: &mut Index, policy: &str, uncovered: &str| {
        let conditions = json!([{
            "type": "Uncovered", "status": uncovered, "reason": "", "message": "", "lastTransitionTime": "",
        }]);
        let spec = spec(policy, json!({ "cpu": "10" }), json!({}));
        let object = json!({ "metadata": { "name": "a" }, "spec": spec, "status": { "conditions": conditions } });
        index.set_allocation("a", Some(serde_json::from_value(object).unwrap()));
    };
    let told = |index: &mut Index| index.take_report("a").map_or(0, |(_, reported)| reported.len());
    let mut index = index(&[]);
    set(&mut index, "Report", "True");
    assert_eq!((told(&mut index), told(&mut index)), (1, 0));
    set(&mut index, "Zero", "False");
    set(&mut index, "Zero", "True");
    assert_eq!(told(&mut index), 0, "it gets a quota");
    // Its owner has one that leaves it unlimited.
    let quota = json!({ "metadata": { "name": "default", "namespace": "shop" }, "spec": { "hard": { "pods": "1" } } });
    index.set_quota("shop", "default", Some(serde_json::from_value(quota).unwrap()));
    assert!(index.to_look_at("shop").contains(&Work::Report("a".to_owned())));
    assert_eq!((told(&mut index), told(&mut index)), (1, 0));
    index.set_quota("shop", "default", None);
    set(&mut index, "Zero", "False");
    set(&mut index, "Zero", "True");
    assert_eq!(told(&mut index), 0);
    set(&mut index, "Zero", "False");
    assert_eq!(told(&mut index), 0, "that is over");
    // In Kubernetes' own namespaces nothing is made, so whoever labels one is told.
    set(&mut index, "Zero", "True");
    assert_eq!(told(&mut index), 0);
    index.set_namespace("kube-public", Some(BTreeMap::from([("owner".to_owned(), "alice".to_owned())])));
    assert_eq!((told(&mut index), told(&mut index)), (1, 0));
    index.set_namespace("kube-public", None);
    set(&mut index, "Zero", "False");
    set(&mut index, "Zero", "True");
    assert_eq!(told(&mut index), 0, "it is no project any more");
}
