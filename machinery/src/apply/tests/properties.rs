//! Nothing that a client sends, and nothing that is stored, makes apply fail in another way than by an error.

use proptest::prelude::*;

use super::*;
use crate::apply::managed::{Managed, entries};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c]?".prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Names of the schema in which everything occurs, and others.
fn name() -> impl Strategy<Value = String> {
    let names =
        ["text", "set", "parts", "ports", "name", "port", "map", "nested", "x", "free", "any", "child", "color"];
    prop_oneof![prop::sample::select(names.to_vec()).prop_map(str::to_owned), ".{0,3}"]
}

fn fields_v1() -> impl Strategy<Value = Value> {
    let element = prop_oneof![
        name().prop_map(|name| format!("f:{name}")),
        prop::sample::select(vec!["f:spec", "f:free", "f:parts", "f:any"]).prop_map(str::to_owned),
        value().prop_map(|value| format!("v:{value}")),
        value().prop_map(|value| format!("k:{{\"name\":{value}}}")),
        value().prop_map(|value| format!("k:{value}")),
        any::<i64>().prop_map(|index| format!("i:{index}")),
        Just(".".to_owned()),
        ".{0,4}",
    ];
    let leaf = prop_oneof![8 => Just(json!({})), 1 => value()];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop::collection::btree_map(element.clone(), inner, 0..4)
            .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>()))
    })
}

fn managed_fields() -> impl Strategy<Value = Value> {
    let version =
        prop_oneof![6 => Just("example.dev/v1"), 1 => Just("example.dev/v2"), 1 => Just("a/b/c"), 1 => Just("")];
    let operation = prop_oneof![4 => Just("Apply"), 4 => Just("Update"), 1 => Just("x")];
    let entry = (fields_v1(), version, operation, "[ab]?").prop_map(|(fields, version, operation, manager)| {
        json!({
            "manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        })
    });
    prop_oneof![4 => prop::collection::vec(entry, 0..4).prop_map(Value::from), 1 => value()]
}

/// Mostly of the schema: what is free takes anything, and what is not is there now and then.
fn spec() -> impl Strategy<Value = Value> {
    let free = prop::collection::btree_map(name(), value(), 0..6);
    let part = ("[ab]", 0..3).prop_map(|(name, size)| json!({"name": name, "size": size}));
    let parts = prop::collection::vec(part, 0..4);
    let other = prop_oneof![6 => Just(None), 1 => (name(), value()).prop_map(Some)];
    (free, value(), parts, other).prop_map(|(free, any, parts, other)| {
        let mut spec = json!({"free": free, "any": any, "parts": parts});
        if let Some((name, value)) = other {
            spec[name] = value;
        }
        spec
    })
}

fn thing() -> impl Strategy<Value = Object> {
    (spec(), prop::option::of(managed_fields())).prop_map(|(spec, managed_fields)| {
        let mut thing = object(&json!({
            "apiVersion": "example.dev/v1", "kind": "Thing", "metadata": {"name": "n", "uid": "u"}, "spec": spec,
        }));
        if let Some(entries) = managed_fields {
            thing.metadata_mut().insert("managedFields".to_owned(), entries);
        }
        thing
    })
}

fn things() -> FieldManager {
    let schema = schema(&RECORDED["everything"][0]);
    let version = |version: &'static str| GroupVersion::new("example.dev", version);
    FieldManager::new(version("v1").kind("Thing"), &schema).with_status().with_version(version("v2"), &schema)
}

/// What was written can be understood, and is the same once large whole numbers have become floating ones.
fn check(written: &Object) {
    let again = |object: &Object| {
        let mut again = object.clone();
        Managed::decode(&entries(object).unwrap_or_default()).unwrap().encode(&mut again);
        again
    };
    let read_once = again(written);
    assert_eq!(again(&read_once), read_once);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn anything_can_be_tracked_or_refused(live in thing(), mut new in thing(), manager in "[ab]?") {
        let writer = Writer { manager: &manager, subresource: "", time: START };
        match things().track_update(Some(&live), &mut new, writer) {
            Ok(()) => check(&new),
            Err(_) => assert!(entries(&new).is_none()),
        }
    }

    #[test]
    fn anything_can_be_applied_or_refused(live in thing(), mut applied in thing(), manager in "[ab]?", force: bool) {
        applied.metadata_mut().remove("managedFields");
        let options = ApplyOptions { writer: Writer { manager: &manager, subresource: "", time: START }, force };
        if let Ok(result) = things().apply(Some(&live), &applied, options) {
            check(&result);
        }
    }
}
