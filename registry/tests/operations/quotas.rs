//! Quotas: how many objects a namespace may have.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_registry::kinds::{self, QuotaEnforcement, keep_quota_status};
use bailiwick_registry::{
    Admission, Ctx, DeleteOptions, Error, ListRequest, Part, Proposal, Registry, Result, Selection, ServedKind,
    Tracking, Update, User, WriteOptions,
};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::SimDisk;
use bailiwick_storage::{At, Ledger, ListOptions, Store, Txn};
use futures::future::join_all;
use serde_json::{Value, json};

use super::support::{accept, now, object};

/// How soon the status of a quota tells what there is.
const SOON: Duration = Duration::from_secs(1);

/// A registry of Kubernetes' own kinds, in which quotas hold.
struct Host {
    registry: Arc<Registry>,
    store: Arc<dyn Store>,
    user: User,
}

fn dry_run() -> WriteOptions {
    WriteOptions { dry_run: true, ..WriteOptions::default() }
}

// === impl Host ===

impl Host {
    async fn start() -> Self {
        Self::over(Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(SimDisk::default()))).await.unwrap())).await
    }

    async fn over(store: Arc<dyn Store>) -> Self {
        Self::with_admission(store, Interloper { limits: Mutex::default() }).await
    }

    /// With one more rule behind that of quotas.
    async fn with_admission(store: Arc<dyn Store>, admission: impl Admission) -> Self {
        let kinds = kinds::host().unwrap().into_iter().chain(kinds::all().unwrap()).collect();
        let registry = Registry::start(store.clone(), kinds, Default::default()).await.unwrap();
        let registry = registry.with_admission(QuotaEnforcement::new().unwrap()).with_admission(admission);
        let registry = Arc::new(registry);
        Self { registry, store, user: User { name: "tester".to_owned(), ..User::default() } }
    }

    /// The same, with someone who keeps the status of quotas.
    async fn with_status() -> Self {
        let host = Self::start().await;
        tokio::spawn(keep_quota_status(host.registry.clone()));
        host
    }

    fn ctx(&self) -> Ctx<'_> {
        Ctx { user: &self.user, now: now(), annotations: None }
    }

    fn kind(&self, plural: &str) -> Arc<ServedKind> {
        self.registry.find(&GroupVersion::new("", "v1"), plural).unwrap()
    }

    async fn try_make(&self, plural: &str, body: Value, options: &WriteOptions) -> Result<Object> {
        let kind = &*self.kind(plural);
        let accepted = accept(kind, object(body), options)?;
        let written = self.registry.create(&self.ctx(), kind, accepted, options).await?;
        Ok(written.object.to_object(kind.gvk()).unwrap())
    }

    async fn make(&self, plural: &str, body: Value) -> Object {
        self.try_make(plural, body, &WriteOptions::default()).await.unwrap()
    }

    async fn try_config_map(&self, name: &str) -> Result<Object> {
        self.try_make("configmaps", named(name), &WriteOptions::default()).await
    }

    async fn config_map(&self, name: &str) {
        self.try_config_map(name).await.unwrap();
    }

    async fn quota(&self, name: &str, hard: Value) {
        self.make("resourcequotas", quota(name, hard)).await;
    }

    async fn try_remove(&self, plural: &str, name: &str, options: &DeleteOptions) -> Result<()> {
        let kind = &*self.kind(plural);
        self.registry.delete(&self.ctx(), kind, "a", name, options).await.map(drop)
    }

    async fn remove(&self, plural: &str, name: &str) {
        self.try_remove(plural, name, &DeleteOptions::default()).await.unwrap();
    }

    async fn change(&self, plural: &str, name: &str, edit: impl Fn(&mut Object) + Send + Sync) {
        let kind = &*self.kind(plural);
        let change = |found: &Object| {
            let mut object = found.clone();
            edit(&mut object);
            kind.accept(object, &WriteOptions::default())
        };
        let update = Update { part: Part::Main, change: &change, tracking: &Tracking::default(), dry_run: false };
        self.registry.update(&self.ctx(), kind, "a", name, update).await.unwrap();
    }

    async fn count(&self, plural: &str) -> usize {
        let kind = &*self.kind(plural);
        let selection = Selection::everything(kind);
        let request =
            ListRequest { namespace: Some("a"), selection: &selection, at: At::Latest, after: None, limit: None };
        self.registry.list(kind, &request).await.unwrap().objects.len()
    }

    /// How many private rows there are.
    async fn rows(&self) -> usize {
        let all = Ledger::new("quotas").unwrap();
        self.store.list(all.all(), ListOptions::latest()).await.unwrap().records.len()
    }

    async fn status(&self, name: &str) -> Value {
        let kind = &*self.kind("resourcequotas");
        let found = self.registry.get(kind, "a", name, At::Latest).await.unwrap();
        found.to_object(kind.gvk()).unwrap().as_value()["status"].clone()
    }

    /// The status of a quota becomes this.
    async fn tells(&self, name: &str, hard: Value, used: Value) {
        let wanted = json!({"hard": hard, "used": used});
        let told = async {
            while self.status(name).await != wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(SOON, told).await.is_err() {
            panic!("the quota tells {}, and not {wanted}", self.status(name).await);
        }
    }
}

fn named(name: &str) -> Value {
    json!({"metadata": {"namespace": "a", "name": name}})
}

fn quota(name: &str, hard: Value) -> Value {
    json!({"metadata": {"namespace": "a", "name": name}, "spec": {"hard": hard}})
}

fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Err(error @ Error::Forbidden { .. }) => error.to_string(),
        other => panic!("expected a refusal, and it was {other:?}"),
    }
}

#[tokio::test]
async fn a_namespace_has_no_more_than_its_quotas_allow() {
    let host = Host::start().await;
    host.config_map("before").await;
    host.quota("q", json!({"count/configmaps": "2"})).await;
    host.config_map("x").await;
    let refused = refusal(host.try_config_map("y").await);
    assert_eq!(
        refused,
        "configmaps \"y\" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2"
    );
    assert_eq!(
        refusal(host.try_make("configmaps", named("y"), &dry_run()).await),
        refused,
        "a dry run is refused, too"
    );
    host.make("secrets", named("y")).await;
    let elsewhere = json!({"metadata": {"namespace": "b", "name": "y"}});
    host.make("configmaps", elsewhere).await;

    host.remove("configmaps", "before").await;
    host.try_make("configmaps", named("y"), &dry_run()).await.unwrap();
    host.config_map("y").await;
    refusal(host.try_config_map("z").await);

    host.change("resourcequotas", "q", |quota| {
        quota.fields_mut()["spec"]["hard"] = json!({"count/configmaps": "3"});
    })
    .await;
    host.config_map("z").await;
    refusal(host.try_config_map("zz").await);
    host.remove("resourcequotas", "q").await;
    host.config_map("zz").await;
    assert_eq!(host.rows().await, 0, "what no quota needs is gone");
}

#[tokio::test]
async fn every_quota_holds_and_each_by_all_its_names() {
    let host = Host::start().await;
    host.quota("wide", json!({"configmaps": "5", "count/configmaps": "1k"})).await;
    host.quota("narrow", json!({"configmaps": "1", "count/configmaps": "1", "secrets": "0"})).await;
    host.config_map("x").await;
    let refused = refusal(host.try_config_map("y").await);
    assert!(
        refused.ends_with("exceeded quota: narrow, requested: configmaps=1,count/configmaps=1, used: configmaps=1,count/configmaps=1, limited: configmaps=1,count/configmaps=1"),
        "{refused}"
    );
    let refused = refusal(host.try_make("secrets", named("s"), &WriteOptions::default()).await);
    assert!(refused.ends_with("requested: secrets=1, used: secrets=0, limited: secrets=0"), "{refused}");
    host.remove("resourcequotas", "narrow").await;
    host.config_map("y").await;
    host.quota("of-quotas", json!({"resourcequotas": "2"})).await;
    refusal(host.try_make("resourcequotas", quota("third", json!({})), &WriteOptions::default()).await);
}

/// Pods are all that is in a scope, and events are never counted.
#[tokio::test]
async fn what_is_not_counted_is_not_refused() {
    let host = Host::start().await;
    let scoped = json!({"metadata": {"namespace": "a", "name": "scoped"}, "spec": {"hard": {"count/configmaps": "0"}, "scopes": ["Terminating"]}});
    host.make("resourcequotas", scoped).await;
    let expression = json!({"scopeName": "PriorityClass", "operator": "Exists"});
    let selected = json!({"metadata": {"namespace": "a", "name": "selected"}, "spec": {"hard": {"count/configmaps": "0"}, "scopeSelector": {"matchExpressions": [expression]}}});
    host.make("resourcequotas", selected).await;
    host.quota("events", json!({"count/events": "0", "count/events.events.k8s.io": "0"})).await;
    host.config_map("x").await;
    let event = json!({"metadata": {"namespace": "a", "name": "e"}, "involvedObject": {"namespace": "a"}});
    host.make("events", event).await;
}

/// An object that waits for its finalizers is still there.
#[tokio::test]
async fn what_goes_makes_room_once_it_is_gone() {
    let host = Host::start().await;
    host.quota("q", json!({"configmaps": "1"})).await;
    let mut held = named("x");
    held["metadata"]["finalizers"] = json!(["example.com/x"]);
    host.make("configmaps", held).await;
    host.remove("configmaps", "x").await;
    refusal(host.try_config_map("y").await);
    host.change("configmaps", "x", |config_map| config_map.set_finalizers(&[])).await;
    host.config_map("y").await;

    let kind = &*host.kind("configmaps");
    let selection = Selection::everything(kind);
    let request = ListRequest { namespace: Some("a"), selection: &selection, at: At::Latest, after: None, limit: None };
    let options = DeleteOptions::default();
    host.registry.delete_collection(&host.ctx(), kind, &request, &options).await.unwrap();
    host.config_map("z").await;
}

/// However many write at once, all that fit are made, and no more: none is told that others were faster.
#[tokio::test(flavor = "multi_thread")]
async fn a_quota_is_reached_and_never_passed() {
    let host = Host::start().await;
    host.quota("q", json!({"configmaps": "150"})).await;
    let names: Vec<String> = (0..200).map(|number| format!("x{number}")).collect();
    let made = join_all(names.iter().map(|name| host.try_config_map(name))).await;
    let refused: Vec<_> = made.into_iter().filter(Result::is_err).map(refusal).collect();
    assert_eq!((host.count("configmaps").await, refused.len()), (150, 50), "{refused:?}");

    // As many go as come, in no order.
    let churn = names.iter().map(async |name| {
        let _ = host.try_remove("configmaps", name, &DeleteOptions::default()).await;
        let _ = host.try_config_map(name).await;
        assert!(host.count("configmaps").await <= 150);
    });
    join_all(churn).await;
}

/// While someone makes a config map that is late, and after it was found to fit, changes what fits.
struct Interloper {
    /// What fits from then on, for one late object each.
    limits: Mutex<Vec<&'static str>>,
}

#[async_trait]
impl Admission for Interloper {
    async fn admit(&self, ctx: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let limit = if proposal.name() == "late" { self.limits.lock().unwrap().pop() } else { None };
        let Some(limit) = limit else { return Ok(txn) };
        let quotas = registry.find(&GroupVersion::new("", "v1"), "resourcequotas").unwrap();
        let (options, body) = (WriteOptions::default(), object(quota("q", json!({"configmaps": limit}))));
        let change = |_: &Object| accept(&quotas, body.clone(), &options);
        let update = Update { part: Part::Main, change: &change, tracking: &Tracking::default(), dry_run: false };
        match registry.update(ctx, &quotas, "a", "q", update).await {
            Err(Error::NotFound { .. }) => {
                registry.create(ctx, &quotas, accept(&quotas, body.clone(), &options)?, &options).await?;
            }
            changed => drop(changed?),
        }
        Ok(txn)
    }
}

/// Nobody who began to write before a quota was there, or was another, makes more than it allows.
#[tokio::test]
async fn a_new_quota_counts_for_those_who_write_meanwhile() {
    let store = Embedded::open(EmbeddedOptions::new(Arc::new(SimDisk::default()))).await.unwrap();
    let interloper = Interloper { limits: Mutex::new(vec!["1", "1"]) };
    let host = Host::with_admission(Arc::new(store), interloper).await;
    host.config_map("x").await;
    refusal(host.try_config_map("late").await);
    host.change("resourcequotas", "q", |quota| quota.fields_mut()["spec"]["hard"] = json!({"configmaps": "2"})).await;
    let refused = refusal(host.try_config_map("late").await);
    assert!(refused.ends_with("used: configmaps=1, limited: configmaps=1"), "{refused}");
}

/// Removing an object writes no row, so that nothing holds it up; and a row that was lost is made again.
#[tokio::test]
async fn lost_rows_are_made_again() {
    let host = Host::start().await;
    host.quota("q", json!({"configmaps": "1"})).await;
    host.config_map("x").await;
    let rows = host.store.list(Ledger::new("quotas").unwrap().all(), ListOptions::latest()).await.unwrap();
    assert_eq!(rows.records.len(), 2);
    let lose = rows.records.iter().fold(Txn::new(), |txn, row| txn.delete(row.key.clone(), row.revision));
    host.store.commit(lose).await.unwrap();
    host.remove("configmaps", "x").await;
    host.config_map("x").await;

    let host = Host::over(host.store.clone()).await;
    tokio::spawn(keep_quota_status(host.registry.clone()));
    host.tells("q", json!({"configmaps": "1"}), json!({"configmaps": "1"})).await;
    refusal(host.try_config_map("y").await);
    host.remove("resourcequotas", "q").await;
    assert_eq!(host.rows().await, 0);
}

#[tokio::test]
async fn the_status_of_a_quota_tells_what_there_is() {
    let host = Host::with_status().await;
    host.config_map("before").await;
    let hard = json!({"configmaps": "1k", "count/secrets": "5", "pods": "1", "count/resourcecatalogclaims.catalog.bailiwick.dev": "1", "count/unknown.example.com": "1"});
    let used = |config_maps: &str, secrets: &str| json!({"configmaps": config_maps, "count/secrets": secrets, "pods": "0", "count/resourcecatalogclaims.catalog.bailiwick.dev": "0"});
    host.quota("q", hard.clone()).await;
    host.tells("q", hard.clone(), used("1", "0")).await;
    host.make("secrets", named("s")).await;
    host.config_map("x").await;
    host.tells("q", hard.clone(), used("2", "1")).await;
    host.remove("configmaps", "x").await;
    host.tells("q", hard.clone(), used("1", "1")).await;
    host.change("resourcequotas", "q", |quota| quota.fields_mut()["spec"]["hard"] = json!({"secrets": "2"})).await;
    host.tells("q", json!({"secrets": "2"}), json!({"secrets": "1"})).await;
    host.remove("resourcequotas", "q").await;
    host.quota("again", json!({"secrets": "2"})).await;
    host.tells("again", json!({"secrets": "2"}), json!({"secrets": "1"})).await;
}

/// A quota that limits so much that it cannot be said a second time keeps no other from saying what there is.
#[tokio::test]
async fn a_quota_without_room_for_its_status_keeps_no_other() {
    const NAMES: usize = 5_500;
    let host = Host::with_status().await;
    let hard: Value = (0..NAMES).map(|number| (format!("count/{}{number}", "x".repeat(50)), json!("1"))).collect();
    // Of all namespaces it is looked at first.
    let large = json!({"metadata": {"namespace": "0", "name": "large"}, "spec": {"hard": hard}});
    host.make("resourcequotas", large).await;
    tokio::time::sleep(SOON).await;
    host.quota("q", json!({"configmaps": "2"})).await;
    host.tells("q", json!({"configmaps": "2"}), json!({"configmaps": "0"})).await;
    host.config_map("x").await;
    host.tells("q", json!({"configmaps": "2"}), json!({"configmaps": "1"})).await;
    let kind = &*host.kind("resourcequotas");
    let large = host.registry.get(kind, "0", "large", At::Latest).await.unwrap().to_object(kind.gvk()).unwrap();
    assert_eq!(large.as_value()["status"].get("hard"), None, "it has no room");
}

/// Many writes are told of together.
#[tokio::test]
async fn the_status_is_not_written_with_each_object() {
    let host = Host::with_status().await;
    host.quota("q", json!({"configmaps": "1k"})).await;
    host.tells("q", json!({"configmaps": "1k"}), json!({"configmaps": "0"})).await;
    let before = host.store.revision().await.unwrap().get();
    for number in 0..300 {
        host.config_map(&format!("x{number}")).await;
    }
    host.tells("q", json!({"configmaps": "1k"}), json!({"configmaps": "300"})).await;
    let writes = host.store.revision().await.unwrap().get() - before;
    assert!(writes < 300 + 100, "{writes} writes for 300 objects");
}
