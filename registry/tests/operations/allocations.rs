//! Quota allocations and writers who take their time: whatever happens between a decision and its write, there is never more
//! than was allotted.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_registry::kinds::{self, QuotaEnforcement};
use bailiwick_registry::{
    Admission, Allocations, Attributes, AuthorizationError, Authorizer, Clock, Ctx, Decision, DeleteOptions, Error,
    Part, Proposal, QuotaChange, Registry, Result, ServedKind, SystemClock, Tracking, Update, User, WriteOptions,
};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::SimDisk;
use bailiwick_storage::{At, Key, Ledger, ListOptions, Resource, Revision, Store, Txn};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::support::{accept, now, object};

mod elsewhere;

/// How long something that must happen may take.
const SOON: Duration = Duration::from_secs(30);

/// Two projects, `a` and `b`, that may have ten CPUs and five config maps together. Nobody tells what is used.
struct Estate {
    store: Arc<Embedded>,
    registry: Arc<Registry>,
    allocations: Arc<Allocations>,
    user: User,
    sleepers: mpsc::Receiver<()>,
    waking: Arc<Semaphore>,
}

/// Puts to sleep whoever has been allowed to write a quota with the label `sleeps`, until they are woken.
struct Sleep {
    sleepers: mpsc::Sender<()>,
    waking: Arc<Semaphore>,
}

struct Anyone;

#[async_trait]
impl Authorizer for Anyone {
    async fn authorize(&self, _: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        Ok(Decision::Allow(String::new()))
    }
}

#[async_trait]
impl Admission for Sleep {
    async fn admit(&self, _: &Ctx<'_>, _: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let sleeps = proposal.new.is_some_and(|new| new.as_value().pointer("/metadata/labels/sleeps").is_some());
        if sleeps {
            self.sleepers.send(()).await.unwrap();
            self.waking.acquire().await.unwrap().forget();
        }
        Ok(txn)
    }
}

// === impl Estate ===

impl Estate {
    async fn open() -> Self {
        let store = Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(SimDisk::default()))).await.unwrap());
        let kinds = kinds::host().unwrap().into_iter().chain(kinds::all().unwrap()).collect();
        let registry = Registry::start(store.clone(), kinds, Default::default()).await.unwrap();
        let allocations = Allocations::new(Arc::new(Anyone), None);
        let (sleepers_tx, sleepers) = mpsc::channel(8);
        let waking = Arc::new(Semaphore::new(0));
        let registry =
            registry.with_admission(QuotaEnforcement::new().unwrap()).with_allocations(&allocations).unwrap();
        let registry = Arc::new(registry.with_admission(Sleep { sleepers: sleepers_tx, waking: waking.clone() }));
        allocations.open(&registry).unwrap();
        registry.spawn(allocations.clone().keep(registry.clone()));
        let user = User { name: "tester".to_owned(), ..User::default() };
        let estate = Self { store, registry, allocations, user, sleepers, waking };
        estate.allot("alice", json!({ "cpu": "10", "configmaps": "5" })).await;
        for name in ["a", "b"] {
            estate.project(name, json!({ "owner": "alice" })).await;
        }
        estate
    }

    /// Allots this to an owner.
    async fn allot(&self, owner: &str, hard: Value) {
        let spec = json!({ "selector": { "matchLabels": { "owner": owner } }, "allocation": { "hard": hard } });
        let allocation = json!({ "metadata": { "name": owner }, "spec": spec });
        self.make("quota.bailiwick.dev", "resourcequotaallocations", allocation).await.unwrap();
    }

    async fn project(&self, name: &str, labels: Value) {
        self.make("", "namespaces", json!({ "metadata": { "name": name, "labels": labels } })).await.unwrap();
    }

    fn kind(&self, group: &'static str, plural: &str) -> Arc<ServedKind> {
        let version = if group.is_empty() { "v1" } else { "v1alpha1" };
        self.registry.find(&GroupVersion::new(group, version), plural).unwrap()
    }

    fn ctx(&self) -> Ctx<'_> {
        Ctx { user: &self.user, now: now(), annotations: None }
    }

    async fn make(&self, group: &'static str, plural: &str, body: Value) -> Result<()> {
        let (kind, options) = (self.kind(group, plural), WriteOptions::default());
        self.registry.create(&self.ctx(), &kind, accept(&kind, object(body), &options)?, &options).await.map(drop)
    }

    async fn quota(&self, namespace: &str, name: &str, hard: Value) -> Result<()> {
        self.make("", "resourcequotas", quota(namespace, name, hard, json!({}))).await
    }

    /// Changes what a quota in `a` allows.
    async fn set(&self, name: &str, hard: Value) -> Result<()> {
        let spec = json!({ "hard": hard });
        self.change(name, |quota| drop(quota.fields_mut().insert("spec".to_owned(), spec.clone()))).await
    }

    /// Changes a quota in `a`.
    async fn change(&self, name: &str, change: impl Fn(&mut Object) + Send + Sync) -> Result<()> {
        update(&self.registry, &self.kind("", "resourcequotas"), "a", name, change).await
    }

    /// Labels a project otherwise.
    async fn label(&self, name: &str, labels: Value) {
        let change = |project: &mut Object| drop(project.metadata_mut().insert("labels".to_owned(), labels.clone()));
        update(&self.registry, &self.kind("", "namespaces"), "", name, change).await.unwrap();
    }

    /// Raises the quota `default` of a project, and sleeps before it is written.
    async fn raise_asleep(&mut self, namespace: &'static str, cpu: &'static str) -> JoinHandle<Result<()>> {
        let (registry, kind) = (self.registry.clone(), self.kind("", "resourcequotas"));
        let writer = tokio::spawn(async move {
            let change = |quota: &mut Object| {
                quota.metadata_mut().insert("labels".to_owned(), json!({ "sleeps": "" }));
                quota.fields_mut().insert("spec".to_owned(), json!({ "hard": { "cpu": cpu } }));
            };
            update(&registry, &kind, namespace, "default", change).await
        });
        timeout(SOON, self.sleepers.recv()).await.unwrap().unwrap();
        writer
    }

    /// Makes the quota `default` of a project, and sleeps before it is written.
    async fn make_asleep(&mut self, namespace: &'static str, cpu: &'static str) -> JoinHandle<Result<()>> {
        let sleepy = quota(namespace, "default", json!({ "cpu": cpu }), json!({ "sleeps": "" }));
        let (registry, kind) = (self.registry.clone(), self.kind("", "resourcequotas"));
        let writer = tokio::spawn(async move {
            let (user, options) = (User::default(), WriteOptions::default());
            let ctx = Ctx { user: &user, now: now(), annotations: None };
            registry.create(&ctx, &kind, accept(&kind, object(sleepy), &options)?, &options).await.map(drop)
        });
        timeout(SOON, self.sleepers.recv()).await.unwrap().unwrap();
        writer
    }

    async fn remove(&self, plural: &str, name: &str) {
        let kind = self.kind("", plural);
        self.registry.delete(&self.ctx(), &kind, "a", name, &DeleteOptions::default()).await.unwrap();
    }

    async fn config_map(&self, name: &str) -> Result<()> {
        self.make("", "configmaps", json!({ "metadata": { "namespace": "a", "name": name } })).await
    }

    /// Waits until `b` can have this, which it then has.
    async fn b_gets(&self, hard: Value) {
        let gets = async {
            while self.quota("b", "default", hard.clone()).await.is_err() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(SOON, gets).await.expect("what nobody has can be given away");
    }

    /// Waits until all projects of an owner are counted, and have this.
    async fn charge_becomes(&self, owner: &str, cpu: &str) {
        let key = ledger().row(&["totals"], owner).unwrap();
        let becomes = async {
            loop {
                let total = self.store.get(&key, At::Latest).await.unwrap().record;
                let total: Value = total.map_or(Value::Null, |found| serde_json::from_slice(&found.value).unwrap());
                if total["counted"] == true && total["charge"]["requests.cpu"] == cpu {
                    return;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, becomes).await.expect("the projects are counted");
    }
}

/// Changes an object.
async fn update(
    registry: &Registry,
    kind: &ServedKind,
    namespace: &str,
    name: &str,
    change: impl Fn(&mut Object) + Send + Sync,
) -> Result<()> {
    let user = User { name: "tester".to_owned(), ..User::default() };
    let ctx = Ctx { user: &user, now: now(), annotations: None };
    let change = |found: &Object| {
        let mut object = found.clone();
        change(&mut object);
        kind.accept(object, &WriteOptions::default())
    };
    let update = Update { part: Part::Main, change: &change, tracking: &Tracking::default(), dry_run: false };
    registry.update(&ctx, kind, namespace, name, update).await.map(drop)
}

/// Where it stands who has how much.
fn ledger() -> Ledger {
    Ledger::new("allocations").unwrap()
}

/// What stands there, and since when.
async fn ledger_rows(store: &dyn Store) -> Vec<(Key, Revision)> {
    let rows = store.list(ledger().all(), ListOptions::latest()).await.unwrap().records;
    rows.into_iter().map(|row| (row.key, row.revision)).collect()
}

fn quota(namespace: &str, name: &str, hard: Value, labels: Value) -> Value {
    json!({ "metadata": { "namespace": namespace, "name": name, "labels": labels }, "spec": { "hard": hard } })
}

fn is_refused<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Forbidden { .. }))
}

/// who sleeps between the decision and the write until what was reserved has been given to others, does not write.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_who_sleeps_loses_what_was_reserved() {
    let mut estate = Estate::open().await;
    let writer = estate.make_asleep("a", "6").await;
    assert!(is_refused(&estate.quota("b", "default", json!({ "cpu": "5" })).await), "it is reserved");
    estate.b_gets(json!({ "cpu": "5" })).await;
    assert_eq!(estate.allocations.metrics().released(), 1);
    estate.waking.add_permits(10);
    let written = timeout(SOON, writer).await.unwrap().unwrap();
    assert!(is_refused(&written), "{written:?}");
    estate.quota("a", "default", json!({ "cpu": "5" })).await.unwrap();
}

/// what was reserved lasts as long by whatever clock it was allowed, an hour behind or ahead.
#[tokio::test(flavor = "multi_thread")]
async fn clocks_that_differ_neither_end_nor_keep_what_was_reserved() {
    for hours in [-1, 1] {
        let estate = Estate::open().await;
        let at = Ctx { now: SystemClock.now(), ..estate.ctx() }.seconds() + hours * 3_600;
        let new = quota("a", "default", json!({ "cpu": "6" }), json!({}));
        let asked = QuotaChange { user: &estate.user, namespace: "a", old: None, new: &new, at, is_trial: false };
        let began = Instant::now();
        assert!(estate.allocations.judge(&asked).await.unwrap().is_none());
        sleep(Duration::from_millis(500)).await;
        let refused = estate.quota("b", "default", json!({ "cpu": "5" })).await;
        assert!(is_refused(&refused) || began.elapsed() > Duration::from_secs(3), "{hours} h: it is reserved");
        estate.b_gets(json!({ "cpu": "5" })).await;
        assert_eq!(estate.allocations.metrics().released(), 1);
    }
}

/// what a quota becomes is reserved also if another one of the project has as much: that may be gone before.
#[tokio::test(flavor = "multi_thread")]
async fn a_quota_does_not_rise_in_the_shadow_of_another() {
    let mut estate = Estate::open().await;
    estate.quota("a", "default", json!({ "cpu": "3" })).await.unwrap();
    estate.quota("a", "second", json!({ "cpu": "8" })).await.unwrap();
    let writer = estate.raise_asleep("a", "7").await;
    estate.remove("resourcequotas", "second").await;
    estate.b_gets(json!({ "cpu": "3" })).await;
    assert!(is_refused(&estate.quota("b", "more", json!({ "cpu": "4" })).await), "it is reserved");
    estate.waking.add_permits(10);
    timeout(SOON, writer).await.unwrap().unwrap().unwrap();
    assert!(is_refused(&estate.quota("b", "more", json!({ "cpu": "4" })).await));
}

/// R-29, QUOTA-14: what was held by a quota that is gone is not held for one that is to be made in its place: it may be given
/// away before.
#[tokio::test(flavor = "multi_thread")]
async fn a_quota_is_not_made_in_the_shadow_of_one_that_is_gone() {
    let mut estate = Estate::open().await;
    estate.quota("a", "default", json!({ "cpu": "6" })).await.unwrap();
    for _ in 0..10 {
        estate.remove("resourcequotas", "default").await;
        let writer = estate.make_asleep("a", "6").await;
        sleep(Duration::from_millis(100)).await;
        let taken = estate.quota("b", "default", json!({ "cpu": "5" })).await;
        assert!(is_refused(&taken), "it is reserved: {taken:?}");
        estate.waking.add_permits(1);
        timeout(SOON, writer).await.unwrap().unwrap().unwrap();
    }
}

/// R-29, QUOTA-14: who was held to no allocation, and sleeps until the project is selected by one, is held to that one: others may
/// have been given the rest of it.
#[tokio::test(flavor = "multi_thread")]
async fn who_sleeps_while_a_project_is_selected_is_asked_again() {
    let mut estate = Estate::open().await;
    estate.project("c", json!({})).await;
    estate.quota("c", "default", json!({ "cpu": "1" })).await.unwrap();
    let writer = estate.raise_asleep("c", "9").await;
    estate.label("c", json!({ "owner": "alice" })).await;
    estate.charge_becomes("alice", "1").await;
    estate.b_gets(json!({ "cpu": "9" })).await;
    estate.waking.add_permits(10);
    let written = timeout(SOON, writer).await.unwrap().unwrap();
    assert!(is_refused(&written), "{written:?}");
    estate.charge_becomes("alice", "10").await;
}

/// R-29, QUOTA-14: so is who sleeps until there is an allocation, with a quota that changes and with one that is made.
#[tokio::test(flavor = "multi_thread")]
async fn who_sleeps_while_an_allocation_is_made_is_asked_again() {
    let mut estate = Estate::open().await;
    for name in ["c", "d"] {
        estate.project(name, json!({ "owner": "bob" })).await;
    }
    estate.quota("c", "default", json!({ "cpu": "1" })).await.unwrap();
    let writers = [estate.raise_asleep("c", "9").await, estate.make_asleep("d", "6").await];
    estate.allot("bob", json!({ "cpu": "5" })).await;
    estate.charge_becomes("bob", "1").await;
    estate.waking.add_permits(10);
    for writer in writers {
        let written = timeout(SOON, writer).await.unwrap().unwrap();
        assert!(is_refused(&written), "{written:?}");
    }
    estate.charge_becomes("bob", "1").await;
}

/// QUOTA-17: a change of metadata costs one write, that of the quota: nothing is written down, and nobody is told anything.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_metadata_costs_nothing() {
    let estate = Estate::open().await;
    estate.quota("a", "default", json!({ "cpu": "6" })).await.unwrap();
    let allocations = Resource::new("quota.bailiwick.dev", "resourcequotaallocations").unwrap();
    let written = async || {
        let objects = estate.store.list(allocations.all(), ListOptions::latest()).await.unwrap().records;
        let objects: Vec<_> = objects.into_iter().map(|object| (object.key, object.revision)).collect();
        (ledger_rows(&*estate.store).await, objects)
    };
    let settled = async {
        while estate.allocations.metrics().reservations() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, settled).await.expect("what was written is not reserved any more");
    // Who writes the status waits for nobody.
    let mut before = written().await;
    loop {
        sleep(Duration::from_millis(200)).await;
        let now = written().await;
        if now == before {
            break;
        }
        before = now;
    }
    for round in 0..20 {
        let label = json!({ "round": round.to_string() });
        let change = |quota: &mut Object| drop(quota.metadata_mut().insert("labels".to_owned(), label.clone()));
        estate.change("default", change).await.unwrap();
    }
    assert_eq!(written().await, before);
}

/// R-29, B-QUOTA-1: shrinking a quota frees nothing that is in use, also if nobody has told yet what is.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_use_counts_before_it_is_told() {
    let estate = Estate::open().await;
    estate.quota("a", "default", json!({ "configmaps": "4" })).await.unwrap();
    for name in ["x", "y", "z"] {
        estate.config_map(name).await.unwrap();
    }
    estate.set("default", json!({ "configmaps": "1" })).await.unwrap();
    assert!(is_refused(&estate.config_map("more").await));
    estate.b_gets(json!({ "configmaps": "2" })).await;
    assert!(is_refused(&estate.quota("b", "more", json!({ "configmaps": "3" })).await), "three are still there");
    // Changing it again frees nothing either.
    estate.set("default", json!({ "configmaps": "0" })).await.unwrap();
    assert!(is_refused(&estate.quota("b", "more", json!({ "configmaps": "3" })).await));
    estate.remove("configmaps", "x").await;
    let frees = async {
        while estate.quota("b", "more", json!({ "configmaps": "3" })).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, frees).await.expect("what is gone is free, though nobody told that it was there");
}
