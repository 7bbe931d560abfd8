//! Claims, the kind that these tests write: it has a namespace, a status, and a field to select by.

use serde_json::{Value, json};

use crate::client::Client;

pub(crate) const GROUP_VERSION: &str = "/apis/catalog.bailiwick.dev/v1alpha1";
/// What tells one write from every other.
pub(crate) const VALUE: &str = "test.bailiwick.dev/value";
/// The label to select by.
pub(crate) const TIER: &str = "tier";

/// The claims of all namespaces.
pub(crate) fn everywhere() -> String {
    format!("{GROUP_VERSION}/resourcecatalogclaims")
}

/// The claims of a namespace.
pub(crate) fn collection(namespace: &str) -> String {
    format!("{GROUP_VERSION}/namespaces/{namespace}/resourcecatalogclaims")
}

/// A claim.
pub(crate) fn object(namespace: &str, name: &str) -> String {
    format!("{}/{name}", collection(namespace))
}

/// Makes the namespaces that claims are to be in.
pub(crate) async fn make_namespaces<'n>(client: &Client, names: impl IntoIterator<Item = &'n str>) {
    for name in names {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        client.post("/api/v1/namespaces", &namespace).await.unwrap().expect(201);
    }
}

/// A claim as it is created.
pub(crate) fn claim(name: &str, catalog: &str, tier: &str, value: &str) -> Value {
    json!({
        "apiVersion": "catalog.bailiwick.dev/v1alpha1",
        "kind": "ResourceCatalogClaim",
        "metadata": {"name": name, "labels": {TIER: tier}, "annotations": {VALUE: value}},
        "spec": {"catalogName": catalog, "resourceCatalogEntry": {"namespace": "shop", "name": "entry"}},
    })
}
