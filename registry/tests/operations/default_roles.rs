//! The roles and bindings that every server has, at its start.

use std::sync::Arc;

use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_registry::rbac::{GROUP, bootstrap};
use bailiwick_registry::{Ctx, DeleteOptions, Registry, ServedKind, User, WriteOptions, kinds};
use bailiwick_storage::At;
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::SimDisk;
use serde_json::{Value, json};

use super::support::{accept, now, object};

const NAME: &str = "system:discovery";

async fn registry() -> Registry {
    let store = Embedded::open(EmbeddedOptions::new(Arc::new(SimDisk::default()))).await.unwrap();
    Registry::start(Arc::new(store), kinds::host().unwrap(), Default::default()).await.unwrap()
}

fn bindings(registry: &Registry) -> Arc<ServedKind> {
    registry.find(&GroupVersion::new(GROUP, "v1"), "clusterrolebindings").unwrap()
}

async fn binding(registry: &Registry) -> Object {
    let kind = &*bindings(registry);
    registry.get(kind, "", NAME, At::Latest).await.unwrap().to_object(kind.gvk()).unwrap()
}

/// Puts a binding to another role in the place of the one there is.
async fn bind_to(registry: &Registry, role: &str, annotations: Value) {
    let (kind, user, options) = (&*bindings(registry), User::default(), WriteOptions::default());
    let ctx = Ctx { user: &user, now: now(), annotations: None };
    registry.delete(&ctx, kind, "", NAME, &DeleteOptions::default()).await.unwrap();
    let role = json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": role});
    let body = json!({"metadata": {"name": NAME, "annotations": annotations}, "roleRef": role});
    let accepted = accept(kind, object(body), &options).unwrap();
    registry.create(&ctx, kind, accepted, &options).await.unwrap();
}

fn role(binding: &Object) -> &str {
    binding.as_value()["roleRef"]["name"].as_str().unwrap()
}

#[tokio::test]
async fn a_binding_to_another_role_is_replaced() {
    let registry = registry().await;
    bootstrap(&registry).await.unwrap();
    let wanted = binding(&registry).await;
    bind_to(&registry, "cluster-admin", json!({})).await;
    bootstrap(&registry).await.unwrap();
    let found = binding(&registry).await;
    assert_eq!(role(&found), role(&wanted));
    assert_eq!(found.as_value()["subjects"], wanted.as_value()["subjects"]);
    bootstrap(&registry).await.unwrap();
    assert_eq!(binding(&registry).await, found, "what is as it is to be is left alone");

    bind_to(&registry, "view", json!({"rbac.authorization.kubernetes.io/autoupdate": "false"})).await;
    bootstrap(&registry).await.unwrap();
    assert_eq!(role(&binding(&registry).await), "view", "someone wants it so");
}
