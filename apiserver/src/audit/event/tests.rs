use std::time::Duration;

use bailiwick_machinery::GroupResource;
use serde_json::json;

use super::*;

#[test]
fn times_have_microseconds() {
    let check = |time, expected: &str| assert_eq!(timestamp(time), expected);
    check(UNIX_EPOCH, "1970-01-01T00:00:00.000000Z");
    check(UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789), "2023-11-14T22:13:20.123456Z");
}

#[test]
fn long_user_agents_are_cut() {
    assert_eq!(user_agent("kubectl"), "kubectl");
    assert_eq!(user_agent(&"x".repeat(1_024)), "x".repeat(1_024));
    assert_eq!(user_agent(&"x".repeat(1_025)), format!("{}...TRUNCATED", "x".repeat(1_024)));
}

#[test]
fn a_status_is_told_with_its_code() {
    let status = Status::not_found(&GroupResource::new("g", "things"), "a");
    let told = json!(ResponseStatus::of_status(&status, 404));
    let message = "things.g \"a\" not found";
    let details = json!({"name": "a", "group": "g", "kind": "things"});
    assert_eq!(
        told,
        json!({"metadata": {}, "status": "Failure", "message": message, "reason": "NotFound", "details": details, "code": 404})
    );
    let silent = json!(ResponseStatus::of_status(&status, 404).without_words());
    assert_eq!(silent, json!({"metadata": {}, "status": "Failure", "reason": "NotFound", "code": 404}));
    assert_eq!(json!(ResponseStatus::of_code(200)), json!({"metadata": {}, "code": 200}));
}

#[test]
fn owners_of_fields_are_left_out_wherever_they_are() {
    let object = || json!({"metadata": {"name": "a", "managedFields": [1]}});
    let without = json!({"metadata": {"name": "a"}});
    for (mut given, expected) in [
        (object(), without.clone()),
        (json!({"metadata": {}, "items": [object()]}), json!({"metadata": {}, "items": [without.clone()]})),
        (json!({"rows": [{"object": object()}, {}]}), json!({"rows": [{"object": without}, {}]})),
        (json!([1]), json!([1])),
    ] {
        remove_managed_fields(&mut given);
        assert_eq!(given, expected);
    }
}
