//! Bundles whose controller ends at every point at which it writes, and begins anew.

use std::collections::BTreeMap;
use std::time::Duration;

use bailiwick_api::{Bundle, ConditionStatus};
use bailiwick_controllers::{BundleController, Clients, GarbageCollector};
use bailiwick_registry::{Clock, SystemClock};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::brittle::End;
use crate::site::{SOON, Site, comes, gone};

async fn controller(clients: Clients) {
    BundleController::new(clients, || SystemClock.now()).run().await;
}

// === impl Site ===

impl Site {
    fn bundle_controller(&self) -> AbortOnDropHandle<()> {
        Self::start(self.client.clone(), controller)
    }

    fn bundles(&self) -> Api<Bundle> {
        Api::namespaced(self.client.clone(), "a")
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "a")
    }

    /// A Bundle of a chain of three, as it is when it has been accepted.
    async fn chain(&self, name: &str, account: &ServiceAccount) {
        let part = |number: usize| {
            let before = (number > 0).then(|| format!("m{}", number - 1));
            let text = before.as_ref().map_or("begin".to_owned(), |before| format!("$({before}.data.x)."));
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{name}-{number}")}, "data": {"x": text},
            });
            json!({"name": format!("m{number}"), "dependsOn": before.into_iter().collect::<Vec<_>>(), "spec": object})
        };
        let bundle = json!({
            "metadata": {"name": name, "finalizers": [Bundle::FINALIZER]},
            "spec": {"resources": [part(0), part(1), part(2)]},
        });
        self.make(&self.bundles(), bundle).await;
        let status = Patch::Merge(json!({"status": {"serviceAccountUID": account.uid()}}));
        self.bundles().patch_status(name, &PatchParams::default(), &status).await.unwrap();
    }

    async fn is_ready(&self, name: &str) -> Bundle {
        comes(&self.bundles(), name, |bundle| {
            let conditions = bundle.status.iter().flat_map(|status| &status.conditions);
            conditions.into_iter().any(|found| found.condition_type == "Ready" && found.status == ConditionStatus::True)
        })
        .await
    }

    /// The objects of a Bundle are those that it should have, and it knows each of them.
    async fn check(&self, name: &str, bundle: &Bundle) {
        let all = self.maps().list(&ListParams::default()).await.unwrap().items;
        let made: BTreeMap<String, String> = all
            .iter()
            .filter(|map| map.name_any().starts_with(&format!("{name}-")))
            .map(|map| (map.name_any(), map.uid().unwrap()))
            .collect();
        let status = bundle.status.as_ref().unwrap();
        let known: BTreeMap<String, String> =
            status.inventory.iter().map(|item| (item.object.name.clone(), item.object.uid.clone())).collect();
        assert_eq!(made, known);
        assert_eq!((made.len(), status.inventory.len(), status.ready.as_deref()), (3, 3, Some("3/3")));
        let last = all.iter().find(|map| map.name_any() == format!("{name}-2")).unwrap();
        assert_eq!(last.data.as_ref().unwrap()["x"], "begin..");
    }
}

/// before and after each write, of what makes a Bundle and of what removes it, another controller finds what there is and
/// comes to the same end: nothing is made twice, nothing is left.
#[tokio::test(flavor = "multi_thread")]
async fn it_converges_from_a_crash_at_every_write() {
    let mut site = Site::open().await;
    site.run(GarbageCollector::new(site.client.clone()).run());
    let accounts: Api<ServiceAccount> = Api::namespaced(site.client.clone(), "a");
    let account = site.make(&accounts, json!({"metadata": {"name": "default"}})).await;
    let mut points = 0;
    for end in [End::Before, End::After] {
        for writes in 0.. {
            let name = format!("made-{writes}-{}", format!("{end:?}").to_lowercase());
            site.chain(&name, &account).await;
            let ended = site.run_brittle(controller, (writes, end), async { drop(site.is_ready(&name).await) }).await;
            {
                let _whole = site.bundle_controller();
                let bundle = site.is_ready(&name).await;
                site.check(&name, &bundle).await;
            }
            points += usize::from(ended);
            let removed = site.removed(&name, writes, end).await;
            points += usize::from(removed);
            if !ended && !removed {
                break;
            }
            assert!(writes < 60, "it writes for ever");
        }
    }
    assert!(points >= 20, "{points} points were tried");
}

impl Site {
    /// Deletes a Bundle whose controller ends after so many writes. Whether it has.
    async fn removed(&self, name: &str, writes: usize, end: End) -> bool {
        self.bundles().delete(name, &DeleteParams::default()).await.unwrap();
        let ended = self.run_brittle(controller, (writes, end), gone(&self.bundles(), name)).await;
        let _whole = self.bundle_controller();
        gone(&self.bundles(), name).await;
        let nothing = async {
            while self
                .maps()
                .list(&ListParams::default())
                .await
                .unwrap()
                .items
                .iter()
                .any(|map| map.name_any().starts_with(&format!("{name}-")))
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, nothing).await.unwrap_or_else(|_| panic!("something is left of {name}"));
        ended
    }
}
