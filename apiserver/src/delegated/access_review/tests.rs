use bailiwick_registry::{ResourceAttributes as Resource, User};
use serde_json::{Value, json};

use super::*;

fn user() -> User {
    User {
        name: "ann".to_owned(),
        uid: "7".to_owned(),
        groups: vec!["devs".to_owned()],
        extra: [("scopes".to_owned(), vec!["read".to_owned()])].into(),
        ..User::default()
    }
}

#[track_caller]
fn check(user: &User, verb: &str, target: AuthorizationTarget<'_>, expected: &Value) {
    let spec = spec(&Attributes { user, verb, target });
    assert_eq!(serde_json::to_value(spec).unwrap(), *expected);
}

#[test]
fn a_question_says_all_that_is_known_and_nothing_else() {
    let resource = Resource {
        group: "catalog.bailiwick.dev",
        version: "v1alpha1",
        resource: "resourcecatalogclaims",
        subresource: "status",
        namespace: "shop",
        name: "hammer",
        ..Resource::default()
    };
    let who = json!({"user": "ann", "uid": "7", "groups": ["devs"], "extra": {"scopes": ["read"]}});
    let with = |key: &str, attributes: Value| {
        let mut spec = who.clone();
        spec[key] = attributes;
        spec
    };
    let attributes = json!({
        "group": "catalog.bailiwick.dev", "version": "v1alpha1", "resource": "resourcecatalogclaims",
        "subresource": "status", "namespace": "shop", "name": "hammer", "verb": "update"
    });
    check(&user(), "update", AuthorizationTarget::Resource(resource), &with("resourceAttributes", attributes));
    let path = json!({"path": "/metrics", "verb": "get"});
    check(&user(), "get", AuthorizationTarget::Path("/metrics"), &with("nonResourceAttributes", path));
    let nobody = User { name: "x".to_owned(), ..User::default() };
    let expected = json!({"user": "x", "nonResourceAttributes": {"path": "/", "verb": "get"}});
    check(&nobody, "get", AuthorizationTarget::Path("/"), &expected);
}

#[test]
fn selectors_are_part_of_the_question_where_they_can_be_told() {
    let resource = Resource {
        resource: "groups",
        field_selector: "metadata.name=a",
        label_selector: "tier in (gold,silver),!old",
        ..Resource::default()
    };
    let expected = json!({"user": "x", "resourceAttributes": {
        "resource": "groups", "verb": "list",
        "fieldSelector": {"requirements": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]},
        "labelSelector": {"requirements": [
            {"key": "old", "operator": "DoesNotExist"},
            {"key": "tier", "operator": "In", "values": ["gold", "silver"]}
        ]}
    }});
    let nobody = User { name: "x".to_owned(), ..User::default() };
    check(&nobody, "list", AuthorizationTarget::Resource(resource), &expected);
    let unreadable = Resource { resource: "groups", label_selector: "a in", ..Resource::default() };
    let broader = json!({"user": "x", "resourceAttributes": {"resource": "groups", "verb": "list"}});
    check(&nobody, "list", AuthorizationTarget::Resource(unreadable), &broader);
}

#[test]
fn an_answer_decides_only_if_it_is_clear() {
    let decide = |status: Value| decision(serde_json::from_value(status).unwrap());
    assert_eq!(decide(json!({"allowed": true, "reason": "r"})), Ok(Decision::Allow("r".to_owned())));
    assert_eq!(decide(json!({"allowed": false, "denied": true})), Ok(Decision::Deny(String::new())));
    assert_eq!(decide(json!({"allowed": false, "reason": "r"})), Ok(Decision::NoOpinion("r".to_owned())));
    assert!(decide(json!({"allowed": true, "denied": true})).is_err());
    assert_eq!(decision(SubjectAccessReviewStatus::default()), Ok(Decision::NoOpinion(String::new())));
}
