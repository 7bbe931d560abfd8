//! What is wrong with allocations.

use bailiwick_machinery::{FieldErrors, Object};
use serde_json::{Value, json};

use super::Allocations;
use crate::strategy::Strategy;

fn allocation(spec: Value) -> Object {
    let Value::Object(fields) = json!({ "metadata": { "name": "alice" }, "spec": spec }) else { panic!() };
    Object::new(fields)
}

fn wrong(spec: Value) -> Vec<String> {
    let mut errors = FieldErrors::default();
    Allocations.validate(&allocation(spec), &mut errors);
    let mut found: Vec<String> = errors.as_slice().iter().map(ToString::to_string).collect();
    found.sort();
    found
}

fn with(mut spec: Value, field: &str, value: Value) -> Value {
    spec[field] = value;
    spec
}

/// M-QUOTA-8, QUOTA-7, QUOTA-8, D-QUOTA-2: amounts that make no sense, resources that nobody knows or that are there twice,
/// scopes that exclude each other, defaults that do not fit.
#[test]
fn what_makes_no_sense_is_refused() {
    let good = || json!({ "selector": {}, "allocation": { "hard": { "cpu": "10", "count/deployments.apps": 5 } } });
    assert_eq!(wrong(good()), [] as [&str; 0]);
    let hard = |hard: Value| with(good(), "allocation", json!({ "hard": hard }));
    for (spec, field) in [
        (hard(json!({})), "spec.allocation.hard"),
        (hard(json!({ "cpu": "-1" })), "spec.allocation.hard[cpu]"),
        (hard(json!({ "cpu": "x" })), "spec.allocation.hard[cpu]"),
        (hard(json!({ "pods": "1.5" })), "spec.allocation.hard[pods]"),
        (hard(json!({ "storage": "1" })), "spec.allocation.hard[storage]"),
        (hard(json!({ "bananas": "1" })), "spec.allocation.hard[bananas]"),
        (hard(json!({ "cpu": "1", "requests.cpu": "1" })), "spec.allocation.hard[requests.cpu]"),
        (
            with(good(), "allocation", json!({ "hard": { "pods": 1 }, "scopes": ["BestEffort", "NotBestEffort"] })),
            "spec.allocation.scopes",
        ),
        (
            with(good(), "allocation", json!({ "hard": { "secrets": 1 }, "scopes": ["Terminating"] })),
            "spec.allocation.scopes",
        ),
        (
            with(good(), "selector", json!({ "matchExpressions": [{ "key": "a", "operator": "Is" }] })),
            "spec.selector.matchExpressions[0].operator",
        ),
        (with(good(), "default", json!({ "cpu": "1" })), "spec.default"),
        (with(good(), "uncoveredPolicy", json!("Default")), "spec.default[cpu]"),
        (
            with(with(hard(json!({ "cpu": 1 })), "uncoveredPolicy", json!("Default")), "default", json!({ "cpu": 2 })),
            "spec.default[cpu]",
        ),
        (
            with(
                with(good(), "uncoveredPolicy", json!("Zero")),
                "allocation",
                json!({ "hard": { "pods": 1 }, "scopes": ["Terminating"] }),
            ),
            "spec.uncoveredPolicy",
        ),
    ] {
        let found = wrong(spec.clone());
        assert!(found.iter().any(|error| error.starts_with(&format!("{field}:"))), "{spec}: {found:?}");
    }
    let defaults = json!({ "requests.cpu": "1", "count/deployments.apps": 0 });
    assert_eq!(wrong(with(with(good(), "uncoveredPolicy", json!("Default")), "default", defaults)), [] as [&str; 0]);
}

/// an allocation has room for its status.
#[test]
fn so_many_resources_can_be_allotted() {
    let of = |count: usize| {
        let hard: serde_json::Map<String, Value> =
            (0..count).map(|number| (format!("count/k{number}.example.com"), json!("1"))).collect();
        json!({ "selector": {}, "allocation": { "hard": hard } })
    };
    assert_eq!(wrong(of(super::MAX_RESOURCES)), [] as [&str; 0]);
    assert_eq!(
        wrong(of(super::MAX_RESOURCES + 1)),
        ["spec.allocation.hard: Too many: 129: must have at most 128 items"]
    );
}

/// QUOTA-7: whoever selects everything is told.
#[test]
fn an_empty_selector_is_warned_of() {
    let all = allocation(json!({ "selector": {} }));
    let some = allocation(json!({ "selector": { "matchLabels": { "a": "b" } } }));
    assert_eq!(Allocations.warnings(&all, None).len(), 1);
    assert_eq!(Allocations.warnings(&all, Some(&some)).len(), 1);
    assert_eq!(Allocations.warnings(&all, Some(&all)).len() + Allocations.warnings(&some, None).len(), 0);
}

/// QUOTA-30: who looks at allocations sees what is left of them, which is nothing where there is too much.
#[test]
fn what_is_left_is_shown() {
    let hard = json!({ "cpu": "10", "memory": "4Gi", "pods": "5", "count/secrets": "2" });
    let mut object = allocation(json!({ "selector": {}, "allocation": { "hard": hard } }));
    let used = json!({ "cpu": "6500m", "memory": "1Gi", "pods": "7" });
    object.fields_mut().insert("status".to_owned(), json!({ "allocated": { "used": used } }));
    let mut left: Vec<_> = super::remaining(&object).split(", ").map(str::to_owned).collect();
    left.sort();
    assert_eq!(left, ["count/secrets: 2", "cpu: 3500m", "memory: 3Gi", "pods: 0"]);
}
