//! Stored roles and bindings that are none: they give nothing, and keep nobody from what the others give and take.

use std::time::Duration;

use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::SimDisk;
use bailiwick_storage::{Key, Resource, Store, Txn};
use serde_json::{Value, json};

use super::*;
use crate::rbac::RoleSource;
use crate::{User, kinds};

/// What is stored, and what follows from it for alice.
struct World {
    store: Arc<dyn Store>,
    policy: Arc<LivePolicy>,
    _registry: Arc<Registry>,
}

fn key(plural: &'static str, name: &str) -> Key {
    Resource::new(GROUP.as_bytes(), plural.as_bytes()).unwrap().object(name).unwrap()
}

/// Written past all rules.
async fn put(store: &dyn Store, plural: &'static str, name: &str, fields: Value) {
    let key = key(plural, name);
    let kind = if plural == "clusterroles" { "ClusterRole" } else { "ClusterRoleBinding" };
    let mut object =
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": { "name": name } });
    for (field, value) in fields.as_object().unwrap() {
        match field.as_str() {
            "metadata" => object["metadata"].as_object_mut().unwrap().extend(value.as_object().unwrap().clone()),
            _ => object[field] = value.clone(),
        }
    }
    let txn = match store.get(&key, At::Latest).await.unwrap().record {
        None => Txn::new().create(key, object.to_string()),
        Some(found) => Txn::new().update(key, object.to_string(), found.revision),
    };
    store.commit(txn).await.unwrap();
}

/// Whatever it is.
async fn put_bytes(store: &dyn Store, plural: &'static str, name: &str, stored: &str) {
    store.commit(Txn::new().create(key(plural, name), stored.to_owned())).await.unwrap();
}

async fn remove(store: &dyn Store, plural: &'static str, name: &str) {
    let key = key(plural, name);
    let found = store.get(&key, At::Latest).await.unwrap().record.unwrap();
    store.commit(Txn::new().delete(key, found.revision)).await.unwrap();
}

async fn put_role(store: &dyn Store, name: &str, resource: &str) {
    let rules = json!([{ "verbs": ["get"], "apiGroups": [""], "resources": [resource] }]);
    put(store, "clusterroles", name, json!({ "rules": rules })).await;
}

async fn bind(store: &dyn Store, name: &str) {
    let subject = json!({ "apiGroup": GROUP, "kind": "User", "name": "alice" });
    let role = json!({ "apiGroup": GROUP, "kind": "ClusterRole", "name": name });
    put(store, "clusterrolebindings", name, json!({ "roleRef": role, "subjects": [subject] })).await;
}

// === impl World ===

impl World {
    async fn on(store: Arc<dyn Store>) -> Self {
        let registry = Registry::start(store.clone(), kinds::host().unwrap(), Default::default()).await.unwrap();
        let (registry, policy) = (Arc::new(registry), Arc::new(LivePolicy::default()));
        follow(&registry, &policy).await.unwrap();
        Self { store, policy, _registry: registry }
    }

    fn given(&self) -> Vec<String> {
        let policy = self.policy.policy();
        let (rules, _) = policy.rules_for(&User { name: "alice".to_owned(), ..User::default() }, "");
        rules.into_iter().flat_map(|rule| rule.resources.clone().unwrap_or_default()).collect()
    }

    async fn comes_to(&self, expected: &[&str]) {
        for _ in 0..500 {
            if self.given() == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(self.given(), expected, "after five seconds");
    }
}

/// A server begins though they are there, and what is taken away is taken away.
#[tokio::test]
async fn what_is_no_role_gives_nothing_and_keeps_nobody() {
    let disk = SimDisk::default();
    let store: Arc<dyn Store> = Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(disk))).await.unwrap());
    put_role(&*store, "good", "pods").await;
    bind(&*store, "good").await;
    put(&*store, "clusterroles", "damaged", json!({ "rules": 5 })).await;
    put(&*store, "clusterrolebindings", "damaged", json!({ "subjects": "alice" })).await;
    let world = World::on(store).await;
    assert_eq!(world.given(), ["pods"]);

    put_role(&*world.store, "good", "secrets").await;
    world.comes_to(&["secrets"]).await;
    put(&*world.store, "clusterroles", "good", json!({ "rules": 5 })).await;
    world.comes_to(&[]).await;
    put_role(&*world.store, "other", "configmaps").await;
    bind(&*world.store, "other").await;
    world.comes_to(&["configmaps"]).await;
    assert_eq!(World::on(world.store.clone()).await.given(), ["configmaps"], "a server that begins now");
}

/// Anyone who may write a role can say when someone wrote its fields, and once could say what cannot be read.
#[tokio::test]
async fn a_role_counts_whatever_is_said_of_the_owners_of_its_fields() {
    let disk = SimDisk::default();
    let store: Arc<dyn Store> = Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(disk))).await.unwrap());
    let owner = json!({ "manager": "x", "operation": "Update", "time": "9999-12-31T23:59:59Z" });
    let rules = json!([{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }]);
    let role = json!({ "metadata": { "managedFields": [owner] }, "rules": rules });
    put(&*store, "clusterroles", "good", role).await;
    bind(&*store, "good").await;
    assert_eq!(World::on(store).await.given(), ["pods"]);
}

/// A removal counts, though what was stored behind it is no JSON; and so does what comes behind that, and whoever begins then.
#[tokio::test]
async fn what_cannot_be_read_keeps_no_removal() {
    let disk = SimDisk::default();
    let store: Arc<dyn Store> = Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(disk))).await.unwrap());
    put_role(&*store, "good", "pods").await;
    bind(&*store, "good").await;
    let world = World::on(store).await;
    assert_eq!(world.given(), ["pods"]);

    remove(&*world.store, "clusterroles", "good").await;
    let damaged =
        r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a"},"rules":["#;
    put_bytes(&*world.store, "clusterroles", "a", damaged).await;
    world.comes_to(&[]).await;
    put_role(&*world.store, "good", "secrets").await;
    world.comes_to(&["secrets"]).await;
    remove(&*world.store, "clusterroles", "good").await;
    put_bytes(&*world.store, "clusterroles", "b", "nothing like an object").await;
    world.comes_to(&[]).await;
    put_role(&*world.store, "good", "configmaps").await;
    world.comes_to(&["configmaps"]).await;
    assert_eq!(World::on(world.store.clone()).await.given(), ["configmaps"], "a server that begins now");
}
