//! Claims of catalogs whose controller ends at every point at which it writes, and begins anew.

use std::collections::BTreeMap;

use bailiwick_api::{ConditionStatus, ResourceCatalog, ResourceCatalogClaim, ResourceCatalogEntry};
use bailiwick_controllers::{CatalogClaimController, Clients, GarbageCollector};
use bailiwick_registry::{Clock, SystemClock};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::brittle::End;
use crate::site::{Site, comes, gone};

async fn controller(clients: Clients) {
    CatalogClaimController::new(clients, || SystemClock.now()).run().await;
}

// === impl Site ===

impl Site {
    fn catalog_claims(&self) -> Api<ResourceCatalogClaim> {
        Api::namespaced(self.client.clone(), "a")
    }

    fn catalog_entries(&self) -> Api<ResourceCatalogEntry> {
        Api::namespaced(self.client.clone(), "b")
    }

    fn copies(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "a")
    }

    /// An entry of three ConfigMaps in a catalog, as it is when it has been accepted.
    async fn published(&self) {
        let catalogs: Api<ResourceCatalog> = Api::all(self.client.clone());
        self.make(&catalogs, json!({"metadata": {"name": "gold"}, "spec": {"selector": {}}})).await;
        let entry = json!({"metadata": {"name": "set"}, "spec": {"resourceList": {"resources": resources("1")}}});
        self.make(&self.catalog_entries(), entry).await;
        self.accept().await;
    }

    /// What the controller of catalogs says of the entry as it is now.
    async fn accept(&self) {
        let generation = self.catalog_entries().get("set").await.unwrap().metadata.generation;
        let status = json!({"status": {"catalogs": ["gold"], "generation": generation}});
        self.catalog_entries().patch_status("set", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }

    /// Changes what all claims are to follow.
    async fn change(&self, value: &str) {
        let spec = Patch::Merge(json!({"spec": {"resourceList": {"resources": resources(value)}}}));
        self.catalog_entries().patch("set", &PatchParams::default(), &spec).await.unwrap();
        self.accept().await;
    }

    async fn claim_set(&self, name: &str, policy: &str) {
        let entry = self.catalog_entries().get("set").await.unwrap();
        let reference = json!({"namespace": "b", "name": "set", "uid": entry.uid()});
        let finalizers = if policy == "Orphan" { vec![ResourceCatalogClaim::ORPHAN_FINALIZER] } else { Vec::new() };
        let claim = json!({
            "metadata": {"name": name, "finalizers": finalizers},
            "spec": {
                "catalogName": "gold", "resourceCatalogEntry": reference, "keepSynchronized": true,
                "namePrefix": format!("{name}-"), "deletionPolicy": policy,
            },
        });
        self.make(&self.catalog_claims(), claim).await;
    }

    /// Waits until a claim is as the entry is. Its copies are then all there is of it, with this value.
    async fn realized(&self, name: &str, value: &str) {
        let generation = self.catalog_entries().get("set").await.unwrap().metadata.generation;
        let claim = comes(&self.catalog_claims(), name, |claim| {
            let status = claim.status.clone().unwrap_or_default();
            let is = |wanted: &str| {
                let mut conditions = status.conditions.iter();
                conditions.any(|one| one.condition_type == wanted && one.status == ConditionStatus::True)
            };
            status.entry_generation == generation && is("Ready") && is("Synced")
        })
        .await;
        let status = claim.status.unwrap();
        let known: BTreeMap<String, String> =
            status.created_resources.into_iter().map(|made| (made.name, made.uid)).collect();
        let copies = self.copies_of(name).await;
        let made: BTreeMap<String, String> = copies.iter().map(|copy| (copy.name_any(), copy.uid().unwrap())).collect();
        assert_eq!(made, known, "it knows each of them");
        assert_eq!(made.len(), 3);
        for copy in copies {
            assert_eq!(copy.data.as_ref().unwrap()["v"], value, "{}", copy.name_any());
        }
    }

    async fn copies_of(&self, name: &str) -> Vec<ConfigMap> {
        let all = self.copies().list(&ListParams::default()).await.unwrap().items;
        all.into_iter().filter(|copy| copy.name_any().starts_with(&format!("{name}-"))).collect()
    }

    /// Deletes a claim whose controller ends after so many writes. Whether it has.
    async fn ended_while_going(&self, name: &str, point: (usize, End)) -> bool {
        self.catalog_claims().delete(name, &DeleteParams::default()).await.unwrap();
        let ended = self.run_brittle(controller, point, gone(&self.catalog_claims(), name)).await;
        let _whole = Self::start(self.client.clone(), controller);
        gone(&self.catalog_claims(), name).await;
        ended
    }
}

fn resources(value: &str) -> serde_json::Value {
    let map =
        |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"v": value}});
    json!([map("x"), map("y"), map("z")])
}

/// before and after each write, of what realizes a claim, follows a change, and lets go of what is to stay, another
/// controller finds what there is and comes to the same end: nothing is made twice, nothing is forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn they_converge_from_a_crash_at_every_write() {
    let mut site = Site::open().await;
    site.run(GarbageCollector::new(site.client.clone()).run());
    let accounts: Api<ServiceAccount> = Api::namespaced(site.client.clone(), "a");
    site.make(&accounts, json!({"metadata": {"name": "default"}})).await;
    site.published().await;
    let (mut points, mut value) = (0, 1);
    for end in [End::Before, End::After] {
        for writes in 0.. {
            let point = (writes, end);
            let name = format!("c-{writes}-{}", format!("{end:?}").to_lowercase());
            site.claim_set(&name, "Orphan").await;
            let while_made = site.run_brittle(controller, point, site.realized(&name, &value.to_string())).await;
            {
                let _whole = Site::start(site.client.clone(), controller);
                site.realized(&name, &value.to_string()).await;
            }
            value += 1;
            site.change(&value.to_string()).await;
            let while_followed = site.run_brittle(controller, point, site.realized(&name, &value.to_string())).await;
            {
                let _whole = Site::start(site.client.clone(), controller);
                site.realized(&name, &value.to_string()).await;
            }
            let while_going = site.ended_while_going(&name, point).await;
            for copy in site.copies_of(&name).await {
                assert!(copy.owner_references().is_empty(), "it stays, and is nobody's: {copy:?}");
                site.copies().delete(&copy.name_any(), &DeleteParams::default()).await.unwrap();
            }
            points += [while_made, while_followed, while_going].into_iter().filter(|ended| *ended).count();
            if !while_made && !while_followed && !while_going {
                break;
            }
            assert!(writes < 60, "it writes for ever");
        }
    }
    assert!(points >= 18, "{points} points were tried");
}
