use serde_json::json;

use super::*;

fn role(change: Value) -> Object {
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "r", "uid": "u", "labels": {"a": "b"}},
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
    });
    for (field, value) in change.as_object().unwrap() {
        match field.strip_prefix("metadata.") {
            Some(field) => role["metadata"][field] = value.clone(),
            None => role[field] = value.clone(),
        }
    }
    Object::try_from(role).unwrap()
}

/// Absent is as good as empty, in all its forms.
#[test]
fn upkeep_changes_nothing_that_counts() {
    let old = role(json!({}));
    for upkeep in [
        json!({}),
        json!({"metadata.finalizers": ["f"]}),
        json!({"metadata.ownerReferences": [{"name": "o"}]}),
        json!({"metadata.managedFields": [{"manager": "m"}]}),
        json!({"metadata.annotations": null}),
        json!({"metadata.annotations": {}}),
        json!({"aggregationRule": null}),
        json!({"subjects": []}),
    ] {
        assert!(is_upkeep(&old, &role(upkeep.clone())), "{upkeep}");
    }
    for change in [
        json!({"metadata.labels": {"a": "c"}}),
        json!({"metadata.labels": {}}),
        json!({"metadata.annotations": {"a": "b"}}),
        json!({"metadata.labels": {"a": "c"}, "metadata.finalizers": ["f"]}),
        json!({"rules": []}),
        json!({"rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}),
        json!({"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}),
        json!({"subjects": [{"kind": "User", "name": "u"}]}),
        json!({"other": "text"}),
    ] {
        assert!(!is_upkeep(&old, &role(change.clone())), "{change}");
    }
}
