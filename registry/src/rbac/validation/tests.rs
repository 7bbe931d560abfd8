use serde::de::DeserializeOwned;

use super::*;

/// The fields of an object that a rule finds wrong.
fn wrong<T: DeserializeOwned>(object: Value, check: fn(&T, &mut FieldErrors)) -> Vec<String> {
    let (object, mut errors) = (serde_json::from_value(object).unwrap(), FieldErrors::default());
    check(&object, &mut errors);
    errors.as_slice().iter().map(|error| error.field.as_str().to_owned()).collect()
}

fn role(rule: Value) -> Value {
    json!({ "metadata": { "name": "r" }, "rules": [rule] })
}

fn binding(role_ref: Value, subject: Value) -> Value {
    json!({ "metadata": { "name": "b" }, "roleRef": role_ref, "subjects": [subject] })
}

fn view() -> Value {
    json!({ "apiGroup": GROUP, "kind": "ClusterRole", "name": "view" })
}

fn user(name: &str) -> Value {
    json!({ "apiGroup": GROUP, "kind": "User", "name": name })
}

#[test]
fn a_rule_is_about_resources_or_about_paths() {
    let resources = json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] });
    let paths = json!({ "verbs": ["get"], "nonResourceURLs": ["/x"] });
    let both = |field: &str| {
        let mut rule = paths.clone();
        rule[field] = json!(["x"]);
        rule
    };
    let url = "rules[0].nonResourceURLs";
    for (rule, in_namespace, in_cluster) in [
        (resources, vec![], vec![]),
        (paths.clone(), vec![url], vec![]),
        (both("apiGroups"), vec![url, url], vec![url]),
        (both("resources"), vec![url, url], vec![url]),
        (both("resourceNames"), vec![url, url], vec![url]),
        (
            json!({ "verbs": [] }),
            vec!["rules[0].verbs", "rules[0].apiGroups", "rules[0].resources"],
            vec!["rules[0].verbs", "rules[0].apiGroups", "rules[0].resources"],
        ),
    ] {
        assert_eq!(wrong(role(rule.clone()), validate_role), in_namespace, "{rule}");
        assert_eq!(wrong(role(rule.clone()), validate_cluster_role), in_cluster, "{rule}");
    }
}

#[test]
fn aggregation_needs_selectors_that_select() {
    for (selectors, expected) in [
        (json!([{ "matchLabels": { "a": "b" } }]), 0),
        (json!([]), 1),
        (json!([{ "matchExpressions": [{ "key": "a", "operator": "Nonsense" }] }]), 2),
    ] {
        let role = json!({ "metadata": { "name": "r" }, "aggregationRule": { "clusterRoleSelectors": selectors } });
        let found = wrong(role, validate_cluster_role);
        assert_eq!(found.len(), expected, "{selectors}: {found:?}");
        assert!(found.iter().all(|field| field.starts_with("aggregationRule.clusterRoleSelectors")), "{found:?}");
    }
}

#[test]
fn a_binding_gives_a_role_that_there_can_be() {
    let with = |field: &str, value: &str| {
        let mut role = view();
        role[field] = value.into();
        role
    };
    for (role, in_namespace, in_cluster) in [
        (view(), vec![], vec![]),
        (with("kind", "Role"), vec![], vec!["roleRef.kind"]),
        (with("kind", "Other"), vec!["roleRef.kind"], vec!["roleRef.kind"]),
        (with("apiGroup", "other"), vec!["roleRef.apiGroup"], vec!["roleRef.apiGroup"]),
        (with("name", ""), vec!["roleRef.name"], vec!["roleRef.name"]),
        (with("name", "a/b"), vec!["roleRef.name"], vec!["roleRef.name"]),
    ] {
        let binding = binding(role.clone(), user("u"));
        assert_eq!(wrong(binding.clone(), validate_role_binding), in_namespace, "{role}");
        assert_eq!(wrong(binding, validate_cluster_role_binding), in_cluster, "{role}");
    }
}

#[test]
fn a_binding_gives_it_to_someone() {
    let account = |name: &str, namespace: &str, group: &str| json!({ "kind": "ServiceAccount", "name": name, "namespace": namespace, "apiGroup": group });
    let named = |kind: &str, group: &str| json!({ "kind": kind, "name": "n", "apiGroup": group });
    for (subject, in_namespace, in_cluster) in [
        (user("u"), vec![], vec![]),
        (named("Group", GROUP), vec![], vec![]),
        (user(""), vec!["name"], vec!["name"]),
        (named("User", "other"), vec!["apiGroup"], vec!["apiGroup"]),
        (named("Group", ""), vec!["apiGroup"], vec!["apiGroup"]),
        (named("Role", GROUP), vec!["kind"], vec!["kind"]),
        (account("a", "n", ""), vec![], vec![]),
        (account("a", "", ""), vec![], vec!["namespace"]),
        (account("", "n", ""), vec!["name"], vec!["name"]),
        (account("A_", "n", ""), vec!["name"], vec!["name"]),
        (account("a", "n", GROUP), vec!["apiGroup"], vec!["apiGroup"]),
    ] {
        let binding = binding(view(), subject.clone());
        let within = |fields: Vec<&str>| fields.iter().map(|field| format!("subjects[0].{field}")).collect::<Vec<_>>();
        assert_eq!(wrong(binding.clone(), validate_role_binding), within(in_namespace), "{subject}");
        assert_eq!(wrong(binding, validate_cluster_role_binding), within(in_cluster), "{subject}");
    }
}

#[test]
fn a_binding_gives_what_it_gave() {
    let changed = |field: &str| {
        let mut role = view();
        role[field] = "Role".into();
        role
    };
    let same = |object: Value| -> (RoleBinding, ClusterRoleBinding) {
        (serde_json::from_value(object.clone()).unwrap(), serde_json::from_value(object).unwrap())
    };
    let old = same(binding(view(), user("u")));
    for (new, in_namespace, in_cluster) in [
        (binding(view(), user("v")), vec![], vec![]),
        (binding(changed("name"), user("u")), vec!["roleRef"], vec!["roleRef"]),
        (binding(changed("kind"), user("u")), vec!["roleRef"], vec!["roleRef.kind", "roleRef"]),
        (binding(view(), user("")), vec!["subjects[0].name"], vec!["subjects[0].name"]),
    ] {
        let (mut ours, mut theirs) = (FieldErrors::default(), FieldErrors::default());
        let bindings = same(new.clone());
        validate_role_binding_update(&bindings.0, &old.0, &mut ours);
        validate_cluster_role_binding_update(&bindings.1, &old.1, &mut theirs);
        let fields =
            |errors: FieldErrors| errors.into_vec().iter().map(|error| error.field.as_str().to_owned()).collect();
        let (ours, theirs): (Vec<String>, Vec<String>) = (fields(ours), fields(theirs));
        assert_eq!((ours, theirs), (to_texts(&in_namespace), to_texts(&in_cluster)), "{new}");
    }
}

fn to_texts(fields: &[&str]) -> Vec<String> {
    fields.iter().map(|field| (*field).to_owned()).collect()
}
