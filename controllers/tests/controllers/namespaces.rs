//! Namespaces that end.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use bailiwick_api::ResourceCatalogClaim;
use bailiwick_controllers::NamespaceController;
use bailiwick_registry::{Clock, SystemClock};
use futures::future::join_all;
use http::Method;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::site::{Holds, Road, SOON, Site, comes, delete, gone, release, stays};

fn now() -> SystemTime {
    SystemClock.now()
}

impl Site {
    /// With a controller, and the road that it takes.
    async fn emptying() -> (Self, Road) {
        let mut site = Self::open().await;
        let (road, client) = site.road();
        site.empty_as(client);
        (site, road)
    }

    fn empty_as(&mut self, client: Client) {
        self.run(NamespaceController::new(client, now).run());
    }

    fn config_maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), namespace)
    }

    async fn held(&self, namespace: &str, name: &str, finalizers: &[&str]) -> ConfigMap {
        let object = json!({"metadata": {"name": name, "finalizers": finalizers}});
        self.make(&self.config_maps(namespace), object).await
    }

    async fn end(&self, namespace: &str) {
        self.namespaces().delete(namespace, &DeleteParams::default()).await.unwrap();
    }
}

/// What a namespace says: for each condition its status and its message.
fn conditions(namespace: &Namespace) -> BTreeMap<String, (String, String)> {
    let conditions = namespace.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.map(|one| (one.type_.clone(), (one.status.clone(), one.message.clone().unwrap()))).collect()
}

fn says(namespace: &Namespace, condition: &str, message: &str) -> bool {
    conditions(namespace).get(condition).is_some_and(|(status, found)| status == "True" && found.contains(message))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_goes_with_all_kinds_in_it_and_its_size_costs_no_requests() {
    let (site, road) = Site::emptying().await;
    let few = cost_of_ending(&site, &road, "few", 1).await;
    let many = cost_of_ending(&site, &road, "many", 300).await;
    // Each kind is asked for once, those that are there twice more; the rest is about the namespace itself.
    println!("{few} requests for a few objects, {many} for many");
    assert!(many <= few + 20 && many <= 100, "{few} {many}");
    stays(&site.namespaces(), "a").await;
}

/// How many requests it takes to end a namespace with so many config maps, and a few other objects.
async fn cost_of_ending(site: &Site, road: &Road, name: &str, size: usize) -> usize {
    site.namespace(name).await;
    let maps = site.config_maps(name);
    join_all((0..size).map(async |number| site.held(name, &format!("c-{number}"), &[]).await)).await;
    let secrets: Api<Secret> = Api::namespaced(site.client.clone(), name);
    site.make(&secrets, json!({"metadata": {"name": "s"}})).await;
    let leases: Api<Lease> = Api::namespaced(site.client.clone(), name);
    site.make(&leases, json!({"metadata": {"name": "l"}})).await;
    let claims: Api<ResourceCatalogClaim> = Api::namespaced(site.client.clone(), name);
    let entry = json!({"namespace": "publisher", "name": "database"});
    let spec = json!({"catalogName": "gold", "resourceCatalogEntry": entry});
    site.make(&claims, json!({"metadata": {"name": "c"}, "spec": spec})).await;
    let before = road.requests.load(Ordering::Relaxed);
    site.end(name).await;
    gone(&site.namespaces(), name).await;
    // What is there again is empty.
    site.namespace(name).await;
    assert_eq!(maps.list_metadata(&Default::default()).await.unwrap().items.len(), 0);
    assert_eq!(claims.list_metadata(&Default::default()).await.unwrap().items.len(), 0);
    assert!(leases.get_opt("l").await.unwrap().is_none() && secrets.get_opt("s").await.unwrap().is_none());
    road.requests.load(Ordering::Relaxed) - before
}

#[tokio::test]
async fn what_is_held_is_told_and_waited_for() {
    let (site, _) = Site::emptying().await;
    site.held("a", "one", &["x.dev/hold"]).await;
    site.held("a", "two", &["x.dev/hold", "y.dev/hold"]).await;
    site.held("a", "light", &[]).await;
    site.end("a").await;
    let waiting = comes(&site.namespaces(), "a", |namespace| conditions(namespace).len() == 5).await;
    let remaining = "Some resources are remaining: configmaps. has 2 resource instances";
    assert!(says(&waiting, "NamespaceContentRemaining", remaining), "{:?}", conditions(&waiting));
    let finalizers = "x.dev/hold in 2 resource instances, y.dev/hold in 1 resource instances";
    assert!(says(&waiting, "NamespaceFinalizersRemaining", finalizers), "{:?}", conditions(&waiting));
    assert_eq!(conditions(&waiting)["NamespaceDeletionContentFailure"].0, "False");
    assert!(site.config_maps("a").get("one").await.unwrap().metadata.deletion_timestamp.is_some());
    gone(&site.config_maps("a"), "light").await;

    let began = Instant::now();
    release(&site.config_maps("a"), "one").await;
    comes(&site.namespaces(), "a", |namespace| says(namespace, "NamespaceContentRemaining", "has 1 resource")).await;
    release(&site.config_maps("a"), "two").await;
    gone(&site.namespaces(), "a").await;
    assert!(began.elapsed() < Duration::from_secs(10), "it is noticed, not found by chance: {:?}", began.elapsed());
}

#[tokio::test]
async fn a_kind_that_cannot_be_emptied_is_told_and_keeps_nothing_else() {
    let (site, road) = Site::emptying().await;
    site.held("a", "light", &[]).await;
    *road.astray.lock().unwrap() = ("/leases", 6);
    site.end("a").await;
    let failure = |namespace: &Namespace| says(namespace, "NamespaceDeletionContentFailure", "leases");
    let troubled = comes(&site.namespaces(), "a", failure).await;
    assert!(troubled.metadata.deletion_timestamp.is_some());
    gone(&site.config_maps("a"), "light").await;
    gone(&site.namespaces(), "a").await;

    *road.astray.lock().unwrap() = ("/apis", 4);
    site.end("b").await;
    comes(&site.namespaces(), "b", |namespace| says(namespace, "NamespaceDeletionDiscoveryFailure", "")).await;
    gone(&site.namespaces(), "b").await;
}

/// Anyone may say when the fields of an object were written, also a time that clients cannot read.
#[tokio::test]
async fn a_namespace_goes_whatever_is_said_of_the_owners_of_fields() {
    let (site, _) = Site::emptying().await;
    site.namespace("n").await;
    site.held("n", "c", &[]).await;
    let owner = json!({
        "manager": "x", "operation": "Update", "apiVersion": "v1", "time": "9999-12-31T23:59:59Z",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}},
    });
    let params = PatchParams::default();
    for metadata in [json!({"labels": {"a": "b"}}), json!({"managedFields": [owner]})] {
        let patch = Patch::Merge(json!({"metadata": metadata}));
        site.config_maps("n").patch("c", &params, &patch).await.unwrap();
        site.namespaces().patch("n", &params, &patch).await.unwrap();
    }
    let owners = site.namespaces().get("n").await.unwrap().metadata.managed_fields.unwrap();
    assert!(owners.iter().any(|owner| owner.manager.as_deref() == Some("x")), "what was said is kept");
    site.end("n").await;
    gone(&site.namespaces(), "n").await;
}

#[tokio::test]
async fn others_may_hold_a_namespace_too() {
    let (site, _) = Site::emptying().await;
    let body = json!({"metadata": {"name": "c", "finalizers": ["x.dev/meta"]}, "spec": {"finalizers": ["x.dev/spec"]}});
    site.make(&site.namespaces(), body).await;
    site.held("c", "light", &[]).await;
    site.end("c").await;
    gone(&site.config_maps("c"), "light").await;
    let finalizers = |namespace: &Namespace| namespace.spec.clone().unwrap().finalizers.unwrap_or_default();
    let ours_is_gone = |namespace: &Namespace| finalizers(namespace) == ["x.dev/spec"];
    let mut held = comes(&site.namespaces(), "c", ours_is_gone).await;
    held.spec = None;
    site.namespaces().replace_subresource("finalize", "c", &PostParams::default(), &held).await.unwrap();
    stays(&site.namespaces(), "c").await;
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    site.namespaces().patch("c", &PatchParams::default(), &patch).await.unwrap();
    gone(&site.namespaces(), "c").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_of_them_do_no_harm_and_make_good_what_was_before() {
    let mut site = Site::open().await;
    let names: Vec<String> = (0..20).map(|number| format!("ns-{number}")).collect();
    join_all(names.iter().map(async |name| {
        site.namespace(name).await;
        site.held(name, "c", &[]).await;
        delete(&site.namespaces(), name, PropagationPolicy::Background).await;
    }))
    .await;
    for _ in 0..2 {
        let client = site.client.clone();
        site.empty_as(client);
    }
    for name in &names {
        gone(&site.namespaces(), name).await;
    }
    stays(&site.namespaces(), "a").await;
}

/// A controller that is behind touches nothing in a namespace that has taken the place of the one it was emptying, wherever
/// it was held up.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_late_leaves_the_next_namespace_alone() {
    let held_up: [(&str, Holds); 2] = [
        ("before it looks", |method, uri| method == Method::GET && uri.path().ends_with("/namespaces/a/configmaps")),
        ("before it deletes", |method, uri| {
            method == Method::DELETE && uri.path().ends_with("/namespaces/a/configmaps")
        }),
    ];
    for (when, holds) in held_up {
        let (mut site, road) = Site::emptying().await;
        site.held("a", "old", &[]).await;
        road.held.send_replace(Some(holds));
        site.end("a").await;
        timeout(SOON, async {
            while road.waited.load(Ordering::Relaxed) == 0 {
                sleep(Duration::from_millis(10)).await;
            }
        })
        .await
        .expect("it is held up");
        let other = site.client.clone();
        site.empty_as(other);
        gone(&site.namespaces(), "a").await;
        site.namespace("a").await;
        site.held("a", "old", &[]).await;
        site.held("a", "new", &[]).await;
        road.held.send_replace(None);
        println!("{when}");
        stays(&site.config_maps("a"), "old").await;
        site.config_maps("a").get("new").await.unwrap();
        assert!(site.namespaces().get("a").await.unwrap().metadata.deletion_timestamp.is_none());
    }
}
