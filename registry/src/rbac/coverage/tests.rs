use serde_json::{Value, json};

use super::*;

fn covered(held: Value, wanted: Value) -> bool {
    let rule = |value: Value| -> PolicyRule { serde_json::from_value(value).unwrap() };
    uncovered(&[&rule(held)], &[rule(wanted)]).is_empty()
}

fn pods(resource: &str, names: &[&str]) -> Value {
    json!({ "verbs": ["get"], "apiGroups": [""], "resources": [resource], "resourceNames": names })
}

/// A right to some objects is none to others, nor to all.
#[test]
fn names_are_covered_by_the_same_names_or_by_none() {
    assert!(covered(pods("pods", &["a", "b"]), pods("pods", &["b"])));
    assert!(covered(pods("pods", &[]), pods("pods", &["b"])));
    assert!(!covered(pods("pods", &["a"]), pods("pods", &["b"])));
    assert!(!covered(pods("pods", &["a"]), pods("pods", &[])));
}

#[test]
fn what_lies_below_is_covered_by_itself_or_by_its_like_everywhere() {
    assert!(covered(pods("pods/log", &[]), pods("pods/log", &[])));
    assert!(covered(pods("*/log", &[]), pods("pods/log", &[])));
    assert!(covered(pods("*", &[]), pods("pods/log", &[])));
    assert!(!covered(pods("*/log", &[]), pods("pods/exec", &[])));
    assert!(!covered(pods("pods", &[]), pods("pods/log", &[])));
    assert!(!covered(pods("*/log", &[]), pods("pods", &[])));
    assert!(!covered(pods("services", &[]), pods("pods", &[])));
}

#[test]
fn paths_are_covered_by_rules_without_names() {
    let path = |verb: &str, path: &str, names: &[&str]| json!({ "verbs": [verb], "nonResourceURLs": [path], "resourceNames": names });
    assert!(covered(path("get", "/a*", &[]), path("get", "/a/b", &[])));
    assert!(!covered(path("get", "/a*", &["n"]), path("get", "/a/b", &[])));
    assert!(!covered(path("post", "/a*", &[]), path("get", "/a/b", &[])));
    assert!(!covered(path("get", "/b", &[]), path("get", "/a/b", &[])));
}
