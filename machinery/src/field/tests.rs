//! The texts are those of apimachinery's `field.Error`.

use serde_json::json;

use super::*;

fn at(name: &str) -> FieldPath {
    FieldPath::new("spec").child(name)
}

#[track_caller]
fn check(error: FieldError, cause: &str, expected: &str) {
    assert_eq!(error.kind.cause(), cause);
    assert_eq!(error.to_string(), expected);
}

#[test]
fn paths() {
    let path = FieldPath::root().child("spec").child("parts").index(2).child("labels").key("example.dev/x");
    assert_eq!(path.to_string(), "spec.parts[2].labels[example.dev/x]");
}

#[test]
fn texts() {
    check(FieldError::required(at("a"), ""), "FieldValueRequired", "spec.a: Required value");
    check(FieldError::required(at("a"), "say it"), "FieldValueRequired", "spec.a: Required value: say it");
    check(
        FieldError::invalid(at("a"), -1, "should be greater than or equal to 0"),
        "FieldValueInvalid",
        "spec.a: Invalid value: -1: should be greater than or equal to 0",
    );
    check(FieldError::invalid(at("a"), "x\"y", "no"), "FieldValueInvalid", "spec.a: Invalid value: \"x\\\"y\": no");
    check(
        FieldError::invalid(at("a"), json!({"b": [1, null]}), "no"),
        "FieldValueInvalid",
        "spec.a: Invalid value: {\"b\":[1,null]}: no",
    );
    check(FieldError::type_invalid(at("a"), "x", "no"), "FieldValueTypeInvalid", "spec.a: Invalid value: \"x\": no");
    check(FieldError::duplicate(at("a"), "x"), "FieldValueDuplicate", "spec.a: Duplicate value: \"x\"");
    check(FieldError::not_found(at("a"), "x"), "FieldValueNotFound", "spec.a: Not found: \"x\"");
    check(
        FieldError::not_supported(at("a"), "x", &["b", "c"]),
        "FieldValueNotSupported",
        "spec.a: Unsupported value: \"x\": supported values: \"b\", \"c\"",
    );
    check(FieldError::forbidden(at("a"), "not now"), "FieldValueForbidden", "spec.a: Forbidden: not now");
    check(FieldError::too_long(at("a"), 63), "FieldValueTooLong", "spec.a: Too long: may not be more than 63 bytes");
    check(
        FieldError::too_many(at("a"), 11, 10),
        "FieldValueTooMany",
        "spec.a: Too many: 11: must have at most 10 items",
    );
}

#[test]
fn several_errors_are_told_together_and_once() {
    let mut errors = FieldErrors::default();
    assert!(errors.clone().into_result().is_ok());
    errors.push(FieldError::required(at("a"), ""));
    assert_eq!(errors.to_string(), "spec.a: Required value");
    errors.push(FieldError::forbidden(at("b"), "no"));
    errors.push(FieldError::required(at("a"), ""));
    assert_eq!(errors.to_string(), "[spec.a: Required value, spec.b: Forbidden: no]");
    assert_eq!(errors.as_slice().len(), 3);
}

#[test]
fn errors_are_bounded_and_none_is_forgotten() {
    let errors = |count: usize| {
        let mut errors = FieldErrors::default();
        errors.extend((0..count).map(|n| FieldError::required(FieldPath::new("list").index(n), "")));
        errors
    };
    assert!(errors(MAX_FIELD_ERRORS).to_string().ends_with("list[999]: Required value]"));
    let many = errors(MAX_FIELD_ERRORS + 5);
    assert_eq!(many.as_slice().len(), MAX_FIELD_ERRORS);
    assert!(many.to_string().ends_with("list[999]: Required value, and 5 more]"));
}

#[test]
fn quotes() {
    assert_eq!(go::quote("a\"b\\c\n\t\r\u{7}\u{1}\u{85}é☃"), "\"a\\\"b\\\\c\\n\\t\\r\\a\\x01\\u0085é☃\"");
    let invisible = "\u{a0}\u{200b}\u{202e}\u{feff}\u{e000}\u{e0001}";
    assert_eq!(go::quote(invisible), "\"\\u00a0\\u200b\\u202e\\ufeff\\ue000\\U000e0001\"");
    assert_eq!(go::quote("\u{301}e\u{301}\u{fffd} 😀"), "\"\u{301}e\u{301}\u{fffd} 😀\"");
}

#[test]
fn values_are_shown_as_go_writes_json() {
    assert_eq!(
        go::json_of(&json!(["<a>&", "\u{2028}\u{1}\u{8}é\"", null, -1])),
        r#"["\u003ca\u003e\u0026","\u2028\u0001\bé\"",null,-1]"#
    );
    check(
        FieldError::invalid(at("a"), json!(["<"]), "no"),
        "FieldValueInvalid",
        "spec.a: Invalid value: [\"\\u003c\"]: no",
    );
    check(FieldError::invalid_json(at("a"), &"<", "no"), "FieldValueInvalid", "spec.a: Invalid value: \"\\u003c\": no");
}
