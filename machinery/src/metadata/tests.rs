//! What Kubernetes says about the same metadata was recorded by `tests/oracle/metadata`.

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Deserialize)]
struct Record {
    texts: Vec<String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    new: Value,
    old: Option<Value>,
    scope: Option<String>,
    rule: Option<String>,
    errors: Vec<String>,
}

fn object(metadata: &Value) -> Object {
    Object::try_from(json!({"apiVersion": "v1", "kind": "Widget", "metadata": metadata})).unwrap()
}

fn create(metadata: Value, scope: Scope) -> Vec<String> {
    let mut errors = FieldErrors::default();
    validate_object_metadata(&object(&metadata), scope, NameRule::DnsSubdomain, &mut errors);
    errors.as_slice().iter().map(FieldError::to_string).collect()
}

/// As in the record, where Go's maps leave the order of errors of one field open.
fn list(errors: &FieldErrors, texts: &[String]) -> Vec<String> {
    let blocks = errors.as_slice().chunk_by(|a, b| a.field == b.field);
    let sorted = blocks.flat_map(|block| {
        let shorten = |error: &FieldError| {
            let known = texts.iter().enumerate();
            known.fold(error.to_string(), |text, (number, long)| text.replace(long, &format!("⟦{number}⟧")))
        };
        let mut block: Vec<String> = block.iter().map(shorten).collect();
        block.sort();
        block
    });
    sorted.collect()
}

#[test]
fn metadata_is_judged_as_kubernetes_judges_it() {
    let record: Record = serde_json::from_str(include_str!("../../../tests/data/go/metadata.json")).unwrap();
    assert!(record.cases.len() >= 500);
    for case in &record.cases {
        let mut errors = FieldErrors::default();
        match &case.old {
            Some(old) => validate_object_metadata_update(&object(&case.new), &object(old), &mut errors),
            None => {
                let scope = match case.scope.as_deref().unwrap() {
                    "Namespaced" => Scope::Namespaced,
                    _ => Scope::Cluster,
                };
                let rule = match case.rule.as_deref().unwrap() {
                    "DnsSubdomain" => NameRule::DnsSubdomain,
                    "DnsLabel" => NameRule::DnsLabel,
                    "Dns1035Label" => NameRule::Dns1035Label,
                    _ => NameRule::PathSegment,
                };
                validate_object_metadata(&object(&case.new), scope, rule, &mut errors);
            }
        }
        assert_eq!(list(&errors, &record.texts), case.errors, "{} over {:?}", case.new, case.old);
    }
}

#[test]
fn annotations_have_a_limit_together() {
    let of = |bytes: usize| json!({"name": "a", "annotations": {"note": "x".repeat(bytes - 4), "n": ""}});
    assert_eq!(create(of(MAX_ANNOTATIONS_BYTES - 1), Scope::Cluster), [""; 0]);
    let too_long = "metadata.annotations: Too long: may not be more than 262144 bytes";
    assert_eq!(create(of(MAX_ANNOTATIONS_BYTES), Scope::Cluster), [too_long]);
}

#[test]
fn field_managers_have_a_limit() {
    let check = |manager: &str| {
        let mut errors = FieldErrors::default();
        validate_field_manager(manager, &FieldPath::new("fieldManager"), &mut errors);
        errors.to_string()
    };
    assert_eq!(check(&"m".repeat(128)), "[]");
    assert_eq!(check(&"m".repeat(129)), "fieldManager: Too long: may not be more than 128 bytes");
}

#[test]
fn a_flood_of_errors_is_cut_short() {
    let labels: serde_json::Map<String, Value> = (0..100_000).map(|i| (format!("!{i}"), json!("!"))).collect();
    let errors = create(json!({"name": "a", "labels": labels, "annotations": labels}), Scope::Cluster);
    assert!((MAX_ERRORS..MAX_ERRORS + 10).contains(&errors.len()), "{}", errors.len());

    let owner =
        |i: usize| json!({"apiVersion": "v1", "kind": "K", "name": format!("n{i}"), "uid": "u", "controller": true});
    let owners = |count| {
        create(json!({"name": "a", "ownerReferences": (0..count).map(owner).collect::<Vec<_>>()}), Scope::Cluster)
    };
    assert_eq!(owners(50).len(), 49);
    let errors = owners(20_000);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].starts_with("metadata.ownerReferences: Invalid value: 20000: Only one"), "{}", errors[0]);

    let errors = create(
        json!({"name": "a", "managedFields": [{"operation": "Apply", "manager": "\n".repeat(1_000_000)}]}),
        Scope::Cluster,
    );
    assert!(errors.iter().map(String::len).sum::<usize>() < 8 * 1024 * 1024);
}

proptest! {
    #[test]
    fn no_metadata_is_a_surprise(texts in proptest::collection::vec(any::<String>(), 8)) {
        let [name, base, key, value, finalizer, kind, manager, version] = texts.try_into().unwrap();
        let metadata = json!({
            "name": name, "generateName": base, "namespace": value, "labels": {key.clone(): value}, "annotations": {key: name},
            "finalizers": [finalizer], "managedFields": [{"manager": manager, "operation": kind}],
            "ownerReferences": [{"apiVersion": version, "kind": kind, "name": name, "uid": base, "controller": true}],
        });
        create(metadata, Scope::Namespaced);
    }
}
