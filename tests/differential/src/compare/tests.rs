use serde_json::json;

use super::*;

fn check(left: &Value, right: &Value, expected: &[&str]) {
    let places: Vec<String> = places(left, right).into_iter().map(|(place, ..)| place).collect();
    assert_eq!(places, expected);
}

#[test]
fn every_place_that_differs_is_found() {
    check(&json!({"a": [1, {"b": 2}]}), &json!({"a": [1, {"b": 2}]}), &[]);
    check(&json!({"a": [1, {"b": 2}]}), &json!({"a": [1, {"b": 3}]}), &["a[1].b"]);
    check(&json!({"a": 1, "b": 2}), &json!({"b": 3, "c": {"d": 4}}), &["a", "b", "c"]);
    check(&json!([1, 2]), &json!([1]), &["[1]"]);
    check(&json!({"a": null}), &json!({}), &["a"]);
    check(&json!({"a": 1}), &json!({"a": 1.0}), &["a"]);
    check(&json!({"a": {}}), &json!({"a": []}), &["a"]);
}

#[test]
fn a_difference_is_shown_with_both_sides() {
    let difference = Difference {
        step: "create/a/1".to_owned(),
        title: "GET /".to_owned(),
        place: "status".to_owned(),
        left: Some(json!(200)),
        right: None,
    };
    assert_eq!(difference.to_string(), "  status\n    - 200\n    + (nothing)\n");
    let long = Difference { left: Some("ä".repeat(1000).into()), ..difference };
    assert!(long.to_string().contains("… (2002 bytes)"), "{long}");
}
