use bailiwick_machinery::{FieldErrors, Object};
use k8s_openapi::api::authorization::v1::SubjectAccessReviewSpec;
use serde_json::{Value, json};

use super::selectors::Selectors;
use super::validation;

fn spec(json: Value) -> SubjectAccessReviewSpec {
    serde_json::from_value(json).expect("a spec")
}

fn problems(json: Value) -> Vec<String> {
    let mut errors = FieldErrors::default();
    validation::subject(&spec(json), &mut errors);
    errors.as_slice().iter().map(ToString::to_string).collect()
}

#[test]
fn a_question_is_about_someone_and_one_thing() {
    assert_eq!(problems(json!({"user": "u", "resourceAttributes": {"verb": "get"}})), Vec::<String>::new());
    assert_eq!(problems(json!({"groups": ["g"], "nonResourceAttributes": {"path": "/"}})), Vec::<String>::new());
    assert_eq!(
        problems(json!({})),
        [
            "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            "spec.user: Invalid value: \"\": at least one of user or group must be specified",
        ]
    );
    assert_eq!(
        problems(
            json!({"user": "u", "resourceAttributes": {}, "nonResourceAttributes": {"path": "/a", "verb": "get"}})
        ),
        [
            "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/a\",\"Verb\":\"get\"}: cannot be specified in combination with resourceAttributes"
        ]
    );
}

#[test]
fn metadata_is_refused_except_what_is_expected() {
    let check = |metadata: Value, except: &[&str]| {
        let sent = Object::new(json!({ "metadata": metadata }).as_object().cloned().unwrap_or_default());
        let mut errors = FieldErrors::default();
        validation::metadata(&sent, except, "must be empty", &mut errors);
        errors.as_slice().len()
    };
    assert_eq!(check(json!({}), &[]), 0);
    assert_eq!(check(json!({"managedFields": []}), &[]), 0);
    assert_eq!(check(json!({"name": "x"}), &[]), 1);
    assert_eq!(check(json!({"namespace": "x"}), &["namespace"]), 0);
}

#[test]
fn selectors_are_read_as_far_as_they_can_be() {
    let read = |attributes: Value| {
        let attributes = spec(json!({ "resourceAttributes": attributes })).resource_attributes.expect("attributes");
        let Selectors { field, label, problems } =
            Selectors::read(attributes.field_selector, attributes.label_selector);
        (field, label, problems)
    };
    assert_eq!(
        read(json!({"fieldSelector": {"rawSelector": "a=b"}, "labelSelector": {"rawSelector": "c in (d)"}})),
        ("a=b".to_owned(), "c in (d)".to_owned(), Vec::new())
    );
    let whole = json!({"key": "a", "operator": "NotIn", "values": ["b"]});
    let unknown = json!({"key": "a", "operator": "Like", "values": ["b"]});
    assert_eq!(read(json!({"fieldSelector": {"requirements": [whole]}})).0, "a!=b");
    assert_eq!(
        read(json!({"fieldSelector": {"requirements": [whole, unknown]}})).2,
        ["spec.resourceAttributes.fieldSelector partially ignored due to parse error"]
    );
    assert_eq!(
        read(json!({"labelSelector": {"requirements": [unknown]}})).2,
        ["spec.resourceAttributes.labelSelector ignored due to parse error"]
    );
    assert_eq!(
        read(json!({"labelSelector": {"rawSelector": "((("}})).2,
        ["spec.resourceAttributes.labelSelector ignored due to parse error"]
    );
}
