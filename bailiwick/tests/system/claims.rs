//! Claims, the kind that these tests write: it has a namespace, a status, a field to select by, and no rules of its own.

use http::Method;
use serde_json::{Value, json};

use crate::client::{Client, YAML, request};

pub(crate) const GROUP_VERSION: &str = "/apis/samples.example.com/v1alpha1";
const DEFINITION: &str = include_str!("../../../tests/differential/crds/corpus/claims.yaml");
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// What tells one write from every other.
pub(crate) const VALUE: &str = "test.bailiwick.dev/value";
/// The label to select by.
pub(crate) const TIER: &str = "tier";

/// The claims of all namespaces.
pub(crate) fn everywhere() -> String {
    format!("{GROUP_VERSION}/claims")
}

/// The claims of a namespace.
pub(crate) fn collection(namespace: &str) -> String {
    format!("{GROUP_VERSION}/namespaces/{namespace}/claims")
}

/// A claim.
pub(crate) fn object(namespace: &str, name: &str) -> String {
    format!("{}/{name}", collection(namespace))
}

/// Defines claims, unless they are.
pub(crate) async fn define(client: &Client) {
    let answer = client.send(request(Method::POST, DEFINITIONS, YAML, DEFINITION.into())).await.unwrap();
    assert!(matches!(answer.code, 201 | 409), "{}", answer.code);
}

/// Makes the namespaces that claims are to be in, and defines claims.
pub(crate) async fn make_namespaces<'n>(client: &Client, names: impl IntoIterator<Item = &'n str>) {
    define(client).await;
    for name in names {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        client.post("/api/v1/namespaces", &namespace).await.unwrap().expect(201);
    }
}

/// A claim as it is created.
pub(crate) fn claim(name: &str, catalog: &str, tier: &str, value: &str) -> Value {
    json!({
        "apiVersion": "samples.example.com/v1alpha1",
        "kind": "Claim",
        "metadata": {"name": name, "labels": {TIER: tier}, "annotations": {VALUE: value}},
        "spec": {"catalogName": catalog, "resourceCatalogEntry": {"namespace": "shop", "name": "entry"}},
    })
}
