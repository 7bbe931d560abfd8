use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check(status: Value, wanted: &[&str], expected: Result<Option<&str>, &str>) {
    let wanted: Vec<String> = wanted.iter().map(|&audience| audience.to_owned()).collect();
    let found = owner(serde_json::from_value(status.clone()).unwrap(), &wanted);
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(found.map(|owner| owner.user.name).as_deref(), expected, "{status}");
        }
        (Err(found), Err(expected)) => assert!(found.0.contains(expected), "{status}: {found}"),
        (found, expected) => panic!("{status}: {found:?} instead of {expected:?}"),
    }
}

/// S-05: that an answer came does not mean that it names someone.
#[test]
fn only_a_complete_answer_names_an_owner() {
    check(json!({"authenticated": true, "user": {"username": "ann"}}), &[], Ok(Some("ann")));
    check(json!({}), &[], Ok(None));
    check(json!({"authenticated": false}), &[], Ok(None));
    check(json!({"authenticated": false, "user": {"username": "ann"}}), &[], Ok(None));
    check(json!({"authenticated": false, "error": "unknown"}), &[], Ok(None));
    check(json!({"user": {"username": "ann"}}), &[], Ok(None));
    check(json!({"authenticated": true}), &[], Err("nobody"));
    check(json!({"authenticated": true, "user": {"username": ""}}), &[], Err("nobody"));
    check(json!({"authenticated": true, "user": {"groups": ["system:masters"]}}), &[], Err("nobody"));
    check(json!({"authenticated": true, "error": "odd", "user": {"username": "ann"}}), &[], Err("odd"));
}

#[test]
fn a_token_is_for_one_of_the_audiences() {
    let known = |audiences: Value| json!({"authenticated": true, "user": {"username": "ann"}, "audiences": audiences});
    check(known(json!(["a", "b"])), &["b", "c"], Ok(Some("ann")));
    check(known(json!(["a", "b"])), &["c"], Ok(None));
    check(known(json!([])), &["c"], Ok(None));
    check(json!({"authenticated": true, "user": {"username": "ann"}}), &["c"], Ok(None));
    check(known(json!(["a"])), &[], Ok(Some("ann")));
}
