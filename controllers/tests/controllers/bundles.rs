//! Bundles whose controller ends at every point at which it writes, and begins anew.

use std::collections::BTreeMap;
use std::task::{Context, Poll};
use std::time::Duration;

use bailiwick_api::{Bundle, BundleResourceStatus, ConditionStatus};
use bailiwick_apiserver::InProcess;
use bailiwick_controllers::{BundleController, Clients};
use bailiwick_registry::{Clock, SystemClock};
use http::{Method, Request};
use k8s_openapi::api::core::v1::{ConfigMap, Event, ServiceAccount};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use tower_service::Service;

use crate::brittle::End;
use crate::site::{SOON, Site, comes, gone, stays, user};

pub(crate) async fn controller(clients: Clients) {
    BundleController::new(clients, || SystemClock.now()).run().await;
}

// === impl Site ===

impl Site {
    pub(crate) fn bundle_controller(&self) -> AbortOnDropHandle<()> {
        Self::start(self.client.clone(), controller)
    }

    pub(crate) fn bundles(&self) -> Api<Bundle> {
        Api::namespaced(self.client.clone(), "a")
    }

    pub(crate) fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "a")
    }

    /// A Bundle of a chain of three, as it is when it has been accepted.
    async fn chain(&self, name: &str, account: &ServiceAccount, lifecycle: &str) {
        let part = |number: usize| {
            let before = (number > 0).then(|| format!("m{}", number - 1));
            let text = before.as_ref().map_or("begin".to_owned(), |before| format!("$({before}.data.x)."));
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{name}-{number}")}, "data": {"x": text},
            });
            let before = before.into_iter().collect::<Vec<_>>();
            json!({"name": format!("m{number}"), "dependsOn": before, "lifecycle": lifecycle, "spec": object})
        };
        self.accepted(name, account, json!([part(0), part(1), part(2)])).await;
    }

    /// A Bundle of these resources, as it is when it has been accepted.
    pub(crate) async fn accepted(&self, name: &str, account: &ServiceAccount, resources: Value) {
        let bundle = json!({
            "metadata": {"name": name, "finalizers": [Bundle::FINALIZER]}, "spec": {"resources": resources},
        });
        self.make(&self.bundles(), bundle).await;
        let status = Patch::Merge(json!({"status": {"serviceAccountUID": account.uid()}}));
        self.bundles().patch_status(name, &PatchParams::default(), &status).await.unwrap();
    }

    pub(crate) async fn is_ready(&self, name: &str) -> Bundle {
        comes(&self.bundles(), name, |bundle| {
            let conditions = bundle.status.iter().flat_map(|status| &status.conditions);
            conditions.into_iter().any(|found| found.condition_type == "Ready" && found.status == ConditionStatus::True)
        })
        .await
    }

    /// Waits until a Bundle is what its newest generation wants, and has nothing else.
    async fn is_pruned(&self, name: &str) -> Bundle {
        comes(&self.bundles(), name, |bundle| {
            let status = bundle.status.clone().unwrap_or_default();
            let is_so = |wanted: &str| {
                let mut conditions = status.conditions.iter();
                conditions.any(|found| found.condition_type == wanted && found.status == ConditionStatus::True)
            };
            status.observed_generation == bundle.metadata.generation && is_so("Ready") && is_so("PruningComplete")
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
    let (site, account) = Site::open_with_account().await;
    let mut points = 0;
    for end in [End::Before, End::After] {
        for writes in 0.. {
            let name = format!("made-{writes}-{}", format!("{end:?}").to_lowercase());
            site.chain(&name, &account, "Delete").await;
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

/// the same for a change by which one object is updated, the next follows, and the last one goes.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_converges_from_a_crash_at_every_write() {
    let (site, account) = Site::open_with_account().await;
    let mut points = 0;
    for end in [End::Before, End::After] {
        for writes in 0.. {
            let name = format!("changed-{writes}-{}", format!("{end:?}").to_lowercase());
            site.chain(&name, &account, "Delete").await;
            let whole = site.bundle_controller();
            let mut resources = site.is_ready(&name).await.spec.resources;
            drop(whole);
            resources.truncate(2);
            resources[0].spec["data"]["x"] = json!("anew");
            let change = Patch::Merge(json!({"spec": {"resources": resources}}));
            site.bundles().patch(&name, &PatchParams::default(), &change).await.unwrap();
            let ended = site.run_brittle(controller, (writes, end), async { drop(site.is_pruned(&name).await) }).await;
            points += usize::from(ended);
            let _whole = site.bundle_controller();
            let bundle = site.is_pruned(&name).await;
            let status = bundle.status.as_ref().unwrap();
            assert_eq!((status.inventory.len(), status.ready.as_deref()), (2, Some("2/2")), "{writes}, {end:?}");
            assert_eq!(site.maps().get_opt(&format!("{name}-2")).await.unwrap(), None);
            let second = site.maps().get(&format!("{name}-1")).await.unwrap();
            assert_eq!(second.data.as_ref().unwrap()["x"], "anew.");
            site.bundles().delete(&name, &DeleteParams::default()).await.unwrap();
            gone(&site.bundles(), &name).await;
            if !ended {
                break;
            }
            assert!(writes < 60, "it writes for ever");
        }
    }
    assert!(points >= 6, "{points} points were tried");
}

/// A way to the server on which somebody else makes an object of the same name just before ours is written.
#[derive(Clone)]
struct Outrun {
    way: InProcess,
    others: Api<ConfigMap>,
    name: &'static str,
}

// === impl Outrun ===

impl<B: Send + 'static> Service<Request<B>> for Outrun
where
    InProcess: Service<Request<B>> + Clone,
    <InProcess as Service<Request<B>>>::Future: Send + 'static,
{
    type Response = <InProcess as Service<Request<B>>>::Response;
    type Error = <InProcess as Service<Request<B>>>::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.way.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let is_write = request.method() != Method::GET && request.uri().path().contains("/configmaps");
        let (mut way, others, name) = (self.way.clone(), self.others.clone(), self.name);
        Box::pin(async move {
            if is_write {
                let theirs =
                    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"x": "theirs"}})).unwrap();
                drop(others.create(&PostParams::default(), &theirs).await);
            }
            way.call(request).await
        })
    }
}

/// P-10, B-09: what somebody else makes after it was looked for, and before it is written, is theirs.
#[tokio::test(flavor = "multi_thread")]
async fn what_others_make_at_the_same_moment_is_theirs() {
    let (site, account) = Site::open_with_account().await;
    let way = InProcess::new(site.server.clone(), user());
    let outrun = Outrun { way, others: site.maps(), name: "raced-0" };
    let _controller = Site::start(Client::new(outrun, "default"), controller);
    site.chain("raced", &account, "Delete").await;
    let told = comes(&site.bundles(), "raced", |bundle| {
        let resources = bundle.status.iter().flat_map(|status| &status.resources);
        resources.into_iter().any(|resource| resource.reason == "NotOwned")
    })
    .await;
    let theirs = site.maps().get("raced-0").await.unwrap();
    assert_eq!((theirs.data.as_ref().unwrap()["x"].as_str(), theirs.owner_references().len()), ("theirs", 0));
    assert_eq!(told.status.unwrap().ready.as_deref(), Some("0/3"));
}

/// What is not in a resource any more goes from its object, though the object was not applied but created.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_out_of_an_object_goes() {
    let (site, account) = Site::open_with_account().await;
    let _controller = site.bundle_controller();
    site.chain("thin", &account, "Delete").await;
    let more = |data: Value| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "thin-0"}, "data": data});
        Patch::Merge(json!({"spec": {"resources": [{"name": "m0", "spec": object}]}}))
    };
    site.is_ready("thin").await;
    site.bundles().patch("thin", &PatchParams::default(), &more(json!({"y": "1"}))).await.unwrap();
    let keys = |map: &ConfigMap| map.data.iter().flatten().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    comes(&site.maps(), "thin-0", |map| keys(map) == ["y"]).await;
}

/// B-01: a name that comes from a dependency, and would be another path, names nothing.
#[tokio::test(flavor = "multi_thread")]
async fn names_that_lead_elsewhere_name_nothing() {
    let (site, account) = Site::open_with_account().await;
    let _controller = site.bundle_controller();
    let map = |name: &str, text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": text}});
    let resources = json!([
        {"name": "a", "spec": map("a", "?limit=1")},
        {"name": "b", "dependsOn": ["a"], "spec": map("$(a.data.x)", "1")},
    ]);
    site.accepted("led", &account, resources).await;
    let told = comes(&site.bundles(), "led", |bundle| {
        let mut resources = bundle.status.iter().flat_map(|status| &status.resources);
        resources.any(|resource| resource.reason == "InvalidName")
    })
    .await;
    let status = told.status.unwrap();
    assert_eq!(status.inventory.len(), 1, "{status:#?}");
    site.bundles().delete("led", &DeleteParams::default()).await.unwrap();
    gone(&site.bundles(), "led").await;
}

/// what someone else deleted is made anew; wherever the controller ends meanwhile, whoever removes the Bundle then knows the
/// new object as well: what is to stay is not left to those who collect garbage.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_anew_is_not_left_behind() {
    let (site, account) = Site::open_with_account().await;
    let mut points = 0;
    for end in [End::Before, End::After] {
        for writes in 0.. {
            let name = format!("anew-{writes}-{}", format!("{end:?}").to_lowercase());
            site.chain(&name, &account, "Orphan").await;
            let whole = site.bundle_controller();
            site.is_ready(&name).await;
            drop(whole);
            let middle = format!("{name}-1");
            let old = site.maps().get(&middle).await.unwrap().uid().unwrap();
            site.maps().delete(&middle, &DeleteParams::default()).await.unwrap();
            let is_known = |bundle: &Bundle| {
                let inventory = bundle.status.iter().flat_map(|status| &status.inventory);
                let uids: Vec<_> =
                    inventory.filter(|item| item.object.name == middle).map(|item| &item.object.uid).collect();
                uids.iter().any(|uid| !uid.is_empty() && **uid != old)
            };
            let remade = async { drop(comes(&site.bundles(), &name, is_known).await) };
            let ended = site.run_brittle(controller, (writes, end), remade).await;
            points += usize::from(ended);
            let made = site.maps().get_opt(&middle).await.unwrap().map(|map| map.uid());
            site.bundles().delete(&name, &DeleteParams::default()).await.unwrap();
            let _whole = site.bundle_controller();
            gone(&site.bundles(), &name).await;
            let left = site.maps().get_opt(&middle).await.unwrap();
            let owners = left.as_ref().map_or(0, |map| map.owner_references().len());
            assert_eq!((left.map(|map| map.uid()), owners), (made, 0), "after {writes} writes, {end:?}");
            if !ended {
                break;
            }
            assert!(writes < 60, "it writes for ever");
        }
    }
    assert!(points >= 6, "{points} points were tried");
}

/// P-1: an object that is wanted by the name of another group in which it is served is the same object, and does not go by the name
/// that it had.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_two_groups_is_one() {
    let (site, account) = Site::open_with_account().await;
    let _controller = site.bundle_controller();
    let events: Api<Event> = Api::namespaced(site.client.clone(), "a");
    let resources = |event: Value| json!([{"name": "said", "spec": event}]);
    site.accepted("two", &account, resources(older_event())).await;
    site.is_pruned("two").await;
    let uid = events.get("said").await.unwrap().uid();
    let change = Patch::Merge(json!({"spec": {"resources": resources(newer_event())}}));
    site.bundles().patch("two", &PatchParams::default(), &change).await.unwrap();
    let bundle = site.is_pruned("two").await;
    let inventory = bundle.status.unwrap().inventory;
    let known: Vec<_> = inventory.iter().map(|item| (&*item.object.api_version, Some(&item.object.uid))).collect();
    assert_eq!(known, [("events.k8s.io/v1", uid.as_ref())]);
    assert_eq!(events.get("said").await.unwrap().uid(), uid);
}

/// P-1, R-26: an object that is wanted by both its names is known by both as long as the Bundle is there. What becomes of it then is
/// what the Bundle says, and is not left to those who collect garbage.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_by_both_its_names_is_let_go() {
    let (site, account) = Site::open_with_account().await;
    let _controller = site.bundle_controller();
    let events: Api<Event> = Api::namespaced(site.client.clone(), "a");
    // By its newer name an event can be had as it is, but not made: that would take more.
    let resources = json!([
        {"name": "older", "lifecycle": "Orphan", "spec": older_event()},
        {"name": "newer", "lifecycle": "Orphan", "dependsOn": ["older"], "spec": newer_event()},
    ]);
    site.accepted("both", &account, resources).await;
    let status = site.is_pruned("both").await.status.unwrap();
    let uid = events.get("said").await.unwrap().uid();
    let known: Vec<_> =
        status.inventory.iter().map(|item| (&*item.object.api_version, Some(&item.object.uid))).collect();
    assert_eq!(known, [("v1", uid.as_ref()), ("events.k8s.io/v1", uid.as_ref())]);
    assert_eq!(status.ready.as_deref(), Some("2/2"));
    site.bundles().delete("both", &DeleteParams::default()).await.unwrap();
    gone(&site.bundles(), "both").await;
    let left = stays(&events, "said").await;
    assert_eq!((left.uid(), left.owner_references().len()), (uid, 0));
}

/// An Event, in the form of the core group.
fn older_event() -> Value {
    event("v1", "involvedObject", "message")
}

/// The same, in the form of the group of events.
fn newer_event() -> Value {
    event("events.k8s.io/v1", "regarding", "note")
}

fn event(api_version: &str, about: &str, text: &str) -> Value {
    let mut event = json!({
        "apiVersion": api_version, "kind": "Event", "metadata": {"name": "said"}, "reason": "Said", "type": "Normal",
    });
    event[about] = json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "a", "name": "x"});
    event[text] = json!("a word");
    event
}

/// P-8: what somebody deletes is made anew, but not for ever; then it is said, and the next change of the Bundle is a new beginning.
#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_keeps_deleting_is_left() {
    let (site, account) = Site::open_with_account().await;
    let _controller = site.bundle_controller();
    let resources = |text: &str| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"x": text}});
        json!([{"name": "m", "spec": object}])
    };
    site.accepted("brief", &account, resources("1")).await;
    site.is_ready("brief").await;
    let (maps, bundles) = (site.maps(), site.bundles());
    let mut made = 0;
    let told = loop {
        let uid = comes(&maps, "m", |_| true).await.uid();
        maps.delete("m", &DeleteParams::default()).await.unwrap();
        let is_over = |bundle: &Bundle| bundle.status.iter().flat_map(|status| &status.resources).any(is_left);
        tokio::select! {
            _ = comes(&maps, "m", |map| map.uid() != uid) => made += 1,
            bundle = comes(&bundles, "brief", is_over) => break bundle.status.unwrap().resources.remove(0).message,
        }
        assert!(made < 20, "they go on for ever");
    };
    assert_eq!(made, 5);
    assert!(told.contains("somebody deletes it"), "{told}");
    assert_eq!(maps.get_opt("m").await.unwrap(), None);
    let change = Patch::Merge(json!({"spec": {"resources": resources("2")}}));
    bundles.patch("brief", &PatchParams::default(), &change).await.unwrap();
    comes(&maps, "m", |map| map.data.as_ref().is_some_and(|data| data["x"] == "2")).await;
}

fn is_left(resource: &BundleResourceStatus) -> bool {
    resource.reason == "UpdateLoop"
}

/// What is taken out of the texts of a Secret goes from its data, the second time as well as the first.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_secrets_go() {
    let (site, account) = Site::open_with_account().await;
    let _controller = site.bundle_controller();
    let resources = |texts: Value| {
        let object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": texts});
        json!([{"name": "s", "spec": object}])
    };
    site.accepted("keys", &account, resources(json!({"a": "1", "b": "2", "c": "3"}))).await;
    site.is_ready("keys").await;
    for texts in [json!({"a": "1", "b": "2"}), json!({"a": "1"})] {
        let change = Patch::Merge(json!({"spec": {"resources": resources(texts.clone())}}));
        site.bundles().patch("keys", &PatchParams::default(), &change).await.unwrap();
        comes(&site.secrets(), "s", |secret| {
            secret.data.iter().flatten().map(|(key, _)| key).eq(texts.as_object().unwrap().keys())
        })
        .await;
    }
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
