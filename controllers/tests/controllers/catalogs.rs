//! Catalogs whose controller ends at every point at which it writes, and begins anew; and one that accepts otherwise.

use std::sync::Arc;

use bailiwick_api::{ResourceCatalog, ResourceCatalogEntry};
use bailiwick_controllers::{Accept, Acceptance, Candidate, CannotTell, CatalogController, Clients};
use bailiwick_registry::{Clock, SystemClock};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::brittle::End;
use crate::site::{Site, comes};

async fn controller(clients: Clients) {
    CatalogController::new(clients, || SystemClock.now()).run().await;
}

/// Whoever comes from this namespace is refused.
struct Except(&'static str);

impl Accept for Except {
    fn accept<'a>(
        &'a self,
        _: &'a ResourceCatalog,
        entry: Candidate<'a>,
    ) -> BoxFuture<'a, Result<Acceptance, CannotTell>> {
        let answer = match entry.namespace == self.0 {
            true => Acceptance::Refused { reason: "Evil".to_owned(), message: "nothing comes from there".to_owned() },
            false => Acceptance::Accepted,
        };
        async move { Ok(answer) }.boxed()
    }
}

// === impl Site ===

impl Site {
    fn catalogs(&self) -> Api<ResourceCatalog> {
        Api::all(self.client.clone())
    }

    fn entries_in(&self, namespace: &str) -> Api<ResourceCatalogEntry> {
        Api::namespaced(self.client.clone(), namespace)
    }

    async fn make_entry(&self, namespace: &str, name: &str) {
        let extension = json!({"apiVersion": "x/v1", "kind": "Foo"});
        let entry = json!({"metadata": {"name": name, "labels": {"tier": "gold"}}, "spec": {"extension": extension}});
        self.make(&self.entries_in(namespace), entry).await;
    }

    async fn make_catalog(&self) {
        let spec = json!({"selector": {"tier": "gold"}, "accept": {"policy": "All"}});
        self.make(&self.catalogs(), json!({"metadata": {"name": "gold"}, "spec": spec})).await;
    }

    /// Waits until the catalog shows these entries of `a`, and each of them says so.
    async fn shows(&self, wanted: &[String]) {
        comes(&self.catalogs(), "gold", |catalog| {
            let status = catalog.status.clone().unwrap_or_default();
            let names: Vec<String> = status.entries.into_iter().map(|info| info.name).collect();
            names == wanted && status.entry_count == i64::try_from(wanted.len()).ok()
        })
        .await;
        for name in wanted {
            let entry = self.entries_in("a").get(name).await.unwrap();
            assert_eq!(entry.status.unwrap().catalogs, ["gold"], "{name}");
        }
    }
}

/// R-26, CAT-13, CAT-16: before and after each write, of what puts entries into a catalog and takes them out, another controller
/// comes to the same end.
#[tokio::test(flavor = "multi_thread")]
async fn they_converge_from_a_crash_at_every_write() {
    let site = Site::open().await;
    site.make_catalog().await;
    let mut points = 0;
    for end in [End::Before, End::After] {
        for writes in 0.. {
            let point = (writes, end);
            let names = ["x", "y", "z"].map(|name| format!("{name}-{writes}"));
            for name in &names {
                site.make_entry("a", name).await;
            }
            let while_put_in = site.run_brittle(controller, point, site.shows(&names)).await;
            {
                let _whole = Site::start(site.client.clone(), controller);
                site.shows(&names).await;
            }
            // One is gone, and one is not selected any more.
            site.entries_in("a").delete(&names[0], &DeleteParams::default()).await.unwrap();
            let unlabelled = Patch::Merge(json!({"metadata": {"labels": null}}));
            site.entries_in("a").patch(&names[1], &PatchParams::default(), &unlabelled).await.unwrap();
            let while_taken_out = site.run_brittle(controller, point, site.shows(&names[2..])).await;
            {
                let _whole = Site::start(site.client.clone(), controller);
                site.shows(&names[2..]).await;
                comes(&site.entries_in("a"), &names[1], |entry| {
                    entry.status.as_ref().is_some_and(|status| status.catalogs.is_empty())
                })
                .await;
                for name in &names[1..] {
                    site.entries_in("a").delete(name, &DeleteParams::default()).await.unwrap();
                }
                site.shows(&[]).await;
            }
            points += [while_put_in, while_taken_out].into_iter().filter(|ended| *ended).count();
            if !while_put_in && !while_taken_out {
                break;
            }
            assert!(writes < 60, "it writes for ever");
        }
    }
    assert!(points >= 8, "{points} points were tried");
}

/// CAT-14: who embeds the controller decides by their own rules what is accepted, and publishers are told why it is not.
#[tokio::test(flavor = "multi_thread")]
async fn others_can_decide_what_is_accepted() {
    let site = Site::open().await;
    site.make_catalog().await;
    let _controller = Site::start(site.client.clone(), async |clients| {
        let controller = CatalogController::new(clients, || SystemClock.now());
        controller.accepting_by(Arc::new(Except("b"))).run().await;
    });
    for namespace in ["a", "b"] {
        site.make_entry(namespace, "one").await;
    }
    site.shows(&["one".to_owned()]).await;
    let refused = comes(&site.entries_in("b"), "one", |entry| {
        entry.status.as_ref().is_some_and(|status| !status.errors.is_empty())
    })
    .await;
    let error = &refused.status.unwrap().errors[0];
    assert_eq!((&*error.catalog, &*error.reason, &*error.message), ("gold", "Evil", "nothing comes from there"));
}
