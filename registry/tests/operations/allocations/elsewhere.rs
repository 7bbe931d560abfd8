//! Quota allocations where another server has the projects: it asks before it writes, and what it has is heard of later, or
//! never. That server is a map here, which tells what it has when a test says so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_api::quota::QuotaFacts;
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_registry::{
    AllocationPace, Allocations, Attributes, AuthorizationError, Authorizer, Ctx, Decision, DeleteOptions,
    NamespaceLabels, Part, Project, ProjectQuotas, QuotaChange, QuotaOutcome, Registry, Result, Tracking, Update, User,
    WriteOptions, kinds,
};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::SimDisk;
use bailiwick_storage::{
    self as storage, At, Conflict, Expected, InvalidTxn, Key, ListOptions, Lookup, Page, Prefix, Revision, Store, Txn,
};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{sleep, timeout};

use super::super::support::{accept, now, object};
use super::{Anyone, SOON, ledger};

mod keeping;
mod labels;

const GROUP: &str = "quota.bailiwick.dev";
const PLURAL: &str = "resourcequotaallocations";
/// How nothing happens by itself while a test lasts.
const NEVER: AllocationPace =
    AllocationPace { resync_every: Duration::from_secs(3_600), release_after: Duration::from_secs(3_600) };

/// Projects `a`, `b` and `z` of alice's, who may have ten CPUs together.
struct Estate {
    registry: Arc<Registry>,
    allocations: Arc<Allocations>,
    cluster: Arc<Cluster>,
    store: Arc<Stopping>,
    user: User,
}

/// Another server, which has projects and their ResourceQuotas.
#[derive(Default)]
struct Cluster {
    is_ready: AtomicBool,
    has: Mutex<World>,
    told: Mutex<World>,
    changed: Mutex<BTreeSet<String>>,
    news: Notify,
    /// The project of which nothing is said at present, and who is told that someone asks.
    silent_about: Mutex<Option<String>>,
    speaks: Condvar,
    asked: Notify,
    /// How often it was asked what is known of a project.
    tells: AtomicUsize,
    looks: AtomicUsize,
    /// Whether questions about labels are never answered.
    is_deaf: AtomicBool,
    /// Whether the next answer about labels takes until it may be given; that there is one, and that it may be given.
    is_slow: AtomicBool,
    knows_labels: Notify,
    may_answer: Notify,
}

#[derive(Clone, Default)]
struct World {
    labels: BTreeMap<String, NamespaceLabels>,
    quotas: BTreeMap<(String, String), Value>,
    version: u64,
}

/// A store in which the next write of an account waits, if it is told so, in which someone else is always faster, or which
/// cannot take the accounts of one project.
struct Stopping {
    store: Embedded,
    stops: AtomicBool,
    overtakes: AtomicBool,
    refuses: Mutex<Option<&'static str>>,
    stopped: Notify,
    goes_on: Semaphore,
}

// === impl Cluster ===

impl Cluster {
    fn has(&self) -> MutexGuard<'_, World> {
        self.has.lock().unwrap()
    }

    fn label(&self, namespace: &str) {
        self.has().labels.insert(namespace.to_owned(), BTreeMap::from([("owner".to_owned(), "alice".to_owned())]));
    }

    /// Has a ResourceQuota, which it gives back.
    fn set(&self, namespace: &str, cpu: &str) -> Value {
        let mut has = self.has();
        has.version += 1;
        let mut object = quota(namespace, cpu);
        object["metadata"]["resourceVersion"] = json!(has.version.to_string());
        has.quotas.insert((namespace.to_owned(), "default".to_owned()), object.clone());
        object
    }

    fn remove(&self, namespace: &str) {
        let mut has = self.has();
        has.version += 1;
        has.quotas.remove(&(namespace.to_owned(), "default".to_owned()));
    }

    /// Tells all it has.
    fn tell(&self) {
        let has = self.has().clone();
        *self.told.lock().unwrap() = has.clone();
        self.changed.lock().unwrap().extend(has.labels.into_keys());
        self.news.notify_one();
    }

    /// Says that something has changed in a project, but not what.
    fn hint(&self, namespace: &str) {
        self.changed.lock().unwrap().insert(namespace.to_owned());
        self.news.notify_one();
    }

    /// Has told all it has for the first time.
    fn be_ready(&self) {
        self.tell();
        self.is_ready.store(true, Ordering::SeqCst);
        self.tell();
    }

    /// Says nothing about a project any more; or about all again.
    fn be_silent_about(&self, namespace: Option<&str>) {
        *self.silent_about.lock().unwrap() = namespace.map(str::to_owned);
        self.speaks.notify_all();
    }

    /// Waits until someone waits for what it does not say.
    async fn is_asked(&self) {
        timeout(SOON, self.asked.notified()).await.expect("nobody asks");
    }
}

#[async_trait]
impl ProjectQuotas for Cluster {
    fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::SeqCst)
    }

    async fn labels(&self, namespace: &str) -> Result<Option<NamespaceLabels>> {
        Ok(self.has().labels.get(namespace).cloned())
    }

    async fn labels_now(&self, namespace: &str) -> Result<Option<NamespaceLabels>> {
        if self.is_deaf.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let labels = self.has().labels.get(namespace).cloned();
        if self.is_slow.swap(false, Ordering::SeqCst) {
            self.knows_labels.notify_one();
            self.may_answer.notified().await;
        }
        Ok(labels)
    }

    fn namespaces(&self) -> BTreeMap<String, NamespaceLabels> {
        self.told.lock().unwrap().labels.clone()
    }

    fn project(&self, namespace: &str) -> Project {
        self.tells.fetch_add(1, Ordering::SeqCst);
        let mut silent_about = self.silent_about.lock().unwrap();
        if silent_about.as_deref() == Some(namespace) {
            self.asked.notify_one();
            let is_silent = |about: &mut Option<String>| about.as_deref() == Some(namespace);
            // Others go on meanwhile, also those that this thread would have looked after next.
            let wait = || self.speaks.wait_timeout_while(silent_about, SOON, is_silent).unwrap().0;
            silent_about = tokio::task::block_in_place(wait);
        }
        drop(silent_about);
        let told = self.told.lock().unwrap();
        let quotas = told.quotas_of(namespace);
        Project { labels: told.labels.get(namespace).cloned(), quotas, horizon: told.version, is_ahead: false }
    }

    async fn look(&self, namespace: &str) -> Result<Vec<QuotaFacts>> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        Ok(self.has().quotas_of(namespace))
    }

    async fn changed(&self) -> BTreeSet<String> {
        loop {
            let news = self.news.notified();
            let changed = std::mem::take(&mut *self.changed.lock().unwrap());
            if !changed.is_empty() {
                return changed;
            }
            news.await;
        }
    }
}

// === impl World ===

impl World {
    fn quotas_of(&self, namespace: &str) -> Vec<QuotaFacts> {
        let quotas = self.quotas.iter().filter(|((of, _), _)| of == namespace);
        quotas.map(|(_, quota)| QuotaFacts::from_json(quota)).collect()
    }
}

// === impl Stopping ===

#[async_trait]
impl Store for Stopping {
    async fn revision(&self) -> storage::Result<Revision> {
        self.store.revision().await
    }

    fn known_revision(&self) -> Option<Revision> {
        self.store.known_revision()
    }

    async fn get(&self, key: &Key, at: At) -> storage::Result<Lookup> {
        self.store.get(key, at).await
    }

    async fn list(&self, prefix: &Prefix, options: ListOptions) -> storage::Result<Page> {
        self.store.list(prefix, options).await
    }

    async fn commit(&self, txn: Txn) -> storage::Result<Revision> {
        let is_of_account = txn.written().any(|key| key.as_str().contains("/accounts/"));
        if let Some(key) = txn.written().next().filter(|_| is_of_account && self.overtakes.load(Ordering::SeqCst)) {
            let conflict = Conflict { key: key.clone(), expected: Expected::Absent, actual: Some(Revision::new(1)) };
            return Err(storage::Error::Conflict(conflict));
        }
        let refused = *self.refuses.lock().unwrap();
        if is_of_account && refused.is_some_and(|name| txn.written().any(|key| key.name() == name)) {
            return Err(storage::Error::Invalid(InvalidTxn::Empty));
        }
        if is_of_account && self.stops.swap(false, Ordering::SeqCst) {
            self.stopped.notify_one();
            self.goes_on.acquire().await.unwrap().forget();
        }
        self.store.commit(txn).await
    }

    async fn watch(&self, prefix: &Prefix, after: Revision) -> storage::Result<Box<dyn storage::Watch>> {
        self.store.watch(prefix, after).await
    }

    async fn compact(&self, oldest: Revision) -> storage::Result<()> {
        self.store.compact(oldest).await
    }
}

// === impl Estate ===

impl Estate {
    /// All is known and counted.
    async fn open(pace: AllocationPace) -> Self {
        let estate = Self::unready(pace).await;
        estate.cluster.be_ready();
        estate.charge_becomes("0").await;
        estate
    }

    async fn unready(pace: AllocationPace) -> Self {
        Self::unready_for(pace, Arc::new(Anyone)).await
    }

    async fn unready_for(pace: AllocationPace, authorizer: Arc<dyn Authorizer>) -> Self {
        let store = Embedded::open(EmbeddedOptions::new(Arc::new(SimDisk::default()))).await.unwrap();
        let (stops, stopped, goes_on) = (AtomicBool::new(false), Notify::new(), Semaphore::new(0));
        let (overtakes, refuses) = (AtomicBool::new(false), Mutex::new(None));
        let store = Arc::new(Stopping { store, stops, overtakes, refuses, stopped, goes_on });
        let registry = Registry::start(store.clone(), kinds::all().unwrap(), Default::default()).await.unwrap();
        let cluster = Arc::new(Cluster::default());
        let allocations = Allocations::with_pace(authorizer, Some(cluster.clone()), pace);
        let registry = Arc::new(registry.with_allocations(&allocations).unwrap());
        allocations.open(&registry).unwrap();
        registry.spawn(allocations.clone().keep(registry.clone()));
        let user = User { name: "tester".to_owned(), ..User::default() };
        let estate = Self { registry, allocations, cluster, store, user };
        estate.make("alice").await;
        ["a", "b", "z"].into_iter().for_each(|name| estate.cluster.label(name));
        estate
    }

    fn ctx(&self) -> Ctx<'_> {
        Ctx { user: &self.user, now: now(), annotations: None }
    }

    /// Makes an allocation.
    async fn make(&self, name: &str) {
        let kind = self.registry.find(&GroupVersion::new(GROUP, "v1alpha1"), PLURAL).unwrap();
        let allocation = json!({ "metadata": { "name": name }, "spec": spec("10") });
        let options = WriteOptions::default();
        let accepted = accept(&kind, object(allocation), &options).unwrap();
        self.registry.create(&self.ctx(), &kind, accepted, &options).await.unwrap();
    }

    /// Changes what is allotted.
    async fn allot(&self, spec: Value) {
        let kind = self.registry.find(&GroupVersion::new(GROUP, "v1alpha1"), PLURAL).unwrap();
        let change = |found: &Object| {
            let mut object = found.clone();
            object.fields_mut().insert("spec".to_owned(), spec.clone());
            kind.accept(object, &WriteOptions::default())
        };
        let update = Update { part: Part::Main, change: &change, tracking: &Tracking::default(), dry_run: false };
        self.registry.update(&self.ctx(), &kind, "", "alice", update).await.unwrap();
    }

    async fn forget(&self) {
        let kind = self.registry.find(&GroupVersion::new(GROUP, "v1alpha1"), PLURAL).unwrap();
        self.registry.delete(&self.ctx(), &kind, "", "alice", &DeleteOptions::default()).await.unwrap();
    }

    /// Asks whether a quota may be made, or changed, as that server does. The reason if not.
    async fn ask(&self, namespace: &str, old: Option<&Value>, cpu: &str) -> Result<(), String> {
        let mut new = quota(namespace, cpu);
        match old {
            Some(old) => new["metadata"] = old["metadata"].clone(),
            None => new["metadata"]["uid"] = json!(format!("new-{namespace}-{cpu}")),
        }
        self.ask_for(namespace, old, new).await
    }

    async fn ask_for(&self, namespace: &str, old: Option<&Value>, new: Value) -> Result<(), String> {
        let asked = QuotaChange { user: &self.user, namespace, old, new: &new, at: 1_000, is_trial: false };
        match self.allocations.judge(&asked).await {
            Ok(None) => Ok(()),
            Ok(Some(denial)) => Err(denial.causes[0].reason.clone()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// What stands in the ledger of all projects together.
    async fn total(&self) -> (Key, Revision, Value) {
        let key = ledger().row(&["totals"], "alice").unwrap();
        match self.store.get(&key, At::Latest).await.unwrap().record {
            Some(found) => (key, found.revision, serde_json::from_slice(&found.value).unwrap()),
            None => (key, Revision::ZERO, Value::Null),
        }
    }

    /// Waits until all are counted, and have this.
    async fn charge_becomes(&self, cpu: &str) {
        let becomes = async {
            loop {
                let (_, _, total) = self.total().await;
                if total["counted"] == true && total["charge"]["requests.cpu"] == cpu {
                    return;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        if timeout(SOON, becomes).await.is_err() {
            panic!("all together never have {cpu}: {:?}", self.total().await);
        }
    }
}

fn quota(namespace: &str, cpu: &str) -> Value {
    let metadata = json!({ "namespace": namespace, "name": "default", "uid": format!("default-{namespace}") });
    json!({ "metadata": metadata, "spec": { "hard": { "cpu": cpu } } })
}

fn spec(cpu: &str) -> Value {
    json!({ "selector": { "matchLabels": { "owner": "alice" } }, "allocation": { "hard": { "cpu": cpu } } })
}

fn refused(why: &str) -> Result<(), String> {
    Err(why.to_owned())
}

/// whoever loses every race for a row is told to try again, after a bounded number of them, and nothing is reserved.
#[tokio::test(flavor = "multi_thread")]
async fn losing_has_an_end() {
    let estate = Estate::open(NEVER).await;
    estate.store.overtakes.store(true, Ordering::SeqCst);
    let told = estate.ask("a", None, "4").await.unwrap_err();
    assert!(told.contains("try again"), "{told}");
    estate.store.overtakes.store(false, Ordering::SeqCst);
    estate.charge_becomes("0").await;
    estate.ask("a", None, "10").await.unwrap();
}

/// M-QUOTA-1, R-29: nothing is allowed before all there is was seen, and then all of it counts.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_decided_before_all_is_seen() {
    let estate = Estate::unready(NEVER).await;
    estate.cluster.set("a", "6");
    assert_eq!(estate.ask("b", None, "1").await, refused("AllocationsNotReady"));
    estate.cluster.tell();
    assert_eq!(estate.ask("b", None, "1").await, refused("AllocationsNotReady"));
    estate.cluster.be_ready();
    assert_eq!(estate.ask("b", None, "5").await, refused("AllocationExceeded"));
    assert_eq!(estate.ask("b", None, "4").await, Ok(()));
    estate.charge_becomes("10").await;
}

/// QUOTA-14, Q-01: whoever makes a quota in the place of one whose end has not been heard of has that reserved.
#[tokio::test(flavor = "multi_thread")]
async fn a_quota_is_made_where_one_is_gone() {
    let estate = Estate::open(NEVER).await;
    estate.cluster.set("a", "6");
    estate.cluster.tell();
    estate.charge_becomes("6").await;
    estate.cluster.remove("a");
    assert_eq!(estate.ask("a", None, "6").await, Ok(()));
    estate.cluster.set("z", "1");
    estate.cluster.tell();
    estate.charge_becomes("7").await;
    assert_eq!(estate.ask("b", None, "4").await, refused("AllocationExceeded"));
}

/// D-QUOTA-8, Q-01: what was found to fit into a limit that is lowered before it is written down does not fit; nor does it
/// when it was written down, and is asked for again.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_does_not_outlast_the_limit() {
    let estate = Estate::open(NEVER).await;
    let old = estate.cluster.set("a", "4");
    estate.cluster.tell();
    estate.charge_becomes("4").await;
    estate.store.stops.store(true, Ordering::SeqCst);
    let lowering = async {
        timeout(SOON, estate.store.stopped.notified()).await.unwrap();
        estate.allot(spec("5")).await;
        estate.store.goes_on.add_permits(1);
    };
    let (asked, ()) = tokio::join!(estate.ask("a", Some(&old), "9"), lowering);
    assert_eq!(asked, refused("AllocationExceeded"));
    estate.charge_becomes("4").await;
    assert_eq!(estate.ask("a", Some(&old), "5").await, Ok(()));
    estate.allot(spec("4")).await;
    assert_eq!(estate.ask("a", Some(&old), "5").await, refused("AllocationExceeded"));
    assert_eq!(estate.ask("a", Some(&old), "3").await, Ok(()));
}

/// QUOTA-19, QUOTA-23: while projects are counted nothing can rise, and all can fall. What was counted of those that an
/// allocation selected before says nothing about those that it selects now.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_counted_is_what_is_selected() {
    let estate = Estate::unready(NEVER).await;
    let old = estate.cluster.set("a", "6");
    let other = estate.cluster.set("b", "3");
    estate.cluster.be_silent_about(Some("z"));
    estate.cluster.be_ready();
    estate.cluster.is_asked().await;
    assert_eq!(estate.ask("b", Some(&other), "2").await, Ok(()), "less is less");
    assert_eq!(estate.ask("b", Some(&other), "4").await, refused("AllocationCounting"));

    // It counts something else before it has counted all; and then it does not come any further than `a`.
    let mut now = spec("10");
    now["selector"] = json!({ "matchExpressions": [{ "key": "owner", "operator": "Exists" }] });
    estate.allot(now).await;
    estate.cluster.be_silent_about(Some("a"));
    estate.cluster.is_asked().await;
    let asked = timeout(SOON, estate.ask("b", Some(&other), "10")).await.unwrap();
    assert!(asked.is_err(), "{:?}", estate.total().await);
    assert_ne!(estate.total().await.2["counted"], json!(true), "no more than one of them is counted");
    estate.cluster.be_silent_about(None);
    estate.charge_becomes("9").await;
    assert_eq!(estate.ask("a", Some(&old), "7").await, Ok(()));
    assert_eq!(estate.ask("b", Some(&other), "4").await, refused("AllocationExceeded"));
}

/// QUOTA-24: with a quota that goes, what was reserved for changing it is free again.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_reserved_goes_with_its_quota() {
    let estate = Estate::open(NEVER).await;
    let old = estate.cluster.set("a", "4");
    estate.cluster.tell();
    estate.charge_becomes("4").await;
    assert_eq!(estate.ask("a", Some(&old), "9").await, Ok(()));
    assert_eq!(estate.ask("b", None, "2").await, refused("AllocationExceeded"));
    estate.cluster.remove("a");
    estate.cluster.tell();
    estate.charge_becomes("0").await;
    assert_eq!(estate.ask("b", None, "10").await, Ok(()));
}

/// what was reserved for a write of which nobody ever hears is looked for after some time, and released; with an
/// allocation that goes it is forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_to_nothing_is_released() {
    let soon = AllocationPace { release_after: Duration::from_secs(1), ..NEVER };
    let estate = Estate::open(soon).await;
    assert_eq!(estate.ask("a", None, "6").await, Ok(()));
    assert_eq!(estate.ask("b", None, "5").await, refused("AllocationExceeded"));
    estate.charge_becomes("0").await;
    // It is counted when it is written, which others may see before.
    let counted = async {
        while estate.allocations.metrics().released() == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, counted).await.expect("what was released is counted");
    assert_eq!(estate.allocations.metrics().released(), 1);
    assert!(estate.cluster.looks.load(Ordering::SeqCst) > 0, "it was looked for");
    assert_eq!(estate.ask("a", None, "7").await, Ok(()));
    estate.charge_becomes("7").await;
    estate.forget().await;
    let forgotten = async {
        while estate.allocations.metrics().reservations() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, forgotten).await.expect("nothing is reserved of what is gone");
    let looks = estate.cluster.looks.load(Ordering::SeqCst);
    sleep(Duration::from_millis(1_500)).await;
    assert_eq!(estate.cluster.looks.load(Ordering::SeqCst), looks, "nobody looks for it");
}

/// QUOTA-22: what someone writes into the ledger is put right, though nothing happens.
#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_is_wrong_is_put_right() {
    let often = AllocationPace { resync_every: Duration::from_millis(500), ..NEVER };
    let estate = Estate::open(often).await;
    estate.cluster.set("a", "6");
    estate.cluster.set("b", "3");
    estate.cluster.tell();
    estate.charge_becomes("9").await;
    let (key, revision, mut total) = estate.total().await;
    total["charge"]["requests.cpu"] = json!("1");
    estate.store.commit(Txn::new().update(key, total.to_string(), revision)).await.unwrap();
    estate.charge_becomes("9").await;
    let key = ledger().row(&["accounts", "alice"], "a").unwrap();
    let found = estate.store.get(&key, At::Latest).await.unwrap().record.unwrap();
    estate.store.commit(Txn::new().delete(key, found.revision)).await.unwrap();
    // It is counted anew, beside what is still in the total, which is then found to be too much.
    estate.charge_becomes("9").await;
    assert_eq!(estate.ask("b", None, "5").await, refused("AllocationExceeded"));
    sleep(Duration::from_millis(1_200)).await;
    estate.charge_becomes("9").await;
}

/// Allows nothing.
struct Nobody;

#[async_trait]
impl Authorizer for Nobody {
    async fn authorize(&self, _: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        Ok(Decision::NoOpinion(String::new()))
    }
}

/// Q-01, QUOTA-23: what was promised counts when an allocation has begun to select or to count something else.
#[tokio::test(flavor = "multi_thread")]
async fn a_promise_outlasts_the_selector() {
    let estate = Estate::open(NEVER).await;
    assert_eq!(estate.ask("a", None, "6").await, Ok(()));
    let mut now = spec("10");
    now["selector"] = json!({ "matchExpressions": [{ "key": "owner", "operator": "Exists" }] });
    estate.allot(now.clone()).await;
    assert_eq!(estate.ask("b", None, "10").await, refused("AllocationExceeded"));
    estate.charge_becomes("6").await;
    now["allocation"]["hard"]["pods"] = json!("5");
    estate.allot(now).await;
    assert_eq!(estate.ask("b", None, "5").await, refused("AllocationExceeded"));
    assert_eq!(estate.ask("b", None, "4").await, Ok(()));
}

/// D-QUOTA-2: of two changes at once that leave out what the other one limits, one is refused.
#[tokio::test(flavor = "multi_thread")]
async fn two_changes_at_once_uncover_nothing() {
    let estate = Estate::unready_for(NEVER, Arc::new(Nobody)).await;
    let named = |name: &str, hard: Value| {
        let metadata = json!({ "namespace": "a", "name": name, "uid": name, "resourceVersion": "1" });
        json!({ "metadata": metadata, "spec": { "hard": hard } })
    };
    for name in ["first", "second"] {
        let object = named(name, json!({ "cpu": "4" }));
        estate.cluster.has().quotas.insert(("a".to_owned(), name.to_owned()), object);
    }
    estate.cluster.has().version = 1;
    estate.cluster.be_ready();
    estate.charge_becomes("4").await;
    let leave_out = async |name: &str| {
        let (old, new) = (named(name, json!({ "cpu": "4" })), named(name, json!({ "pods": "4" })));
        estate.ask_for("a", Some(&old), new).await
    };
    let both = tokio::join!(leave_out("first"), leave_out("second"));
    let mut both = [both.0, both.1];
    both.sort();
    assert_eq!(both, [Ok(()), refused("AllocationUncovered")]);
}

/// whoever asks for what cannot be written down is refused, and delays nobody.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused_to_whoever_asks_for_it() {
    let estate = Estate::open(NEVER).await;
    let mut large = quota("a", "1");
    for number in 0..20_000 {
        large["spec"]["hard"][format!("count/k{number}.example.com")] = json!("1");
    }
    let asked = tokio::join!(estate.ask_for("a", None, large), estate.ask("b", None, "6"));
    assert_eq!(asked, (refused("AllocationTooLarge"), Ok(())));
    assert_eq!(estate.allocations.metrics().decisions(QuotaOutcome::TooLarge), 1);

    // Wherever the border is.
    *estate.store.refuses.lock().unwrap() = Some("z");
    let asked = tokio::join!(estate.ask("z", None, "1"), estate.ask("a", None, "1"), estate.ask("b", None, "7"));
    assert!(asked.0.is_err(), "{asked:?}");
    assert_eq!((asked.1, asked.2), (Ok(()), Ok(())));
    estate.cluster.set("z", "2");
    estate.cluster.set("a", "1");
    estate.cluster.set("b", "6");
    estate.cluster.tell();
    // That of `b` was never made, so it may be yet.
    estate.charge_becomes("8").await;
    *estate.store.refuses.lock().unwrap() = None;
    estate.charge_becomes("10").await;
    assert_eq!(estate.allocations.metrics().restarts(), 0, "nothing was counted anew");
}

/// QUOTA-19: where more allocations select a project than can be written together, less is still allowed.
#[tokio::test(flavor = "multi_thread")]
async fn less_is_less_for_however_many_allocations() {
    let estate = Estate::open(NEVER).await;
    let old = estate.cluster.set("a", "6");
    estate.cluster.tell();
    estate.charge_becomes("6").await;
    for number in 0..48 {
        estate.make(&format!("more-{number}")).await;
    }
    assert_eq!(estate.ask("a", Some(&old), "7").await, refused("TooManyAllocations"));
    assert_eq!(estate.ask("a", Some(&old), "5").await, Ok(()));
}
