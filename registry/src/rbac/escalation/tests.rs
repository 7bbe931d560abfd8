use async_trait::async_trait;
use serde_json::{Value, json};

use super::*;
use crate::authorization::AuthorizationError;
use crate::rbac::{LivePolicy, RoleSource};
use crate::rbac::{PolicyObject, Rbac};

/// Cannot say anything.
struct Broken;

#[async_trait]
impl Authorizer for Broken {
    async fn authorize(&self, _: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        Err(AuthorizationError("broken".to_owned()))
    }
}

fn rule(value: Value) -> PolicyRule {
    serde_json::from_value(value).unwrap()
}

/// User `u` has these rules everywhere, and in namespace `n` the others too.
fn held(everywhere: Value, in_n: Value) -> (Rbac, std::sync::Arc<Policy>) {
    let objects = [
        PolicyObject::ClusterRole(
            serde_json::from_value(json!({ "metadata": { "name": "c" }, "rules": everywhere })).unwrap(),
        ),
        PolicyObject::ClusterRole(
            serde_json::from_value(json!({ "metadata": { "name": "big" }, "rules": [pods("*")] })).unwrap(),
        ),
        PolicyObject::Role(
            serde_json::from_value(json!({ "metadata": { "name": "r", "namespace": "n" }, "rules": in_n })).unwrap(),
        ),
        PolicyObject::ClusterRoleBinding(
            serde_json::from_value(json!({
                "metadata": { "name": "cb" },
                "roleRef": { "kind": "ClusterRole", "name": "c" },
                "subjects": [{ "kind": "User", "name": "u" }],
            }))
            .unwrap(),
        ),
        PolicyObject::RoleBinding(
            serde_json::from_value(json!({
                "metadata": { "name": "rb", "namespace": "n" },
                "roleRef": { "kind": "Role", "name": "r" },
                "subjects": [{ "kind": "User", "name": "u" }],
            }))
            .unwrap(),
        ),
    ];
    let live = LivePolicy::default();
    live.replace(objects.into_iter().collect());
    let policy = live.policy();
    (Rbac::new(std::sync::Arc::new(live)), policy)
}

fn pods(verb: &str) -> Value {
    json!({ "verbs": [verb], "apiGroups": [""], "resources": ["pods"] })
}

fn user(groups: &[&str]) -> User {
    let groups = groups.iter().map(|&group| group.to_owned()).collect();
    User { name: "u".to_owned(), groups, ..User::default() }
}

fn role_write<'a>(namespace: &'a str, rules: &'a [PolicyRule]) -> RoleWrite<'a> {
    let resource = if namespace.is_empty() { "clusterroles" } else { "roles" };
    RoleWrite { resource, namespace, name: "x", rules, aggregates: false }
}

fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: Some(GROUP.to_owned()), kind: kind.to_owned(), name: name.to_owned() }
}

#[tokio::test]
async fn rights_are_given_by_those_who_hold_them() {
    let (rbac, policy) = held(json!([pods("get")]), json!([pods("list")]));
    let (get, list) = ([rule(pods("get"))], [rule(pods("list"))]);
    assert_eq!(check_role(&rbac, &policy, &user(&[]), &role_write("n", &get)).await, Ok(()));
    assert_eq!(check_role(&rbac, &policy, &user(&[]), &role_write("n", &list)).await, Ok(()));
    assert_eq!(check_role(&rbac, &policy, &user(&[]), &role_write("", &get)).await, Ok(()));
    let refused = check_role(&rbac, &policy, &user(&["g"]), &role_write("", &list)).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "user \"u\" (groups=[\"g\"]) is attempting to grant RBAC permissions not currently held:\n\
         {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}"
    );
    assert!(check_role(&rbac, &policy, &user(&["g"]), &role_write("m", &list)).await.is_err());
}

#[tokio::test]
async fn masters_may_give_anything() {
    let (_, policy) = held(json!([]), json!([]));
    let rules = [rule(pods("*"))];
    let masters = user(&["system:masters"]);
    assert_eq!(check_role(&Broken, &policy, &masters, &role_write("", &rules)).await, Ok(()));
    assert_eq!(check_binding(&Broken, &policy, &masters, &role_ref("ClusterRole", "big"), "").await, Ok(()));
}

#[tokio::test]
async fn who_may_escalate_a_role_may_write_it() {
    let escalate =
        json!([{ "verbs": ["escalate"], "apiGroups": [GROUP], "resources": ["roles"], "resourceNames": ["x"] }]);
    let (rbac, policy) = held(json!([]), escalate);
    let rules = [rule(pods("*"))];
    assert_eq!(check_role(&rbac, &policy, &user(&[]), &role_write("n", &rules)).await, Ok(()));
    assert!(check_role(&rbac, &policy, &user(&[]), &role_write("m", &rules)).await.is_err());
    assert!(check_role(&rbac, &policy, &user(&[]), &role_write("", &rules)).await.is_err());
    let other = RoleWrite { name: "", ..role_write("n", &rules) };
    assert!(check_role(&rbac, &policy, &user(&[]), &other).await.is_err());
    assert!(
        check_role(&Broken, &policy, &user(&[]), &role_write("n", &rules)).await.is_err(),
        "no answer is no permission"
    );
}

#[tokio::test]
async fn who_may_bind_a_role_may_bind_it_there() {
    let bind =
        json!([{ "verbs": ["bind"], "apiGroups": [GROUP], "resources": ["clusterroles"], "resourceNames": ["big"] }]);
    let (rbac, policy) = held(json!([]), bind);
    let big = role_ref("ClusterRole", "big");
    assert_eq!(check_binding(&rbac, &policy, &user(&[]), &big, "n").await, Ok(()));
    for namespace in ["", "m"] {
        let refused = check_binding(&rbac, &policy, &user(&[]), &big, namespace).await.unwrap_err();
        assert!(matches!(refused, EscalationError::NotHeld { .. }), "{refused:?}");
    }
    let bind_local =
        json!([{ "verbs": ["bind"], "apiGroups": [GROUP], "resources": ["roles"], "resourceNames": ["r2"] }]);
    let (local, _) = held(json!([]), bind_local);
    assert_eq!(check_binding(&local, &policy, &user(&[]), &role_ref("Role", "r2"), "n").await, Ok(()));
    let refused = check_binding(&rbac, &policy, &user(&[]), &role_ref("ClusterRole", "none"), "n").await.unwrap_err();
    assert_eq!(refused.to_string(), "clusterroles.rbac.authorization.k8s.io \"none\" not found");
    let refused = check_binding(&rbac, &policy, &user(&[]), &role_ref("Role", "big"), "n").await.unwrap_err();
    assert_eq!(refused.to_string(), "roles.rbac.authorization.k8s.io \"big\" not found");
    let refused = check_binding(&rbac, &policy, &user(&[]), &role_ref("Pod", "big"), "n").await.unwrap_err();
    assert_eq!(refused.to_string(), "unsupported role reference kind: \"Pod\"");
}

/// Remembers the version that it is asked about.
#[derive(Default)]
struct Versions(std::sync::Mutex<Vec<String>>);

#[async_trait]
impl Authorizer for Versions {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        let Target::Resource(resource) = question.target else { panic!("no path is asked about") };
        self.0.lock().unwrap().push(format!("{} {} {}", question.verb, resource.resource, resource.version));
        Ok(Decision::NoOpinion(String::new()))
    }
}

/// Whoever is asked outside sees what Kubernetes would ask.
#[tokio::test]
async fn every_version_is_asked_about() {
    let (versions, (_, policy)) = (Versions::default(), held(json!([]), json!([])));
    check_role(&versions, &policy, &user(&[]), &role_write("n", &[])).await.unwrap();
    check_binding(&versions, &policy, &user(&[]), &role_ref("Role", "r"), "n").await.unwrap();
    assert_eq!(*versions.0.lock().unwrap(), ["escalate roles *", "bind roles *"]);
}

#[tokio::test]
async fn roles_that_collect_others_need_everything() {
    let everything = json!([
        { "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] },
        { "verbs": ["*"], "nonResourceURLs": ["*"] },
    ]);
    let aggregating = |rules| RoleWrite { aggregates: true, ..role_write("", rules) };
    let (rbac, policy) = held(everything, json!([]));
    // Who holds everything also holds `escalate`: the rules must be seen to decide by themselves.
    assert_eq!(check_role(&Broken, &policy, &user(&[]), &aggregating(&[])).await, Ok(()));
    assert_eq!(check_role(&rbac, &policy, &user(&[]), &aggregating(&[])).await, Ok(()));
    for almost in [
        json!([{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }]),
        json!([{ "verbs": ["*"], "nonResourceURLs": ["*"] }]),
    ] {
        let (_, policy) = held(almost.clone(), json!([]));
        let refused = check_role(&Broken, &policy, &user(&[]), &aggregating(&[])).await;
        assert_eq!(refused, Err(EscalationError::Aggregation), "{almost}");
    }
    let (rbac, policy) = held(json!([{ "verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"] }]), json!([]));
    let refused = check_role(&rbac, &policy, &user(&[]), &aggregating(&[])).await;
    assert_eq!(refused, Err(EscalationError::Aggregation));
    assert_eq!(check_role(&rbac, &policy, &user(&[]), &role_write("", &[])).await, Ok(()));
}
