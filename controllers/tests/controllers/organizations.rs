//! What organizations give, carried out by RoleBindings: by two at once, by one that missed something, and many.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bailiwick_api::{DERIVED_LABEL, OrgGroup, OrgRoleBinding, Organization};
use bailiwick_apiserver::InProcess;
use bailiwick_controllers::{Leads, OrganizationController};
use bailiwick_registry::{Clock, SystemClock};
use http::{Method, Request, Uri};
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;
use tower_service::Service;

use crate::site::{Holds, SOON, Site, user};

/// The RoleBinding that the OrgRoleBinding `dev` becomes.
const DERIVED: &str = "org-role-binding:dev";

impl Site {
    fn controller(&self) -> AbortOnDropHandle<()> {
        AbortOnDropHandle::new(tokio::spawn(self.idle_controller().run()))
    }

    /// One that does not run yet.
    fn idle_controller(&self) -> OrganizationController {
        let controller = OrganizationController::new(self.client.clone(), self.client.clone(), || SystemClock.now());
        controller.with_role_bindings("controller".to_owned())
    }

    fn org_groups(&self) -> Api<OrgGroup> {
        Api::all(self.client.clone())
    }

    fn bindings(&self, namespace: &str) -> Api<OrgRoleBinding> {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn role_bindings(&self, namespace: &str) -> Api<RoleBinding> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Acme with so many members, all of them in its group, which is bound in the namespaces `a` and `b`.
    async fn with_members(number: usize) -> Self {
        let site = Self::open().await;
        let organizations: Api<Organization> = Api::all(site.client.clone());
        let acme = json!({"metadata": {"name": "Acme"}, "memberUsers": users(0..number)});
        site.make(&organizations, acme).await;
        let group = json!({"metadata": {"name": "Acme:dev"}, "users": users(0..number)});
        site.make(&site.org_groups(), group).await;
        for namespace in ["a", "b"] {
            site.owner(namespace, json!("organizations__Acme")).await;
            let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"});
            let binding = json!({"metadata": {"name": "dev"}, "roleRef": role, "orgGroups": ["Acme:dev"]});
            site.make(&site.bindings(namespace), binding).await;
        }
        site
    }

    async fn owner(&self, namespace: &str, owner: Value) {
        let patch = json!({"metadata": {"labels": {"openshift.io/owner": owner}}});
        self.namespaces().patch(namespace, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn set_group(&self, users: Vec<String>) {
        let patch = Patch::Merge(json!({"users": users}));
        self.org_groups().patch("Acme:dev", &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits until these have the role in a namespace, and no others. Gives how many RoleBindings that takes.
    async fn holders(&self, namespace: &str, wanted: Vec<String>) -> usize {
        let (wanted, began): (BTreeSet<String>, _) = (wanted.into_iter().collect(), Instant::now());
        loop {
            let found = self.role_bindings(namespace).list(&ListParams::default()).await.unwrap().items;
            let subjects = found.iter().flat_map(|binding| binding.subjects.iter().flatten());
            let holders: Vec<String> = subjects.map(|subject| subject.name.clone()).collect();
            if holders.len() == wanted.len() && holders.into_iter().collect::<BTreeSet<_>>() == wanted {
                return found.len();
            }
            assert!(began.elapsed() < SOON, "{} are to have it: {found:?}", wanted.len());
            sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Site {
    /// Waits until the binding in a namespace gives this reason, and gives its message.
    async fn says(&self, namespace: &str, wanted: &str) -> String {
        let began = Instant::now();
        loop {
            let status = self.bindings(namespace).get("dev").await.unwrap().status.unwrap_or_default();
            match status.conditions.into_iter().next() {
                Some(said) if said.reason == wanted => return said.message,
                said => assert!(began.elapsed() < SOON, "not {wanted}: {said:?}"),
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Has someone keep the RoleBinding of a namespace from going when it is deleted.
    async fn keep(&self, namespace: &str) {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": ["example.dev/mine"]}}));
        self.role_bindings(namespace).patch(DERIVED, &PatchParams::default(), &patch).await.unwrap();
    }
}

fn users(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|number| format!("user-{number}")).collect()
}

/// SRV-10: two that run at once come to the same end, and then leave it alone.
#[tokio::test(flavor = "multi_thread")]
async fn two_at_once_agree() {
    let site = Site::with_members(2_500).await;
    let _two = [site.controller(), site.controller()];
    assert_eq!(site.holders("a", users(0..2_500)).await, 3);
    for round in 0..20 {
        site.set_group(users((0..2_500).filter(|number| number % 20 != round))).await;
    }
    let last = || users((0..2_500).filter(|number| number % 20 != 19));
    assert_eq!(site.holders("a", last()).await, 3);
    site.holders("b", last()).await;
    let versions = async || {
        let bindings = site.role_bindings("a").list(&ListParams::default()).await.unwrap().items;
        let mut versions: Vec<_> = bindings.iter().map(ResourceExt::resource_version).collect();
        versions.push(site.bindings("a").get("dev").await.unwrap().resource_version());
        versions.push(site.org_groups().get("Acme:dev").await.unwrap().resource_version());
        versions
    };
    let mut settled = versions().await;
    let began = Instant::now();
    loop {
        sleep(Duration::from_millis(500)).await;
        let now = versions().await;
        if now == settled {
            break;
        }
        assert!(began.elapsed() < SOON, "they go on writing");
        settled = now;
    }
    let names = site.bindings("a").get("dev").await.unwrap().status.unwrap().role_bindings;
    assert_eq!(names, ["org-role-binding:dev", "org-role-binding:dev:1", "org-role-binding:dev:2"]);
}

/// S-25: what changed while nobody looked counts as soon as somebody does.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_missed_is_made_up_for() {
    let site = Site::with_members(3).await;
    let first = site.controller();
    site.holders("a", users(0..3)).await;
    site.holders("b", users(0..3)).await;
    drop(first);
    sleep(Duration::from_millis(100)).await;
    site.set_group(users(1..3)).await;
    site.bindings("b").delete("dev", &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    site.holders("a", users(0..3)).await;
    let second = site.controller();
    site.holders("a", users(1..3)).await;
    site.holders("b", Vec::new()).await;
    drop(second);
    sleep(Duration::from_millis(100)).await;
    site.owner("a", Value::Null).await;
    let _third = site.controller();
    site.holders("a", Vec::new()).await;
}

/// O-06: one that does not lead leaves what there is to do to whoever does, and does it when nobody does.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_leader_does_is_done_by_another() {
    let site = Site::with_members(3).await;
    let follower = site.idle_controller().with_head_start(Leads::default());
    let _follower = AbortOnDropHandle::new(tokio::spawn(follower.run()));
    site.holders("a", users(0..3)).await;
    site.holders("b", users(0..3)).await;
    let began = Instant::now();
    site.set_group(users(1..3)).await;
    site.holders("a", users(1..3)).await;
    site.holders("b", users(1..3)).await;
    let took = began.elapsed();
    println!("a change counted {took:?} later without a leader");
    assert!(took > Duration::from_millis(400), "it leaves others time: {took:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// S-22: whoever takes all marks off a RoleBinding while nobody looks has not made it their own: who leaves the group loses it.
#[tokio::test(flavor = "multi_thread")]
async fn marks_that_are_taken_off_while_nobody_looks_change_nothing() {
    let site = Site::with_members(3).await;
    let first = site.controller();
    site.holders("a", users(0..3)).await;
    let began = Instant::now();
    while site.bindings("a").get("dev").await.unwrap().status.is_none_or(|status| status.role_bindings.is_empty()) {
        assert!(began.elapsed() < SOON, "it does not say what was made");
        sleep(Duration::from_millis(20)).await;
    }
    drop(first);
    sleep(Duration::from_millis(100)).await;
    let bare = json!({"metadata": {"labels": {DERIVED_LABEL: null}, "ownerReferences": null}});
    let (name, params) = (DERIVED, PatchParams::default());
    let stripped = site.role_bindings("a").patch(name, &params, &Patch::Merge(bare)).await.unwrap();
    assert!(stripped.labels().is_empty() && stripped.owner_references().is_empty());
    site.set_group(users(1..3)).await;
    let _second = site.controller();
    site.holders("a", users(1..3)).await;
    let made = site.role_bindings("a").get(name).await.unwrap();
    assert!(made.labels().contains_key(DERIVED_LABEL), "it is one of ours again");
}

/// A way to the server on which so many more writes of RoleBindings, of these methods, are refused: such requests end where there
/// is nothing of the kind to be written.
#[derive(Clone)]
struct Stubborn {
    way: InProcess,
    refused: Arc<Mutex<(Vec<Method>, usize)>>,
}

impl Stubborn {
    fn new(site: &Site) -> Self {
        Self { way: InProcess::new(site.server.clone(), user()), refused: Arc::default() }
    }

    fn refuse(&self, methods: impl Into<Vec<Method>>, times: usize) {
        *self.refused.lock().unwrap() = (methods.into(), times);
    }

    /// A controller whose host is at the end of this way.
    fn controller(&self, site: &Site) -> AbortOnDropHandle<()> {
        let host = Client::new(self.clone(), "default");
        let controller = OrganizationController::new(site.client.clone(), host, || SystemClock.now());
        AbortOnDropHandle::new(tokio::spawn(controller.with_role_bindings("controller".to_owned()).run()))
    }
}

impl<B> Service<Request<B>> for Stubborn
where
    InProcess: Service<Request<B>>,
{
    type Response = <InProcess as Service<Request<B>>>::Response;
    type Error = <InProcess as Service<Request<B>>>::Error;
    type Future = <InProcess as Service<Request<B>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.way.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let (methods, left) = &mut *self.refused.lock().unwrap();
        if *left > 0 && methods.contains(request.method()) && request.uri().path().contains("/rolebindings") {
            *left -= 1;
            let elsewhere = "/apis/org.bailiwick.dev/v1alpha1/organizations/Acme/groups";
            *request.uri_mut() = Uri::from_static(elsewhere);
        }
        self.way.call(request)
    }
}

/// O-06, S-25: what the cluster does not let be taken away is told, and taken away within two seconds once it does, however long
/// that was.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_taken_away_is_told_and_tried_again_soon() {
    let site = Site::with_members(3).await;
    let stubborn = Stubborn::new(&site);
    let _controller = stubborn.controller(&site);
    site.holders("a", users(0..3)).await;
    site.holders("b", users(0..3)).await;
    stubborn.refuse([Method::PUT, Method::DELETE], usize::MAX);
    site.set_group(users(1..3)).await;
    let message = site.says("a", "NotRevoked").await;
    assert!(message.contains("kubectl delete rolebinding -n a org-role-binding:dev"), "{message}");
    // Also if there is nothing left that could say so.
    site.bindings("b").delete("dev", &DeleteParams::default()).await.unwrap();
    // Long enough for pauses to have grown.
    sleep(Duration::from_secs(5)).await;
    site.holders("a", users(0..3)).await;
    stubborn.refuse([], 0);
    let began = Instant::now();
    site.holders("a", users(1..3)).await;
    site.holders("b", Vec::new()).await;
    let took = began.elapsed();
    println!("taken away {took:?} after the cluster let it");
    assert!(took < Duration::from_secs(2), "{took:?}");
    site.says("a", "InEffect").await;
}

/// S-22, S-25, O-06: whoever has a finalizer keep a RoleBinding does not keep its role: neither when the project is nobody's any more,
/// nor when the binding is gone; and is in nobody's way when it is given again.
#[tokio::test(flavor = "multi_thread")]
async fn a_finalizer_keeps_nobodys_role() {
    let site = Site::with_members(3).await;
    let stubborn = Stubborn::new(&site);
    let _controller = stubborn.controller(&site);
    for namespace in ["a", "b"] {
        site.holders(namespace, users(0..3)).await;
        site.keep(namespace).await;
    }
    site.bindings("b").delete("dev", &DeleteParams::default()).await.unwrap();
    site.holders("b", Vec::new()).await;
    stubborn.refuse([Method::PUT], usize::MAX);
    site.owner("a", Value::Null).await;
    let message = site.says("a", "NotRevoked").await;
    let remedy =
        "kubectl patch rolebinding -n a org-role-binding:dev --type=merge -p '{\"metadata\":{\"finalizers\":null}}'";
    assert!(message.contains(remedy), "{message}");
    stubborn.refuse([], 0);
    site.holders("a", Vec::new()).await;
    for namespace in ["a", "b"] {
        let kept = site.role_bindings(namespace).get(DERIVED).await.unwrap();
        assert!(kept.metadata.deletion_timestamp.is_some(), "{kept:?}");
    }
    site.says("a", "NoOwner").await;
    site.owner("a", json!("organizations__Acme")).await;
    assert_eq!(site.holders("a", users(0..3)).await, 2, "another one gives it");
    site.says("a", "InEffect").await;
}

/// O-06: a project that is nobody's any more gives nothing any more, also while our own store does not answer: it is the cluster that
/// says whose it is.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_nobodys_ends_without_the_store() {
    let site = Site::with_members(3).await;
    let (road, own) = site.road();
    let controller = OrganizationController::new(own, site.client.clone(), || SystemClock.now());
    let controller = controller.with_role_bindings("controller".to_owned());
    let _controller = AbortOnDropHandle::new(tokio::spawn(controller.run()));
    site.holders("a", users(0..3)).await;
    site.holders("b", users(0..3)).await;
    road.held.send_replace(Some(|_, address| address.path().ends_with("/namespaces/a/orgrolebindings")));
    site.owner("a", Value::Null).await;
    site.holders("a", Vec::new()).await;
    // Nothing is given by what may be old.
    site.owner("a", json!("organizations__Acme")).await;
    let began = Instant::now();
    while road.waited.load(Ordering::Relaxed) == 0 {
        assert!(began.elapsed() < SOON, "the store is not asked");
        sleep(Duration::from_millis(20)).await;
    }
    site.holders("a", Vec::new()).await;
    road.held.send_replace(None);
    site.holders("a", users(0..3)).await;
}

/// ORG-35: what is refused for a moment, as when a project has just been given back, is told to nobody; what lasts is.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_told_when_it_lasts() {
    let site = Site::with_members(3).await;
    let stubborn = Stubborn::new(&site);
    stubborn.refuse([Method::POST], 1);
    let _controller = stubborn.controller(&site);
    for namespace in ["a", "b"] {
        site.holders(namespace, users(0..3)).await;
        site.says(namespace, "InEffect").await;
    }
    let events: Api<Event> = Api::all(site.client.clone());
    let told = events.list(&ListParams::default()).await.unwrap().items;
    assert!(told.is_empty(), "{told:?}");
    stubborn.refuse([Method::POST], usize::MAX);
    site.owner("a", Value::Null).await;
    site.says("a", "NoOwner").await;
    site.owner("a", json!("organizations__Acme")).await;
    site.says("a", "Refused").await;
}

/// O-06: a project in which the cluster answers nothing does not keep others from losing what they are to lose.
#[tokio::test(flavor = "multi_thread")]
async fn one_project_does_not_hold_up_the_others() {
    let site = Site::with_members(3).await;
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"});
    for number in 0..8 {
        let name = format!("more-{number}");
        let binding = json!({"metadata": {"name": name}, "roleRef": role, "orgGroups": ["Acme:dev"]});
        site.make(&site.bindings("a"), binding).await;
    }
    let (road, host) = site.road();
    let controller = OrganizationController::new(site.client.clone(), host, || SystemClock.now());
    let controller = controller.with_role_bindings("controller".to_owned());
    let _controller = AbortOnDropHandle::new(tokio::spawn(controller.run()));
    let is_held_by = async |user: &str| {
        let found = site.role_bindings("a").list(&ListParams::default()).await.unwrap().items;
        found.iter().filter(|binding| binding.subjects.iter().flatten().any(|subject| subject.name == user)).count()
    };
    let comes_to = async |wanted: usize| {
        let began = Instant::now();
        while is_held_by("user-0").await != wanted {
            assert!(began.elapsed() < SOON, "not {wanted}");
            sleep(Duration::from_millis(20)).await;
        }
    };
    comes_to(9).await;
    site.holders("b", users(0..3)).await;
    let holds: Holds =
        |method, address| method != Method::GET && address.path().contains("/namespaces/a/rolebindings/");
    road.held.send_replace(Some(holds));
    let began = Instant::now();
    site.set_group(users(1..3)).await;
    site.holders("b", users(1..3)).await;
    let took = began.elapsed();
    println!("a change counted {took:?} later beside a project that does not answer");
    assert!(took < Duration::from_secs(2), "{took:?}");
    // Nobody waits for an answer forever.
    while road.waited.load(Ordering::Relaxed) < 9 {
        assert!(began.elapsed() < SOON, "some wait for others");
        sleep(Duration::from_millis(20)).await;
    }
    road.held.send_replace(None);
    comes_to(0).await;
}

/// O-11: nobody is given anything by the word of a former owner, though the watch of namespaces has not told of the new one.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_given_where_a_project_has_changed_hands_unseen() {
    let site = Site::with_members(4).await;
    site.set_group(users(0..3)).await;
    let (road, host) = site.road();
    let controller = OrganizationController::new(site.client.clone(), host, || SystemClock.now());
    let controller = controller.with_role_bindings("controller".to_owned());
    let _controller = AbortOnDropHandle::new(tokio::spawn(controller.run()));
    site.holders("a", users(0..3)).await;
    site.holders("b", users(0..3)).await;
    // The watch ends, as watches do, and the next one does not begin.
    road.held.send_replace(Some(|_, address| address.path() == "/api/v1/namespaces"));
    let began = Instant::now();
    while road.waited.load(Ordering::Relaxed) == 0 {
        assert!(began.elapsed() < SOON, "the watch does not end");
        sleep(Duration::from_millis(20)).await;
    }
    site.owner("a", json!("organizations__Beta")).await;
    site.set_group(users(0..4)).await;
    site.holders("b", users(0..4)).await;
    sleep(Duration::from_millis(500)).await;
    site.holders("a", users(0..3)).await;
    road.held.send_replace(None);
    site.holders("a", Vec::new()).await;
}
