//! A server with kinds of claims, resources and classes, which a definition binds; and who provides servers.

use std::collections::BTreeSet;
use std::time::Duration;

use bailiwick_api::{BINDING_DEFINITION_FINALIZER, ConditionStatus, ResourceBindingDefinition, ServiceAccountRef};
use bailiwick_controllers::{ClaimController, Clients};
use bailiwick_registry::{Clock, SystemClock};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::brittle::End;
use crate::site::{SOON, Site, comes, gone};

pub(crate) const GROUP: &str = "crash.example.org";
/// Where providers write their Secrets.
pub(crate) const PROVIDER: &str = "b";

pub(crate) async fn controller(clients: Clients) {
    let provisioner = ServiceAccountRef::new("bailiwick-system", "provisioner").unwrap();
    ClaimController::new(clients, provisioner, || SystemClock.now()).run().await;
}

// === impl Site ===

impl Site {
    /// With kinds of claims, resources and classes, and a definition that binds them.
    pub(crate) async fn furnish(&self, resources: Value) {
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let claim_ref = json!({ "type": "object", "properties": {
            "uid": { "type": "string" }, "name": { "type": "string" }, "namespace": { "type": "string" },
            "kind": { "type": "string" }, "apiVersion": { "type": "string" },
        } });
        let to = json!({ "type": "object", "properties": { "namespace": { "type": "string" }, "name": { "type": "string" } } });
        let spec = json!({ "type": "object", "properties": {
            "claimRef": claim_ref, "size": { "type": "integer" }, "writeConnectionSecretToRef": to,
        } });
        // Without conditions: it is ready when it is there.
        let status = json!({ "type": "object", "properties": { "bindingPhase": { "type": "string" } } });
        self.define("Server", "Cluster", json!({ "spec": spec, "status": status })).await;
        let class = json!({ "specTemplate": open, "reclaimPolicy": { "type": "string" } });
        self.define("ServerClass", "Cluster", class).await;
        self.define("Database", "Namespaced", json!({ "spec": open, "status": open })).await;
        self.define_bindings(resources).await;
    }

    /// Another kind of resources, and classes of them.
    pub(crate) async fn define_rules(&self) {
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        self.define("Rule", "Cluster", json!({ "spec": open })).await;
        self.define("RuleClass", "Cluster", json!({ "specTemplate": open })).await;
    }

    /// One server, from a class of servers.
    pub(crate) fn one(&self) -> Value {
        let version = format!("{GROUP}/v1");
        json!([{
            "resource": { "apiVersion": version, "kind": "Server" }, "class": { "apiVersion": version, "kind": "ServerClass" },
        }])
    }

    pub(crate) async fn furnish_one(&self) {
        self.furnish(self.one()).await;
    }

    /// A definition of what satisfies databases, which is ready to be used.
    pub(crate) async fn define_bindings(&self, resources: Value) {
        let version = format!("{GROUP}/v1");
        let definition = json!({
            "metadata": { "name": "databases", "finalizers": [BINDING_DEFINITION_FINALIZER] },
            "spec": { "claim": { "apiVersion": version, "kind": "Database" }, "resources": resources },
        });
        let definitions: Api<ResourceBindingDefinition> = Api::all(self.client.clone());
        self.make(&definitions, definition).await;
        let _whole = self.claim_controller(self.client.clone());
        comes(&definitions, "databases", |found| {
            let conditions = found.status.iter().flat_map(|status| &status.conditions);
            conditions.into_iter().any(|one| one.condition_type == "Ready" && one.status == ConditionStatus::True)
        })
        .await;
    }

    /// A class that claims get which ask for none.
    pub(crate) async fn default_class(&self, kind: &str, name: &str, template: Value) {
        let metadata = json!({ "name": name, "annotations": { "claim.bailiwick.dev/is-default-class": "true" } });
        self.post(kind, name, json!({ "metadata": metadata, "specTemplate": template })).await;
    }

    /// The same with servers that are taken where there are some, and made otherwise.
    pub(crate) async fn furnish_pool(&self) {
        let version = format!("{GROUP}/v1");
        self.furnish(json!([{
            "resource": { "apiVersion": version, "kind": "Server" }, "class": { "apiVersion": version, "kind": "ServerClass" },
            "preferExisting": true,
        }]))
        .await;
    }

    pub(crate) async fn define(&self, kind: &str, scope: &str, properties: Value) {
        let definition = json!({
            "metadata": { "name": format!("{}.{GROUP}", plural(kind)) },
            "spec": {
                "group": GROUP, "scope": scope, "names": { "kind": kind, "plural": plural(kind) },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                    "schema": { "openAPIV3Schema": { "type": "object", "properties": properties } },
                }],
            },
        });
        self.make(&Api::<CustomResourceDefinition>::all(self.client.clone()), definition).await;
    }

    pub(crate) fn claim_controller(&self, client: Client) -> AbortOnDropHandle<()> {
        Self::start(client, controller)
    }

    pub(crate) fn objects(&self, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1", kind), &plural(kind));
        match kind {
            "Database" => Api::namespaced_with(self.client.clone(), "a", &resource),
            _ => Api::all_with(self.client.clone(), &resource),
        }
    }

    pub(crate) async fn post(&self, kind: &str, name: &str, more: Value) -> DynamicObject {
        let mut object = json!({ "apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": { "name": name } });
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let object = serde_json::from_value(object).unwrap();
        self.objects(kind).create(&PostParams::default(), &object).await.unwrap()
    }

    pub(crate) async fn bound(&self, name: &str) -> DynamicObject {
        let is_whole = |claim: &DynamicObject| {
            claim.data["status"]["bindingPhase"] == "Bound" && claim.data["status"]["binding"]["name"].is_string()
        };
        comes(&self.objects("Database"), name, is_whole).await
    }

    pub(crate) async fn servers(&self) -> Vec<DynamicObject> {
        self.objects("Server").list(&ListParams::default()).await.unwrap().items
    }

    /// What is a claim's is what it says, and nothing else says that it is the claim's.
    pub(crate) async fn check_claim(&self, claim: &DynamicObject) {
        let uid = claim.uid().unwrap();
        let servers = self.servers().await;
        let made: BTreeSet<String> =
            servers.iter().filter(|server| owner(server) == Some(&uid)).map(|server| server.uid().unwrap()).collect();
        let bindings = claim.data["status"]["bindings"].as_array().unwrap();
        let known: BTreeSet<String> =
            bindings.iter().map(|binding| binding["resourceRef"]["uid"].as_str().unwrap().to_owned()).collect();
        assert_eq!((&made, made.len()), (&known, 2), "{}", claim.name_any());
        let named = servers.iter().filter(|server| server.name_any().starts_with(&claim.name_any())).count();
        assert_eq!(named, 2, "nothing else was made for {}", claim.name_any());
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "a");
        let secret = secrets.get(&claim.name_any()).await.unwrap();
        assert_eq!(secret.owner_references()[0].uid, uid);
        assert!(secret.data.unwrap_or_default().contains_key("password"));
    }

    /// Deletes a claim whose controller ends after so many writes. Whether it has.
    pub(crate) async fn claim_removed(&self, name: &str, writes: usize, end: End) -> bool {
        let claims = self.objects("Database");
        claims.delete(name, &DeleteParams::default()).await.unwrap();
        let ended = self.run_brittle(controller, (writes, end), gone(&claims, name)).await;
        let _whole = self.claim_controller(self.client.clone());
        gone(&claims, name).await;
        gone(&Api::<Secret>::namespaced(self.client.clone(), "a"), name).await;
        let nothing = async {
            while self.servers().await.iter().any(|server| server.name_any().starts_with(name)) {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, nothing).await.unwrap_or_else(|_| panic!("something is left of {name}"));
        ended
    }
}

/// Writes the Secret of each server, as a provider does.
pub(crate) async fn provide(client: Client) {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1", "Server"), "servers");
    let servers: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let secrets: Api<Secret> = Api::namespaced(client, PROVIDER);
    loop {
        for server in servers.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default() {
            let secret = json!({
                "metadata": {
                    "name": server.name_any(),
                    "ownerReferences": [{
                        "apiVersion": format!("{GROUP}/v1"), "kind": "Server", "name": server.name_any(), "uid": server.uid(),
                        "controller": true,
                    }],
                },
                "data": { "password": "c2VjcmV0" },
            });
            // It may be there.
            drop(secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await);
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Whether a condition of a claim is not so, for this reason.
pub(crate) fn says(claim: &DynamicObject, condition: &str, reason: &str) -> bool {
    let conditions = claim.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let is_it = |found: &Value| found["type"] == condition && found["status"] == "False" && found["reason"] == reason;
    conditions.iter().any(is_it)
}

pub(crate) fn plural(kind: &str) -> String {
    match kind.to_lowercase() {
        kind if kind.ends_with('s') => format!("{kind}es"),
        kind => format!("{kind}s"),
    }
}

/// Whose a server says it is.
pub(crate) fn owner(server: &DynamicObject) -> Option<&String> {
    match &server.data["spec"]["claimRef"]["uid"] {
        Value::String(uid) => Some(uid),
        _ => None,
    }
}
