//! The roles that go with our kinds, for those who work in the cluster.

use bailiwick_registry::kinds::{self, KindRole};
use serde_json::{Value, json};

use super::manifest::Manifest;
use super::plan::Plan;

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// The roles, and who has them from the beginning.
pub(super) fn manifests(plan: &Plan) -> Vec<Manifest> {
    kinds::roles(&plan.kinds).iter().flat_map(of_role).collect()
}

fn of_role(kind: &KindRole) -> Vec<Manifest> {
    let name = kind.role.metadata.name.as_deref().unwrap_or_default();
    let mut role = json!({
        "apiVersion": RBAC,
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": kind.role.rules.iter().flatten().map(rule).collect::<Vec<_>>(),
    });
    if let Some(labels) = &kind.role.metadata.labels {
        role["metadata"]["labels"] = json!(labels);
    }
    if let Some(aggregation) = &kind.role.aggregation_rule {
        // The cluster fills in the rules, and would be undone by whoever says that there are none.
        role["aggregationRule"] = json!(aggregation);
        role.as_object_mut().map(|role| role.remove("rules"));
    }
    let mut manifests = vec![Manifest::new(kind.why, role)];
    if let Some(group) = kind.bound_to {
        manifests.push(Manifest::new("", binding(name, group)));
    }
    manifests
}

fn rule(rule: &k8s_openapi::api::rbac::v1::PolicyRule) -> Value {
    let mut told = json!({"apiGroups": rule.api_groups, "resources": rule.resources, "verbs": rule.verbs});
    if let Some(names) = &rule.resource_names {
        told["resourceNames"] = json!(names);
    }
    told
}

fn binding(role: &str, group: &str) -> Value {
    json!({
        "apiVersion": RBAC,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
    })
}
