//! Claims of catalogs whose controller ends at every point at which it writes, and begins anew.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bailiwick_api::{ConditionStatus, ResourceCatalog, ResourceCatalogClaim, ResourceCatalogEntry};
use bailiwick_controllers::{CatalogClaimController, Clients};
use bailiwick_registry::{Clock, SystemClock};
use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::brittle::End;
use crate::site::{A_WHILE, SOON, Site, comes, gone};

/// What there is of each entry, and of each claim.
const NAMES: [&str; 3] = ["x", "y", "z"];

async fn controller(clients: Clients) {
    CatalogClaimController::new(clients, || SystemClock.now()).run().await;
}

/// How an entry has what it publishes.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// In itself.
    List,
    /// As resources of its namespace.
    Local,
}

/// A server with an entry of three ConfigMaps in a catalog. Garbage is collected; what controls claims is up to each test.
struct Shop {
    site: Site,
    content: Content,
}

// === impl Shop ===

impl Shop {
    async fn open(content: Content) -> Self {
        let (site, _) = Site::open_with_account().await;
        let shop = Self { site, content };
        let catalogs: Api<ResourceCatalog> = Api::all(shop.site.client.clone());
        shop.site.make(&catalogs, json!({"metadata": {"name": "gold"}, "spec": {"selector": {}}})).await;
        let accounts: Api<ServiceAccount> = Api::namespaced(shop.site.client.clone(), "b");
        for name in ["default", "publisher"] {
            shop.site.make(&accounts, json!({"metadata": {"name": name}})).await;
        }
        let spec = match content {
            Content::List => json!({"resourceList": {"resources": resources("1")}}),
            Content::Local => {
                for mut source in resources("1") {
                    source["metadata"]["namespace"] = json!("b");
                    shop.site.make(&shop.config_maps("b"), source).await;
                }
                let exposed = NAMES.map(|name| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name}));
                json!({"serviceAccountName": "publisher", "localResources": {"exposedResources": exposed}})
            }
        };
        shop.site.make(&shop.entries(), json!({"metadata": {"name": "set"}, "spec": spec})).await;
        shop.accept().await;
        shop
    }

    fn claims(&self, namespace: &str) -> Api<ResourceCatalogClaim> {
        Api::namespaced(self.site.client.clone(), namespace)
    }

    fn entries(&self) -> Api<ResourceCatalogEntry> {
        Api::namespaced(self.site.client.clone(), "b")
    }

    fn config_maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.site.client.clone(), namespace)
    }

    /// What is said of the entry as it is now: by who wrote it, and by the controller of catalogs.
    async fn accept(&self) {
        let generation = self.entries().get("set").await.unwrap().metadata.generation;
        let mut status = json!({"catalogs": ["gold"], "generation": generation});
        if let Content::Local = self.content {
            let account: Api<ServiceAccount> = Api::namespaced(self.site.client.clone(), "b");
            let account = account.get("publisher").await.unwrap();
            status["serviceAccount"] = json!({"name": "publisher", "uid": account.uid()});
            let mut exposed = Vec::new();
            for name in NAMES {
                let uid = self.config_maps("b").get(name).await.unwrap().uid();
                exposed.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}));
            }
            status["localResources"] = json!({"exposedResources": exposed});
        }
        let status = Patch::Merge(json!({"status": status}));
        self.entries().patch_status("set", &PatchParams::default(), &status).await.unwrap();
    }

    /// Changes what all claims are to follow.
    async fn change(&self, value: &str) {
        match self.content {
            Content::List => {
                let spec = Patch::Merge(json!({"spec": {"resourceList": {"resources": resources(value)}}}));
                self.entries().patch("set", &PatchParams::default(), &spec).await.unwrap();
                self.accept().await;
            }
            Content::Local => {
                for name in NAMES {
                    let data = Patch::Merge(json!({"data": {"v": value}}));
                    self.config_maps("b").patch(name, &PatchParams::default(), &data).await.unwrap();
                }
            }
        }
    }

    async fn claim(&self, name: &str, policy: &str) {
        self.claim_in("a", name, policy).await;
    }

    async fn claim_in(&self, namespace: &str, name: &str, policy: &str) {
        let entry = self.entries().get("set").await.unwrap();
        let reference = json!({"namespace": "b", "name": "set", "uid": entry.uid()});
        let finalizers = if policy == "Orphan" { vec![ResourceCatalogClaim::ORPHAN_FINALIZER] } else { Vec::new() };
        let claim = json!({
            "metadata": {"name": name, "finalizers": finalizers},
            "spec": {
                "catalogName": "gold", "resourceCatalogEntry": reference, "keepSynchronized": true,
                "namePrefix": format!("{name}-"), "deletionPolicy": policy,
            },
        });
        self.site.make(&self.claims(namespace), claim).await;
    }

    /// Waits until a claim is as the entry is. Its copies are then all there is of it, with this value.
    async fn realized(&self, name: &str, value: &str) {
        self.realized_in("a", name, value).await;
    }

    async fn realized_in(&self, namespace: &str, name: &str, value: &str) {
        let generation = self.entries().get("set").await.unwrap().metadata.generation;
        let is_realized = async || {
            let status = self.claims(namespace).get(name).await.unwrap().status.unwrap_or_default();
            let is = |wanted: &str| {
                let mut conditions = status.conditions.iter();
                conditions.any(|one| one.condition_type == wanted && one.status == ConditionStatus::True)
            };
            let copies = self.copies_in(namespace, name).await;
            let is_new = copies.iter().all(|copy| copy.data.as_ref().is_some_and(|data| data["v"] == value));
            status.entry_generation == generation && is("Ready") && is("Synced") && is_new
        };
        until(&format!("{name} is realized with {value}, {:?}", self.content), is_realized).await;
        let status = self.claims(namespace).get(name).await.unwrap().status.unwrap();
        let known: BTreeMap<String, String> =
            status.created_resources.into_iter().map(|made| (made.name, made.uid)).collect();
        let copies = self.copies_in(namespace, name).await;
        let made: BTreeMap<String, String> = copies.iter().map(|copy| (copy.name_any(), copy.uid().unwrap())).collect();
        assert_eq!(made, known, "it knows each of them");
        assert_eq!(made.len(), NAMES.len());
    }

    async fn copies_of(&self, name: &str) -> Vec<ConfigMap> {
        self.copies_in("a", name).await
    }

    async fn copies_in(&self, namespace: &str, name: &str) -> Vec<ConfigMap> {
        let all = self.config_maps(namespace).list(&ListParams::default()).await.unwrap().items;
        all.into_iter().filter(|copy| copy.name_any().starts_with(&format!("{name}-"))).collect()
    }

    async fn delete(&self, name: &str) {
        self.claims("a").delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Runs a controller that ends after so many writes. Whether it has before the claim was realized.
    async fn ends_before(&self, point: (usize, End), name: &str, value: &str) -> bool {
        self.site.run_brittle(controller, point, self.realized(name, value)).await
    }

    /// Realizes a claim, whoever has begun with it.
    async fn realize(&self, name: &str, value: &str) {
        let _whole = Site::start(self.site.client.clone(), controller);
        self.realized(name, value).await;
    }

    /// Deletes a claim whose controller ends after so many writes. Whether it has.
    async fn ended_while_going(&self, name: &str, point: (usize, End)) -> bool {
        self.delete(name).await;
        let ended = self.site.run_brittle(controller, point, gone(&self.claims("a"), name)).await;
        let _whole = Site::start(self.site.client.clone(), controller);
        gone(&self.claims("a"), name).await;
        ended
    }
}

fn resources(value: &str) -> [Value; 3] {
    NAMES.map(|name| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"v": value}}))
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let coming = async {
        while !is_so().await {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, coming).await.unwrap_or_else(|_| panic!("not so: {what}"));
}

/// Tries both ends of each write, until none is left: what is tried says how many times its controller has ended. Gives the sum.
async fn at_every_write(is_ended: impl AsyncFn(String, (usize, End)) -> usize) -> usize {
    let mut points = 0;
    for end in [End::Before, End::After] {
        for writes in 0.. {
            let name = format!("c-{writes}-{}", format!("{end:?}").to_lowercase());
            let ended = is_ended(name, (writes, end)).await;
            points += ended;
            if ended == 0 {
                break;
            }
            assert!(writes < 60, "it writes for ever");
        }
    }
    points
}

/// before and after each write, of what realizes a claim, follows a change, and lets go of what is to stay, another
/// controller finds what there is and comes to the same end: nothing is made twice, nothing is forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn they_converge_from_a_crash_at_every_write() {
    for content in [Content::List, Content::Local] {
        let (shop, value) = (Shop::open(content).await, AtomicUsize::new(1));
        let points = at_every_write(async |name, point| {
            shop.claim(&name, "Orphan").await;
            let old = value.fetch_add(1, Ordering::Relaxed);
            let (old, new) = (old.to_string(), (old + 1).to_string());
            let while_made = shop.ends_before(point, &name, &old).await;
            shop.realize(&name, &old).await;
            shop.change(&new).await;
            let while_followed = shop.ends_before(point, &name, &new).await;
            shop.realize(&name, &new).await;
            let while_going = shop.ended_while_going(&name, point).await;
            let left = shop.copies_of(&name).await;
            assert_eq!(left.len(), NAMES.len(), "{content:?} {point:?}");
            for copy in left {
                assert!(copy.owner_references().is_empty(), "it stays, and is nobody's: {copy:?}");
                shop.config_maps("a").delete(&copy.name_any(), &DeleteParams::default()).await.unwrap();
            }
            [while_made, while_followed, while_going].into_iter().filter(|ended| *ended).count()
        })
        .await;
        assert!(points >= 18, "{points} points were tried, {content:?}");
    }
}

/// a claim may be deleted wherever its controller has ended, while it made what the claim asks for and while it followed a
/// change: all of that goes with the claim, whoever goes on, and what it was made of stays.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_made_goes_with_its_claim() {
    for content in [Content::List, Content::Local] {
        let (shop, value) = (Shop::open(content).await, AtomicUsize::new(1));
        let points = at_every_write(async |name, point| {
            let (made, followed) = (format!("{name}-made"), format!("{name}-followed"));
            let old = value.fetch_add(1, Ordering::Relaxed);
            let (old, new) = (old.to_string(), (old + 1).to_string());
            shop.claim(&made, "Delete").await;
            let while_made = shop.ends_before(point, &made, &old).await;
            let mut while_going = shop.ended_while_going(&made, point).await;
            shop.claim(&followed, "Delete").await;
            shop.realize(&followed, &old).await;
            shop.change(&new).await;
            let while_followed = shop.ends_before(point, &followed, &new).await;
            while_going |= shop.ended_while_going(&followed, point).await;
            assert!(!while_going, "nobody has to write anything for that");
            until(&format!("{name} has left nothing, {content:?}"), async || shop.copies_of(&name).await.is_empty())
                .await;
            if let Content::Local = content {
                shop.config_maps("b").get("x").await.unwrap();
            }
            [while_made, while_followed].into_iter().filter(|ended| *ended).count()
        })
        .await;
        assert!(points >= 12, "{points} points were tried, {content:?}");
    }
}

/// what was asked for before its claim went may be made after: it goes as well.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_too_late_goes_as_well() {
    let shop = Shop::open(Content::Local).await;
    let (road, client) = shop.site.road();
    let _slow = Site::start(client, controller);
    road.held
        .send_replace(Some(|method, uri| method == Method::POST && uri.path().ends_with("/namespaces/a/configmaps")));
    shop.claim("late", "Delete").await;
    until("something is about to be made", async || road.waited.load(Ordering::Relaxed) > 0).await;
    shop.delete("late").await;
    gone(&shop.claims("a"), "late").await;
    road.held.send_replace(None);
    sleep(A_WHILE).await;
    until("nothing is left", async || shop.copies_of("late").await.is_empty()).await;
    assert!(shop.config_maps("b").get("x").await.is_ok());
}

/// D-14: whatever makes the claims of a namespace wait, however many there are, those of another are realized meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn claims_that_wait_delay_no_other_namespace() {
    let shop = Shop::open(Content::List).await;
    let (road, client) = shop.site.road();
    road.held
        .send_replace(Some(|method, uri| method == Method::POST && uri.path().ends_with("/namespaces/a/configmaps")));
    let _slow = Site::start(client, controller);
    for number in 0..100 {
        shop.claim(&format!("slow-{number}"), "Delete").await;
    }
    until("some wait", async || road.waited.load(Ordering::Relaxed) >= 16).await;
    shop.claim_in("b", "quick", "Delete").await;
    shop.realized_in("b", "quick", "1").await;
    sleep(A_WHILE).await;
    assert_eq!(road.waited.load(Ordering::Relaxed), 16, "half of the workers");
    road.held.send_replace(None);
    for number in 0..100 {
        shop.realized(&format!("slow-{number}"), "1").await;
    }
}

/// a copy that someone else deleted is made anew; wherever the controller ends meanwhile, whoever lets go of the copies of a
/// claim then lets go of the new one as well.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_anew_is_let_go_of() {
    let shop = Shop::open(Content::List).await;
    let points = at_every_write(async |name, point| {
        shop.claim(&name, "Orphan").await;
        shop.realize(&name, "1").await;
        let gone_one = format!("{name}-y");
        let old = shop.config_maps("a").get(&gone_one).await.unwrap().uid();
        shop.config_maps("a").delete(&gone_one, &DeleteParams::default()).await.unwrap();
        let is_known = |claim: &ResourceCatalogClaim| {
            let mut made = claim.status.iter().flat_map(|status| &status.created_resources);
            made.any(|made| made.name == gone_one && Some(&made.uid) != old.as_ref())
        };
        let remade = async { drop(comes(&shop.claims("a"), &name, is_known).await) };
        let ended = shop.site.run_brittle(controller, point, remade).await;
        let uids = |copies: Vec<ConfigMap>| copies.iter().map(ResourceExt::uid).collect::<Vec<_>>();
        let made = uids(shop.copies_of(&name).await);
        shop.delete(&name).await;
        let _whole = Site::start(shop.site.client.clone(), controller);
        gone(&shop.claims("a"), &name).await;
        let left = shop.copies_of(&name).await;
        assert!(left.iter().all(|copy| copy.owner_references().is_empty()), "{point:?}");
        assert_eq!(uids(left), made, "{point:?}");
        usize::from(ended)
    })
    .await;
    assert!(points >= 2, "{points} points were tried");
}

/// what the entry has may change before another controller goes on: what was made before that, and told of nowhere, is made
/// as the entry is then.
#[tokio::test(flavor = "multi_thread")]
async fn what_changed_after_a_crash_is_followed() {
    for content in [Content::List, Content::Local] {
        let (shop, value) = (Shop::open(content).await, AtomicUsize::new(1));
        let points = at_every_write(async |name, point| {
            shop.claim(&name, "Delete").await;
            let old = value.fetch_add(1, Ordering::Relaxed);
            let ended = shop.ends_before(point, &name, &old.to_string()).await;
            let new = (old + 1).to_string();
            shop.change(&new).await;
            shop.realize(&name, &new).await;
            shop.delete(&name).await;
            gone(&shop.claims("a"), &name).await;
            usize::from(ended)
        })
        .await;
        // Before and after each of three creations and before the status; after it, all is there whether or not that is the end.
        assert!(points >= 7, "{points} points were tried, {content:?}");
    }
}

/// a claim whose resources are to stay may be deleted while they are made, before anyone has told of them: they stay.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_made_last_is_let_go_of_too() {
    for content in [Content::List, Content::Local] {
        let shop = Shop::open(content).await;
        let points = at_every_write(async |name, point| {
            shop.claim(&name, "Orphan").await;
            let ended = shop.ends_before(point, &name, "1").await;
            let made = shop.copies_of(&name).await.len();
            shop.delete(&name).await;
            let _whole = Site::start(shop.site.client.clone(), controller);
            gone(&shop.claims("a"), &name).await;
            let left = shop.copies_of(&name).await;
            assert_eq!(left.len(), made, "{content:?} {point:?}");
            assert!(left.iter().all(|copy| copy.owner_references().is_empty()), "{content:?} {point:?}");
            usize::from(ended)
        })
        .await;
        // Before and after each of three creations and before the status; after it, all is there whether or not that is the end.
        assert!(points >= 7, "{points} points were tried, {content:?}");
    }
}

/// wherever its controller has ended while it made what a claim asks for, the entry may lose a resource, or the claim give
/// them other names: what was made and is not wanted any more goes, whoever goes on.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_wanted_any_more_is_not_forgotten() {
    let shop = Shop::open(Content::List).await;
    let points = at_every_write(async |name, point| {
        shop.change("1").await;
        shop.claim(&name, "Delete").await;
        let followed = point.0 % 2 == 0;
        let patch = |spec: Value| Patch::Merge(json!({ "spec": spec }));
        let params = PatchParams::default();
        shop.claims("a").patch(&name, &params, &patch(json!({ "keepSynchronized": followed }))).await.unwrap();
        let ready = async {
            let is_ready = |claim: &ResourceCatalogClaim| {
                claim.status.as_ref().is_some_and(|status| status.entry_generation.is_some())
            };
            drop(comes(&shop.claims("a"), &name, is_ready).await);
        };
        let ended = shop.site.run_brittle(controller, point, ready).await;
        if ended {
            // The entry has two of them from now on, and the claim calls them otherwise.
            let fewer = json!({ "resourceList": { "resources": &resources("1")[1..] } });
            shop.entries().patch("set", &params, &patch(fewer)).await.unwrap();
            shop.accept().await;
            let prefix = format!("{name}-new-");
            shop.claims("a")
                .patch(&name, &params, &patch(json!({ "namePrefix": prefix, "generation": 7 })))
                .await
                .unwrap();
            let _whole = Site::start(shop.site.client.clone(), controller);
            let wanted = [format!("{prefix}y"), format!("{prefix}z")];
            until(&format!("{name} has what it wants, {point:?}"), async || {
                let copies: Vec<String> = shop.copies_of(&name).await.iter().map(ResourceExt::name_any).collect();
                let status = shop.claims("a").get(&name).await.unwrap().status.unwrap_or_default();
                let told: Vec<String> = status.created_resources.into_iter().map(|made| made.name).collect();
                copies == wanted && told == wanted && status.pending_resources.is_empty() && status.errors.is_empty()
            })
            .await;
        }
        shop.delete(&name).await;
        gone(&shop.claims("a"), &name).await;
        usize::from(ended)
    })
    .await;
    // Before and after what is written down, three creations, and the status but the last.
    assert!(points >= 9, "{points} points were tried");
}

/// CAT-55: somebody else who changes a copy as often as it is put right does not keep the two at it for ever: the claim says who it
/// is, and which field. It does not matter which of them is faster.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_keeps_changing_a_copy_is_told_of() {
    let shop = Shop::open(Content::List).await;
    let _controller = Site::start(shop.site.client.clone(), controller);
    shop.claim("own", "Delete").await;
    shop.realized("own", "1").await;
    let changes = Arc::new(AtomicUsize::new(0));
    let (copies, counted) = (shop.config_maps("a"), changes.clone());
    let _other = AbortOnDropHandle::new(tokio::spawn(async move {
        let params = PatchParams { field_manager: Some("other".to_owned()), ..PatchParams::default() };
        loop {
            let copy = copies.get("own-y").await.unwrap();
            if copy.data.is_some_and(|data| data["v"] == "1") {
                let theirs = Patch::Merge(json!({"data": {"v": "2"}}));
                copies.patch("own-y", &params, &theirs).await.unwrap();
                counted.fetch_add(1, Ordering::Relaxed);
            }
            sleep(Duration::from_millis(1)).await;
        }
    }));
    let told = comes(&shop.claims("a"), "own", |claim| {
        let status = claim.status.clone().unwrap_or_default();
        status.conditions.iter().any(|one| one.condition_type == "Synced" && one.reason == "UpdateLoop")
    })
    .await;
    let status = told.status.unwrap();
    let synced = status.conditions.iter().find(|one| one.condition_type == "Synced").unwrap();
    assert_eq!(synced.status, ConditionStatus::False);
    assert!(synced.message.starts_with("ConfigMap \"own-y\": \"other\" also sets .data.v; "), "{}", synced.message);
    assert!(status.conditions.iter().any(|one| one.condition_type == "Ready" && one.status == ConditionStatus::True));
    sleep(A_WHILE).await;
    // What is changed again while a repair is not over is put right once more than is counted.
    let changes = changes.load(Ordering::Relaxed);
    assert!((5..=12).contains(&changes), "{changes}");
}

/// CAT-55: what is taken out of an entry's list goes from its copies, also what stood there as a text of a Secret.
#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_text_of_a_secret_goes() {
    let shop = Shop::open(Content::List).await;
    let list = async |texts: Value| {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": texts});
        let spec = Patch::Merge(json!({"spec": {"resourceList": {"resources": [secret]}}}));
        shop.entries().patch("set", &PatchParams::default(), &spec).await.unwrap();
        shop.accept().await;
    };
    list(json!({"old": "o", "kept": "k"})).await;
    let _controller = Site::start(shop.site.client.clone(), controller);
    shop.claim("own", "Delete").await;
    let has = |keys: &'static [&'static str]| {
        move |secret: &Secret| secret.data.as_ref().is_some_and(|data| data.keys().eq(keys.iter()))
    };
    comes(&shop.site.secrets(), "own-key", has(&["kept", "old"])).await;
    list(json!({"kept": "k"})).await;
    comes(&shop.site.secrets(), "own-key", has(&["kept"])).await;
}
