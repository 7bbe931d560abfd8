//! Kinds of classes in several versions: each definition reads them in the one that it names.

use bailiwick_api::{BINDING_DEFINITION_FINALIZER, ResourceBindingDefinition};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::claim_site::GROUP;
use crate::site::{Site, comes, gone, stays};

// === impl Site ===

impl Site {
    /// A kind of classes with a field that only its second version has.
    async fn define_plans(&self) {
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let version = |name: &str, properties: Value| {
            json!({
                "name": name, "served": true, "storage": name == "v2",
                "schema": { "openAPIV3Schema": { "type": "object", "properties": properties } },
            })
        };
        let definition = json!({
            "metadata": { "name": format!("planclasses.{GROUP}") },
            "spec": {
                "group": GROUP, "scope": "Cluster", "names": { "kind": "PlanClass", "plural": "planclasses" },
                "versions": [version("v1", json!({ "old": open })), version("v2", json!({ "old": open, "new": open }))],
            },
        });
        self.make(&Api::<CustomResourceDefinition>::all(self.client.clone()), definition).await;
    }

    fn plans(&self, version: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(GROUP, version, "PlanClass");
        Api::all_with(self.client.clone(), &ApiResource::from_gvk_with_plural(&kind, "planclasses"))
    }

    /// A definition for a kind of claims, whose servers are made of a field of plans of this version.
    async fn define_by_plan(&self, name: &str, claim: &str, version: &str, field: &str) {
        let entry = json!({
            "resource": { "apiVersion": format!("{GROUP}/v1"), "kind": "Server" },
            "class": {
                "apiVersion": format!("{GROUP}/{version}"), "kind": "PlanClass",
                "strategies": {
                    "provisioning": ["overlay"],
                    "overlay": [{ "fromClassField": format!(".{field}"), "toResourceField": ".spec" }],
                },
            },
        });
        let definition = json!({
            "metadata": { "name": name, "finalizers": [BINDING_DEFINITION_FINALIZER] },
            "spec": { "claim": { "apiVersion": format!("{GROUP}/v1"), "kind": claim }, "resources": [entry] },
        });
        self.make(&Api::<ResourceBindingDefinition>::all(self.client.clone()), definition).await;
    }
}

/// RCD-24, RCD-29: definitions that name one kind of classes in different versions each read it in their own; a class is held
/// for the claims of both.
#[tokio::test(flavor = "multi_thread")]
async fn each_definition_reads_classes_in_its_own_version() {
    let site = Site::open().await;
    site.furnish_one().await;
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    site.define("Cache", "Namespaced", json!({ "spec": open, "status": open })).await;
    site.define_plans().await;
    site.define_by_plan("a-caches", "Cache", "v1", "old").await;
    site.define_by_plan("z-databases", "Database", "v2", "new").await;
    let annotations = json!({ "claim.bailiwick.dev/is-default-class": "true" });
    for (version, name, field) in [("v1", "early", "old"), ("v2", "late", "new")] {
        let class = json!({
            "apiVersion": format!("{GROUP}/{version}"), "kind": "PlanClass",
            "metadata": { "name": name, "annotations": annotations }, field: { "size": 7 },
        });
        site.plans(version).create(&PostParams::default(), &serde_json::from_value(class).unwrap()).await.unwrap();
    }
    let _whole = site.claim_controller(site.client.clone());
    let named = |class: &str| json!({ "spec": { "classRef": { "kind": "PlanClass", "name": class } } });
    site.post("Database", "db", named("late")).await;
    let caches: Api<DynamicObject> = {
        let kind = GroupVersionKind::gvk(GROUP, "v1", "Cache");
        Api::namespaced_with(site.client.clone(), "a", &ApiResource::from_gvk_with_plural(&kind, "caches"))
    };
    let mut cache = json!({ "apiVersion": format!("{GROUP}/v1"), "kind": "Cache", "metadata": { "name": "cache" } });
    cache["spec"] = named("early")["spec"].clone();
    caches.create(&PostParams::default(), &serde_json::from_value(cache).unwrap()).await.unwrap();
    let claims = site.objects("Database");
    for (claims, name, version) in [(&claims, "db", "v2"), (&caches, "cache", "v1")] {
        let claim = comes(claims, name, |claim| claim.data["status"]["bindingPhase"] == "Bound").await;
        let binding = &claim.data["status"]["bindings"][0];
        assert_eq!(binding["classRef"]["apiVersion"], format!("{GROUP}/{version}"));
        let server = site.objects("Server").get(binding["resourceRef"]["name"].as_str().unwrap()).await.unwrap();
        assert_eq!(server.data["spec"]["size"], 7, "{name}");
    }
    // It is held once, whatever the version, and free when its claim has gone.
    for name in ["early", "late"] {
        site.plans("v1").delete(name, &DeleteParams::default()).await.unwrap();
    }
    let held = stays(&site.plans("v1"), "late").await;
    assert_eq!(held.finalizers().len(), 1, "{held:#?}");
    stays(&site.plans("v2"), "early").await;
    claims.delete("db", &DeleteParams::default()).await.unwrap();
    gone(&site.plans("v2"), "late").await;
    caches.delete("cache", &DeleteParams::default()).await.unwrap();
    gone(&site.plans("v1"), "early").await;
    assert!(site.servers().await.is_empty());
}
