use serde_json::json;

use super::*;

/// Each step is stopped when it has led to more values than are looked at, not when it has gathered all of them: from ten
/// thousand values, one step could lead to many millions.
#[test]
fn a_step_gathers_no_more_than_is_looked_at() {
    let list = json!(vec![0; 100]);
    let values = || vec![&list; MAX_VALUES];
    let items = || Slice { from: None, to: SliceEnd::Open, every: None };
    let itself = || JsonPath(Vec::new());
    for step in [
        Step::All,
        Step::Below,
        Step::Items(items()),
        Step::Where(Filter { left: itself(), test: None }),
        Step::Union((0..1_000).map(|_| itself()).collect()),
        Step::Union((0..1_000).map(|_| JsonPath(vec![Step::Items(items())])).collect()),
    ] {
        let found = step.follow(values());
        assert!(found.values.len() <= MAX_VALUES + 1, "{step:?} has led to {}", found.values.len());
        assert!(found.failed || step == Step::Below || is_too_much(&found.values), "{step:?}");
        let path = JsonPath(vec![step]);
        assert_eq!(path.follow(values()).failed, path.0 != [Step::Below], "{path:?}");
    }
}

#[test]
fn as_many_as_are_looked_at_are_found() {
    let list = json!(vec![json!([7]); MAX_VALUES]);
    let each = JsonPath(vec![Step::All, Step::All]);
    assert_eq!(each.first(&list), Some(&json!(7)));
}
