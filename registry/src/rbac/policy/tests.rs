use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use serde_json::{Value, json};

use super::*;
use crate::authorization::{Attributes, Decision, Resource, Target};
use crate::rbac::LivePolicy;

fn rule(verb: &str) -> Value {
    json!({ "verbs": [verb], "apiGroups": [""], "resources": ["pods"] })
}

fn role(namespace: &str, name: &str, verb: &str) -> PolicyObject {
    let role: Role =
        serde_json::from_value(json!({ "metadata": { "name": name, "namespace": namespace }, "rules": [rule(verb)] }))
            .unwrap();
    PolicyObject::Role(role)
}

fn cluster_role(name: &str, verb: &str) -> PolicyObject {
    let role: ClusterRole =
        serde_json::from_value(json!({ "metadata": { "name": name }, "rules": [rule(verb)] })).unwrap();
    PolicyObject::ClusterRole(role)
}

fn binding(namespace: &str, name: &str, (kind, role): (&str, &str), subjects: Value) -> PolicyObject {
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": { "name": name, "namespace": namespace },
        "roleRef": { "kind": kind, "name": role },
        "subjects": subjects,
    }))
    .unwrap();
    PolicyObject::RoleBinding(binding)
}

fn cluster_binding(name: &str, role: &str, subjects: Value) -> PolicyObject {
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": { "name": name },
        "roleRef": { "kind": "ClusterRole", "name": role },
        "subjects": subjects,
    }))
    .unwrap();
    PolicyObject::ClusterRoleBinding(binding)
}

fn user(name: &str, groups: &[&str]) -> User {
    User { name: name.to_owned(), groups: groups.iter().map(|&group| group.to_owned()).collect(), ..User::default() }
}

fn ask(policy: &Policy, user: &User, verb: &str, namespace: &str) -> Decision {
    let target = Target::Resource(Resource { resource: "pods", namespace, ..Resource::default() });
    policy.decide(&Attributes { user, verb, target })
}

fn allowed(by: &str) -> Decision {
    Decision::Allow(format!("RBAC: allowed by {by}"))
}

fn nothing() -> Decision {
    Decision::NoOpinion(String::new())
}

fn group(name: &str) -> Value {
    json!([{ "kind": "Group", "name": name }])
}

#[test]
fn a_binding_in_a_namespace_gives_nothing_elsewhere() {
    let policy: Policy =
        [cluster_role("r", "get"), binding("n", "b", ("ClusterRole", "r"), group("g"))].into_iter().collect();
    let member = user("u", &["g"]);
    assert_eq!(ask(&policy, &member, "get", "n"), allowed("RoleBinding \"b/n\" of ClusterRole \"r\" to Group \"g\""));
    assert_eq!(ask(&policy, &member, "list", "n"), nothing());
    assert_eq!(ask(&policy, &member, "get", "m"), nothing());
    assert_eq!(ask(&policy, &member, "get", ""), nothing());
    assert_eq!(ask(&policy, &user("g", &["u"]), "get", "n"), nothing());
}

#[test]
fn a_role_of_another_namespace_is_not_found() {
    let policy: Policy = [role("m", "r", "get"), binding("n", "b", ("Role", "r"), group("g"))].into_iter().collect();
    let told = "RBAC: role.rbac.authorization.k8s.io \"r\" not found";
    assert_eq!(ask(&policy, &user("u", &["g"]), "get", "n"), Decision::NoOpinion(told.to_owned()));
}

#[test]
fn the_first_subject_that_names_the_user_is_told() {
    let subjects = json!([
        { "kind": "Group", "name": "h" },
        { "kind": "ServiceAccount", "name": "s" },
        { "kind": "Group", "name": "g" },
        { "kind": "User", "name": "system:serviceaccount:n:s" },
        { "kind": "Group", "name": "g" },
    ]);
    let policy: Policy =
        [cluster_role("r", "get"), binding("n", "b", ("ClusterRole", "r"), subjects)].into_iter().collect();
    let account = user("system:serviceaccount:n:s", &["g"]);
    let told = allowed("RoleBinding \"b/n\" of ClusterRole \"r\" to ServiceAccount \"s/n\"");
    assert_eq!(ask(&policy, &account, "get", "n"), told);
    assert_eq!(ask(&policy, &user("system:serviceaccount:m:s", &[]), "get", "n"), nothing());
}

#[test]
fn a_service_account_of_no_namespace_is_nobody() {
    let subjects = json!([{ "kind": "ServiceAccount", "name": "s" }]);
    let policy: Policy = [cluster_role("r", "get"), cluster_binding("b", "r", subjects)].into_iter().collect();
    assert_eq!(ask(&policy, &user("system:serviceaccount::s", &[]), "get", ""), nothing());
}

#[test]
fn changes_are_effective_at_once_and_pictures_stay() {
    let live = LivePolicy::default();
    let set = |object| [PolicyChange::Set(Box::new(object))];
    let remove = |kind, namespace: &str, name: &str| {
        [PolicyChange::Remove(PolicyKey { kind, namespace: namespace.to_owned(), name: name.to_owned() })]
    };
    let member = user("u", &["g"]);
    let told = |name: &str| allowed(&format!("ClusterRoleBinding \"b\" of ClusterRole \"{name}\" to Group \"g\""));

    live.apply(set(cluster_role("r", "get")));
    live.apply(set(cluster_binding("b", "r", group("g"))));
    let before = live.policy();
    assert_eq!(ask(&before, &member, "get", ""), told("r"));

    live.apply(set(cluster_role("r", "list")));
    assert_eq!(ask(&live.policy(), &member, "get", "n"), nothing());
    assert_eq!(ask(&live.policy(), &member, "list", "n"), told("r"));

    live.apply(set(cluster_binding("b", "r", group("h"))));
    assert_eq!(ask(&live.policy(), &member, "list", ""), nothing());
    assert_eq!(ask(&live.policy(), &user("u", &["h"]), "get", ""), nothing());

    live.apply(remove(PolicyKind::Binding, "", "b"));
    assert_eq!(ask(&live.policy(), &user("u", &["h"]), "list", ""), nothing());
    assert_eq!(ask(&before, &member, "get", ""), told("r"), "an old picture does not change");
    assert!(live.policy().cluster.groups.is_empty(), "nothing is left of a binding");

    live.apply(set(binding("n", "b", ("ClusterRole", "r"), group("g"))));
    live.apply(remove(PolicyKind::Role, "", "r"));
    let told = "RBAC: clusterrole.rbac.authorization.k8s.io \"r\" not found";
    assert_eq!(ask(&live.policy(), &member, "list", "n"), Decision::NoOpinion(told.to_owned()));
    live.apply(remove(PolicyKind::Binding, "n", "b"));
    assert_eq!(ask(&live.policy(), &member, "list", "n"), nothing());
    assert!(live.policy().namespaces.is_empty(), "nothing is left of a namespace");

    live.replace(Policy::clone(&before));
    assert_eq!(
        ask(&live.policy(), &member, "get", ""),
        allowed("ClusterRoleBinding \"b\" of ClusterRole \"r\" to Group \"g\"")
    );
}

#[test]
fn an_index_that_was_changed_is_the_one_that_would_be_built() {
    let subjects = |numbers: &[usize]| -> Value {
        numbers.iter().map(|number| json!({ "kind": "Group", "name": format!("g{number}") })).collect()
    };
    let live = LivePolicy::default();
    let mut wanted = std::collections::BTreeMap::new();
    for step in 0..600_usize {
        let (name, place) = (format!("b{}", step * 7 % 40), if step % 3 == 0 { "n" } else { "m" });
        if step % 5 == 4 {
            wanted.remove(&(place, name.clone()));
            let key = PolicyKey { kind: PolicyKind::Binding, namespace: place.to_owned(), name };
            live.apply([PolicyChange::Remove(key)]);
        } else {
            let object =
                binding(place, &name, ("ClusterRole", "r"), subjects(&[step % 11, step % 7, step % 11, step % 3]));
            wanted.insert((place, name), object.clone());
            live.apply([PolicyChange::Set(Box::new(object))]);
        }
    }
    let built: Policy = wanted.into_values().collect();
    for number in 0..11 {
        let member = user("u", &[&format!("g{number}"), "g1"]);
        for place in ["n", "m"] {
            let grants = |policy: &Policy| -> Vec<String> {
                let place = policy.namespaces.get(place).unwrap();
                place.grants(&member).iter().map(ToString::to_string).collect()
            };
            assert_eq!(grants(&live.policy()), grants(&built));
            assert!(!grants(&built).is_empty());
        }
    }
}

#[test]
fn rules_without_any_list_allow_nothing() {
    let policy = Policy::default();
    let empty = PolicyRule::default();
    let member = user("u", &[]);
    let paths = Attributes { user: &member, verb: "get", target: Target::Path("/healthz") };
    assert!(!crate::rbac::rule_allows(&empty, &paths));
    assert_eq!(policy.decide(&paths), nothing());
}

/// What binds in the cluster binds everywhere, whatever its metadata says of a namespace.
#[test]
fn a_cluster_role_binding_has_no_namespace() {
    let PolicyObject::ClusterRoleBinding(mut binding) = cluster_binding("b", "r", group("g")) else {
        panic!("it is one")
    };
    binding.metadata.namespace = Some("n".to_owned());
    let policy: Policy = [cluster_role("r", "get"), PolicyObject::ClusterRoleBinding(binding)].into_iter().collect();
    assert_eq!(
        ask(&policy, &user("u", &["g"]), "get", "m"),
        allowed("ClusterRoleBinding \"b\" of ClusterRole \"r\" to Group \"g\"")
    );
}

/// Groups of organizations count in OrgRoleBindings only, also where a binding is older than the rule that refuses them.
#[test]
fn groups_of_organizations_are_bound_by_organizations_only() {
    let member = user("u", &["org:acme:devs"]);
    let of_rbac = binding("n", "b", ("ClusterRole", "r"), group("org:acme:devs"));
    let PolicyObject::RoleBinding(same) = of_rbac.clone() else { panic!("it is one") };
    let policy: Policy = [cluster_role("r", "get"), of_rbac].into_iter().collect();
    assert_eq!(ask(&policy, &member, "get", "n"), nothing());
    let policy: Policy = [cluster_role("r", "get"), PolicyObject::OrgRoleBinding(same)].into_iter().collect();
    assert!(matches!(ask(&policy, &member, "get", "n"), Decision::Allow(_)));
}
