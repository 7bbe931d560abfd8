//! Objects of the tests, as people write them.

use serde_json::{Value, json};

pub(crate) const API: &str = "/apis/catalog.bailiwick.dev/v1alpha1";
pub(crate) const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

const VERSION: &str = "catalog.bailiwick.dev/v1alpha1";

pub(crate) fn catalog(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": VERSION, "kind": "ResourceCatalog", "metadata": { "name": name }, "spec": spec })
}

/// An entry of the catalog gold.
pub(crate) fn entry(name: &str, spec: Value) -> Value {
    let metadata = json!({ "name": name, "labels": { "tier": "gold" } });
    json!({ "apiVersion": VERSION, "kind": "ResourceCatalogEntry", "metadata": metadata, "spec": spec })
}

/// What exposes resources of the namespace, as its account `publisher`.
pub(crate) fn local(resources: &[(&str, &str)]) -> Value {
    let exposed: Vec<Value> =
        resources.iter().map(|(kind, name)| json!({ "apiVersion": "v1", "kind": kind, "name": name })).collect();
    json!({ "serviceAccountName": "publisher", "localResources": { "exposedResources": exposed } })
}

/// What holds resources of its own.
pub(crate) fn list(resources: Value) -> Value {
    json!({ "resourceList": { "resources": resources } })
}

/// A claim of an entry of `shop`, from the catalog gold, as the account `maker`.
pub(crate) fn claim(name: &str, entry: &str, more: Value) -> Value {
    let mut spec = json!({
        "catalogName": "gold", "resourceCatalogEntry": { "namespace": "shop", "name": entry },
        "serviceAccountName": "maker",
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "apiVersion": VERSION, "kind": "ResourceCatalogClaim", "metadata": { "name": name }, "spec": spec })
}

pub(crate) fn config_map(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

pub(crate) fn secret(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": data })
}

pub(crate) fn role(name: &str, rule: Value) -> Value {
    json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": name }, "rules": [rule] })
}

/// A binding in a namespace, of `Role/name` or `ClusterRole/name`, to `User/name` or `ServiceAccount/name`.
pub(crate) fn bound(name: &str, namespace: &str, role: &str, subject: &str) -> Value {
    let (role_kind, role) = role.split_once('/').unwrap();
    let subject = match subject.split_once('/').unwrap() {
        ("ServiceAccount", name) => json!({ "kind": "ServiceAccount", "name": name, "namespace": namespace }),
        (kind, name) => json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name }),
    };
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role }, "subjects": [subject],
    })
}

/// The right to do something with one catalog.
pub(crate) fn uses(verb: &str, catalog: &str) -> Value {
    json!({
        "apiGroups": ["catalog.bailiwick.dev"], "resources": ["resourcecatalogs"], "resourceNames": [catalog],
        "verbs": [verb],
    })
}

/// What a condition says: its status and reason.
pub(crate) fn condition<'o>(object: &'o Value, wanted: &str) -> (&'o str, &'o str) {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == wanted);
    let text = |field: &str| found.and_then(|condition| condition[field].as_str()).unwrap_or_default();
    (text("status"), text("reason"))
}

/// What a refusal says in particular: the fields, and why.
pub(crate) fn causes(refusal: &Value) -> Vec<(String, String)> {
    let causes = refusal["details"]["causes"].as_array().cloned().unwrap_or_default();
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    causes.iter().map(|cause| (text(cause, "field"), text(cause, "message"))).collect()
}
