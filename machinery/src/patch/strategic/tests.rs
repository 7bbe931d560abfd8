use std::sync::LazyLock;

use serde_json::json;

use super::*;
use crate::group::GroupVersion;

/// What `tests/oracle/hostpatch` has recorded.
static RECORDED: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../../tests/data/go/host-patch.json")).expect("what was recorded is JSON")
});

fn text(value: &Value) -> &str {
    value.as_str().expect("it is a text")
}

fn host_type(api_version: &str, kind: &str) -> HostType {
    let version = GroupVersion::parse(api_version).expect("it is a version");
    HostType::of(&version.kind(kind.to_owned())).expect("the kind is known")
}

fn apply(host_type: HostType, object: &Value, patch: &Value) -> std::result::Result<Value, PatchError> {
    let patch = StrategicPatch::decode(patch.to_string().as_bytes())?;
    patch.apply(host_type, object.as_object().expect("it is an object")).map(Value::Object)
}

#[test]
fn patches_do_what_upstream_makes_of_them() {
    for case in RECORDED["cases"].as_array().unwrap() {
        let document = &RECORDED["documents"][case[0].as_u64().unwrap() as usize];
        let host_type = host_type(text(&document[0]), text(&document[1]));
        match (apply(host_type, &document[2], &case[1]), text(&case[3])) {
            (Ok(result), "") => assert_eq!(result, case[2], "{case} {document}"),
            (Err(PatchError::Strategic(StrategicError::Incomparable)), error) => assert_eq!(error, "panic", "{case}"),
            (Err(found), error) => assert_eq!(found.to_string(), error, "{case} {document}"),
            (Ok(result), _) => panic!("{case} {document} gave {result}"),
        }
    }
}

#[test]
fn long_lists_take_little_time() {
    let containers = |count: usize| -> Value { (0..count).map(|n| json!({"name": format!("c{n}")})).collect() };
    let pod = |count: usize| json!({"template": {"spec": {"containers": containers(count)}}});
    let host_type = host_type("v1", "PodTemplate");
    assert!(apply(host_type, &pod(1_000), &pod(1_000)).is_ok());
    let result = apply(host_type, &pod(20_000), &pod(20_000));
    assert_eq!(result, Err(PatchError::Strategic(StrategicError::TooMuchWork)));
}

#[test]
fn what_cannot_be_stored_is_refused() {
    let mut deep = json!({"x": "y"});
    for _ in 0..MAX_DEPTH {
        deep = json!({ "a": deep });
    }
    let error = apply(host_type("v1", "ConfigMap"), &json!({}), &json!({ "data": deep })).unwrap_err();
    assert!(
        matches!(error, PatchError::Strategic(StrategicError::Malformed(_)) | PatchError::ResultTooDeep),
        "{error}"
    );
    let half = "x".repeat(MAX_RESULT / 2);
    let object = json!({"data": {"a": half}});
    let patch = json!({"data": {"b": half}});
    assert_eq!(apply(host_type("v1", "ConfigMap"), &object, &patch), Err(PatchError::ResultTooLarge));
}
