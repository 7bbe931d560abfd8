//! What quota allocations cost those who write ResourceQuotas: how many a second are admitted into one allocation over many
//! projects by 200 writers at once, how long a decision takes at a steady rate, and how soon a namespace that is labelled
//! otherwise is accounted for among many allocations; and what a kube-apiserver waits for that asks by its webhook.
//!
//! ```sh
//! cargo run --release -p bailiwick-bench --bin allocations                        # in this process
//! cargo run --release -p bailiwick-bench --bin allocations -- PROJECTS PROGRAM    # and over the network
//! ```
//!
//! PROGRAM is a built `bailiwick`; it is started behind a cluster, and asked over HTTPS as that would. Without PROJECTS
//! there are 10,000.

mod webhook;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bailiwick_bench::{Failure, steady};
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_registry::{
    Allocations, Attributes, AuthorizationError, Authorizer, Clock, Ctx, Decision, Part, QuotaChange, Registry,
    ServedKind, SystemClock, Tracking, Update, User, WriteOptions, kinds,
};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_storage::{Ledger, Store, Txn};
use futures::future::try_join_all;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

const PROJECTS: usize = 10_000;
const WRITERS: usize = 200;
const WRITING: Duration = Duration::from_secs(10);
const RATE: u32 = 500;
const SECONDS: u32 = 10;
/// More CPUs than a project asks for.
const MOST: usize = 20;
/// How many bytes a row has that is written beside decisions: an account has about as many.
const ROW: usize = 300;
const ALLOCATIONS: usize = 100;
const FLIPS: usize = 20;
/// How often a row is written beside namespaces that change hands.
const ROW_EVERY: Duration = Duration::from_millis(5);

/// Allows everything.
struct Anyone;

struct Site {
    store: Arc<Embedded>,
    registry: Arc<Registry>,
    allocations: Arc<Allocations>,
    _folder: tempfile::TempDir,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let projects = std::env::args().nth(1).map_or(Ok(PROJECTS), |text| text.parse())?;
    let site = Site::open().await?;
    let hard = projects * 2;
    site.make("quota.bailiwick.dev", "resourcequotaallocations", allocation("all", json!({"owner": "a"}), hard))
        .await?;
    let start = Instant::now();
    for numbers in (0..projects).collect::<Vec<_>>().chunks(WRITERS) {
        let made = numbers.iter().map(|&number| site.make("", "namespaces", namespace(number, "a")));
        try_join_all(made).await?;
    }
    println!("{projects} projects are there after {:?}", start.elapsed());
    site.writers(projects, hard).await?;
    site.decisions(projects).await?;
    site.flips(projects).await?;
    println!("all projects were counted anew {} times", site.allocations.metrics().restarts());
    match std::env::args_os().nth(2) {
        Some(program) => webhook::measure(program.as_ref()).await,
        None => Ok(()),
    }
}

#[async_trait]
impl Authorizer for Anyone {
    async fn authorize(&self, _: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        Ok(Decision::Allow(String::new()))
    }
}

// === impl Site ===

impl Site {
    async fn open() -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let store = Embedded::open(EmbeddedOptions::new(Arc::new(Folder::take(folder.path().join("store"))?))).await?;
        let all = kinds::all()?.into_iter().chain(kinds::host()?).collect();
        let store = Arc::new(store);
        let registry = Registry::start(store.clone(), all, Default::default()).await?;
        let allocations = Allocations::new(Arc::new(Anyone), None);
        let registry = Arc::new(registry.with_allocations(&allocations)?);
        allocations.open(&registry)?;
        registry.spawn(allocations.clone().keep(registry.clone()));
        registry.spawn(kinds::keep_quota_status(registry.clone()));
        Ok(Self { store, registry, allocations, _folder: folder })
    }

    /// As many as want to, for some time, each in projects of its own.
    async fn writers(&self, projects: usize, hard: usize) -> Result<(), Failure> {
        let (admitted, refused) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let start = Instant::now();
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let (registry, admitted, refused) = (self.registry.clone(), admitted.clone(), refused.clone());
            writers.spawn(async move {
                let mut turn = 0;
                while start.elapsed() < WRITING {
                    let project = (writer + turn * WRITERS) % projects;
                    // Each time that it comes to a project again, it asks for something else: what changes nothing costs nothing.
                    let round = turn * WRITERS / projects;
                    turn += 1;
                    let cpu = (writer + round) % 5;
                    match set(&registry, project, cpu).await {
                        Ok(()) => admitted.fetch_add(1, Ordering::Relaxed),
                        Err(_) => refused.fetch_add(1, Ordering::Relaxed),
                    };
                }
            });
        }
        while writers.join_next().await.is_some() {}
        let (admitted, refused) = (admitted.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
        let rate = admitted as f64 / start.elapsed().as_secs_f64();
        println!("{WRITERS} writers: {rate:.0} admitted a second ({admitted} admitted, {refused} refused)");
        let sum = self.sum().await?;
        println!("the quotas come to {sum} of {hard}: {}", if sum <= hard { "not exceeded" } else { "EXCEEDED" });
        Ok(())
    }

    /// Decisions at a steady rate, as a webhook is asked, each of which reserves something; beside what the store needs to
    /// write one row at that rate, without which nothing can be promised.
    async fn decisions(&self, projects: usize) -> Result<(), Failure> {
        self.allot("all", projects * MOST).await?;
        let decided = steady::ask(RATE, RATE * SECONDS, |number| {
            let (allocations, project) = (self.allocations.clone(), number as usize * 13 % projects);
            async move {
                // More than any project has so far, and each time something else.
                let new = quota(project, 5 + number as usize * 13 / projects);
                let (user, namespace) = (User::default(), format!("p{project}"));
                let at = Ctx { user: &user, now: SystemClock.now(), annotations: None }.seconds();
                let change =
                    QuotaChange { user: &user, namespace: &namespace, old: None, new: &new, at, is_trial: false };
                match allocations.judge(&change).await? {
                    None => Ok(()),
                    Some(denial) => Err(denial.why.into()),
                }
            }
        })
        .await?;
        let rows = Ledger::new("bench")?;
        let written = steady::ask(RATE, RATE * SECONDS, |number| {
            let (store, row) = (self.store.clone(), rows.row(&[], &number.to_string()));
            async move {
                store.commit(Txn::new().create(row?, vec![b'x'; ROW])).await?;
                Ok(())
            }
        })
        .await?;
        println!("at {RATE} a second a decision takes {decided}; to write a row takes {written}");
        println!("a decision takes {} of a write", steady::over(&decided, &written));
        Ok(())
    }

    /// Sets how much an allocation has.
    async fn allot(&self, name: &str, cpu: usize) -> Result<(), Failure> {
        let version = GroupVersion::new("quota.bailiwick.dev", "v1alpha1");
        let kind = self.registry.find(&version, "resourcequotaallocations").ok_or("the kind is not served")?;
        let change = move |object: &mut Object| {
            let spec = allocation("", json!({"owner": "a"}), cpu)["spec"].clone();
            object.fields_mut().insert("spec".to_owned(), spec);
        };
        Ok(update(&self.registry, &kind, "", name, &change).await?)
    }

    /// Namespaces that change hands, among many allocations; beside rows that nobody looks at, which tell when it is the disk
    /// that takes long.
    async fn flips(&self, projects: usize) -> Result<(), Failure> {
        for number in 0..ALLOCATIONS {
            let object = allocation(&format!("a{number}"), json!({"owner": format!("o{number}")}), 1_000);
            self.make("quota.bailiwick.dev", "resourcequotaallocations", object).await?;
        }
        sleep(Duration::from_secs(5)).await;
        let (mut times, mut slowest_row) = (Vec::new(), Duration::ZERO);
        let flipping = async {
            for number in 0..FLIPS.min(projects) {
                let start = Instant::now();
                label(&self.registry, number, &format!("o{number}")).await?;
                while !self.is_told(number, &format!("a{number}")).await? {
                    sleep(Duration::from_micros(500)).await;
                }
                times.push(start.elapsed());
            }
            Ok::<(), Failure>(())
        };
        let rows = Ledger::new("bench")?;
        let writing = async {
            for number in 0_u64.. {
                let (start, row) = (Instant::now(), rows.row(&["beside"], &number.to_string())?);
                self.store.commit(Txn::new().create(row, vec![b'x'; ROW])).await?;
                slowest_row = slowest_row.max(start.elapsed());
                sleep(ROW_EVERY).await;
            }
            Ok::<(), Failure>(())
        };
        tokio::select! {
            done = flipping => done?,
            done = writing => done?,
        }
        times.sort_unstable();
        let (median, most) = (times.get(times.len() / 2), times.last());
        println!("a label is accounted for after {median:?} (median), {most:?} (at most), {ALLOCATIONS} allocations");
        println!("the slowest of the rows that were written meanwhile took {slowest_row:?}");
        Ok(())
    }

    async fn is_told(&self, project: usize, allocation: &str) -> Result<bool, Failure> {
        let version = GroupVersion::new("quota.bailiwick.dev", "v1alpha1");
        let kind = self.registry.find(&version, "resourcequotaallocations").ok_or("the kind is not served")?;
        let found = self.registry.get(&kind, "", allocation, bailiwick_storage::At::Any).await?;
        let object = found.to_object(kind.gvk())?;
        let rows = object.as_value()["status"]["usedByProject"].as_array().cloned().unwrap_or_default();
        Ok(rows.iter().any(|row| row["namespace"] == format!("p{project}")))
    }

    async fn sum(&self) -> Result<usize, Failure> {
        let kind =
            self.registry.find(&GroupVersion::new("", "v1"), "resourcequotas").ok_or("the kind is not served")?;
        let selection = bailiwick_registry::Selection::parse(&kind, "", "")?;
        let at = bailiwick_storage::At::Latest;
        let request =
            bailiwick_registry::ListRequest { namespace: None, selection: &selection, at, after: None, limit: None };
        let list = self.registry.list(&kind, &request).await?;
        let mut sum = 0;
        for object in &list.objects {
            let object = bailiwick_registry::Encoded::of(object)?.to_object(kind.gvk())?;
            let cpu = object.as_value()["spec"]["hard"]["cpu"].as_str().unwrap_or("0").parse::<usize>()?;
            sum += cpu;
        }
        Ok(sum)
    }

    async fn make(&self, group: &'static str, plural: &str, body: Value) -> Result<(), Failure> {
        make(&self.registry, group, plural, body).await
    }
}

async fn make(registry: &Registry, group: &'static str, plural: &str, body: Value) -> Result<(), Failure> {
    let version = if group.is_empty() { "v1" } else { "v1alpha1" };
    let kind = registry.find(&GroupVersion::new(group, version), plural).ok_or("the kind is not served")?;
    let mut object = Object::try_from(body).map_err(|_| "no object")?;
    object.set_gvk(kind.gvk());
    let options = WriteOptions::default();
    let user = User { name: "bench".to_owned(), ..User::default() };
    let ctx = Ctx { user: &user, now: SystemClock.now(), annotations: None };
    registry.create(&ctx, &kind, kind.accept(object, &options)?, &options).await?;
    Ok(())
}

/// Changes the quota of a project, or makes it.
async fn set(registry: &Registry, project: usize, cpu: usize) -> Result<(), Failure> {
    let change = move |object: &mut Object| {
        object.fields_mut().insert("spec".to_owned(), json!({"hard": {"cpu": cpu.to_string()}}));
    };
    let kind = registry.find(&GroupVersion::new("", "v1"), "resourcequotas").ok_or("the kind is not served")?;
    match update(registry, &kind, &format!("p{project}"), "q", &change).await {
        Err(bailiwick_registry::Error::NotFound { .. }) => {
            make(registry, "", "resourcequotas", quota(project, cpu)).await
        }
        Err(error) => Err(error.into()),
        Ok(()) => Ok(()),
    }
}

async fn label(registry: &Registry, project: usize, owner: &str) -> Result<(), Failure> {
    let owner = owner.to_owned();
    let change = move |object: &mut Object| {
        object.metadata_mut().insert("labels".to_owned(), json!({"owner": owner}));
    };
    let kind = registry.find(&GroupVersion::new("", "v1"), "namespaces").ok_or("the kind is not served")?;
    Ok(update(registry, &kind, "", &format!("p{project}"), &change).await?)
}

async fn update(
    registry: &Registry,
    kind: &ServedKind,
    namespace: &str,
    name: &str,
    change: &(dyn Fn(&mut Object) + Send + Sync),
) -> bailiwick_registry::Result<()> {
    let options = WriteOptions::default();
    let change = |found: &Object| {
        let mut object = found.clone();
        change(&mut object);
        kind.accept(object, &options)
    };
    let user = User { name: "bench".to_owned(), ..User::default() };
    let ctx = Ctx { user: &user, now: SystemClock.now(), annotations: None };
    let update = Update { part: Part::Main, change: &change, tracking: &Tracking::default(), dry_run: false };
    registry.update(&ctx, kind, namespace, name, update).await.map(|_| ())
}

fn namespace(number: usize, owner: &str) -> Value {
    json!({"metadata": {"name": format!("p{number}"), "labels": {"owner": owner}}})
}

fn quota(project: usize, cpu: usize) -> Value {
    json!({"metadata": {"namespace": format!("p{project}"), "name": "q"}, "spec": {"hard": {"cpu": cpu.to_string()}}})
}

fn allocation(name: &str, labels: Value, cpu: usize) -> Value {
    json!({"metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "allocation": {"hard": {"cpu": cpu.to_string()}}}})
}
