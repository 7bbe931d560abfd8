//! Projects in which things are measured: a namespace with an account that may do everything in it.

use serde_json::{Value, json};

use crate::Failure;
use crate::client::Client;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Makes a namespace, and in it an account that may do everything there.
pub async fn open(client: &Client, namespace: &str, account: &str) -> Result<(), Failure> {
    client.create("/api/v1/namespaces", &named("v1", "Namespace", namespace)).await?;
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    client.create(&path, &named("v1", "ServiceAccount", account)).await?;
    let mut binding = named("rbac.authorization.k8s.io/v1", "RoleBinding", account);
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"});
    binding["subjects"] = json!([{"kind": "ServiceAccount", "name": account, "namespace": namespace}]);
    client.create(&format!("{RBAC}/namespaces/{namespace}/rolebindings"), &binding).await
}

/// An object with a name and nothing else.
pub fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})
}

/// A ConfigMap.
pub fn config_map(name: &str, data: Value) -> Value {
    let mut map = named("v1", "ConfigMap", name);
    map["data"] = data;
    map
}
