use serde_json::json;

use super::*;

const LEEWAY: Duration = Duration::from_secs(60);

fn payload() -> Value {
    json!({
        "iss": "https://here", "aud": ["api", "vault"], "jti": "7", "exp": 3_000, "nbf": 2_000, "iat": 2_000,
        "kubernetes.io": { "namespace": "shop", "serviceaccount": { "name": "bot", "uid": "u" } },
    })
}

/// What is read where something stands otherwise.
fn read(pointer: &str, value: Value) -> Result<Claims, TokenError> {
    let mut payload = payload();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let parent = payload.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Value::Null => drop(parent.remove(field)),
        value => drop(parent.insert(field.to_owned(), value)),
    }
    Claims::read(payload.as_object().unwrap())
}

/// S-05: a token that does not say of whom it speaks, or how long it lasts, or what it is bound to, is none.
#[test]
fn what_must_be_said_is_missed() {
    for (pointer, value, claim) in [
        ("/kubernetes.io", Value::Null, "kubernetes.io"),
        ("/kubernetes.io/namespace", Value::Null, "namespace"),
        ("/kubernetes.io/namespace", json!(""), "namespace"),
        ("/kubernetes.io/serviceaccount", Value::Null, "serviceaccount"),
        ("/kubernetes.io/serviceaccount", json!({ "name": "bot" }), "serviceaccount"),
        ("/kubernetes.io/serviceaccount", json!({ "name": "", "uid": "u" }), "serviceaccount"),
        ("/exp", Value::Null, "exp"),
        ("/exp", json!("3000"), "exp"),
        ("/kubernetes.io/secret", json!({ "name": "lease" }), "secret"),
        ("/kubernetes.io/pod", json!("p"), "pod"),
        ("/kubernetes.io/node", json!({ "name": "n", "uid": "" }), "node"),
    ] {
        let error = read(pointer, value.clone()).map(|claims| format!("{claims:?}")).unwrap_err();
        assert!(error.0.ends_with(&format!("claim \"{claim}\"")), "{pointer} {value}: {error}");
    }
    let unbound = read("/kubernetes.io/pod", Value::Null).unwrap();
    assert_eq!(unbound.bound().count(), 0);
}

#[test]
fn audiences_are_one_or_many_or_none() {
    assert_eq!(read("/jti", json!("7")).unwrap().audiences, ["api", "vault"]);
    assert_eq!(read("/aud", json!("api")).unwrap().audiences, ["api"]);
    assert_eq!(read("/aud", json!(7)).unwrap().audiences, [""; 0]);
}

/// S-05: tokens count from when they are issued until they end, for clocks that differ a little.
#[test]
fn time_is_looked_at() {
    let claims = Claims::read(payload().as_object().unwrap()).unwrap();
    for (now, counts) in [(1_939, false), (1_940, true), (2_500, true), (3_060, true), (3_061, false)] {
        assert_eq!(claims.check_time(now, LEEWAY).is_ok(), counts, "{now}");
    }
    for (claim, why) in [("/nbf", "is not valid yet"), ("/iat", "is issued in the future")] {
        let claims = read(claim, json!(2_800)).unwrap();
        assert_eq!(claims.check_time(2_739, LEEWAY), Err(TokenError(format!("service account token {why}"))));
        assert_eq!(claims.check_time(2_740, LEEWAY), Ok(()));
    }
}

#[test]
fn the_user_is_who_kubernetes_would_say() {
    let user = Claims::read(payload().as_object().unwrap()).unwrap().user();
    assert_eq!((user.name.as_str(), user.uid.as_str()), ("system:serviceaccount:shop:bot", "u"));
    assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:shop"]);
    assert_eq!(user.extra, BTreeMap::from([(CREDENTIAL_ID.to_owned(), vec!["JTI=7".to_owned()])]));
    assert_eq!(read("/jti", Value::Null).unwrap().user().extra, BTreeMap::new());

    let node = read("/kubernetes.io/node", json!({ "name": "n", "uid": "2" })).unwrap();
    let told: Vec<(&str, &str)> = node
        .bound()
        .map(|(plural, kind, Reference { name, .. })| (kind, if plural == "nodes" { name } else { plural }))
        .collect();
    assert_eq!(told, [("node", "n")]);
    let extra = node.user().extra;
    assert_eq!(extra["authentication.kubernetes.io/node-name"], ["n"]);
    assert_eq!(extra["authentication.kubernetes.io/node-uid"], ["2"]);
}

/// The node that a pod is on comes and goes without the token, which is bound to the pod.
#[test]
fn the_node_of_a_pod_is_only_told() {
    let mut payload = payload();
    payload["kubernetes.io"]["pod"] = json!({ "name": "p", "uid": "1" });
    payload["kubernetes.io"]["node"] = json!({ "name": "n", "uid": "2" });
    payload["kubernetes.io"]["secret"] = json!({ "name": "s", "uid": "3" });
    let claims = Claims::read(payload.as_object().unwrap()).unwrap();
    let bound: Vec<(&str, &str)> = claims.bound().map(|(plural, _, reference)| (plural, &*reference.uid)).collect();
    assert_eq!(bound, [("secrets", "3"), ("pods", "1")]);
    let extra = claims.user().extra;
    assert_eq!(extra["authentication.kubernetes.io/pod-name"], ["p"]);
    assert_eq!(extra["authentication.kubernetes.io/node-name"], ["n"]);
}
