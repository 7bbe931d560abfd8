//! Gets and lists: the cache beside the engines it stands in front of.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bailiwick_storage::cache::{Cache, Term};
use bailiwick_storage::{At, Key, ListOptions, Prefix, Store};

use crate::load::{Claims, Fields, PER_CATALOG};
use crate::machine;
use crate::options::Options;
use crate::report::{Goal, Report, Sample, Table, Unit};
use crate::stores::{self, Etcd};

/// The most gets in one measurement.
const MAX_GETS: usize = 2_000_000;
/// How many gets pass between two looks at the clock.
const GETS_AT_ONCE: usize = 32;
/// How many objects a page has.
const PAGE: NonZeroUsize = NonZeroUsize::new(500).expect("500 is not zero");
/// How often one list is repeated in a measurement, and for how long at most.
const LISTS: usize = 20;

/// Everything that is read.
struct Stage {
    options: Options,
    many: Claims,
    few: Claims,
    keys: Arc<Vec<Key>>,
    cache: Arc<Cache>,
    embedded: Arc<dyn Store>,
    etcd: Option<Arc<dyn Store>>,
}

/// Where a get goes.
#[derive(Clone)]
enum Source {
    Cache(Arc<Cache>, At),
    Store(Arc<dyn Store>),
}

/// A way to read many objects. Each answers how many it found.
#[derive(Clone, Copy)]
enum List {
    /// Asks for all at once.
    Whole,
    /// Looks at each object in a snapshot and adds up the lengths of their bodies.
    Walk,
    /// Asks for [`PAGE`] after [`PAGE`] at the revision of the first.
    Paged,
    /// Asks for those of one catalog.
    Term,
}

/// Measures reads.
pub(crate) async fn measure(options: &Options, folder: &Path, etcd: Option<&Etcd>, report: &mut Report) {
    eprintln!("reads: loading …");
    let many = Claims::new("resourcecatalogclaims", options.objects);
    let few = Claims::new("resourceclaims", options.few_objects);
    let data = folder.join("reads");
    let engine = stores::embedded(&data).await;
    let embedded: Arc<dyn Store> = engine.clone();
    let etcd = etcd.map(|etcd| etcd.store.clone());
    for store in std::iter::once(&embedded).chain(&etcd) {
        many.fill(store).await;
        few.fill(store).await;
    }
    eprintln!("reads …");
    let cache = Arc::new(stores::cache(embedded.clone(), Fields::Catalog).await);
    let keys = Arc::new(many.scattered_keys());
    let stage = Stage { options: options.clone(), many, few, keys, cache, embedded, etcd };
    stage.gets(report).await;
    stage.lists(report).await;
    drop(stage);
    stores::end(engine, &data).await;
}

// === impl Stage ===

impl Stage {
    async fn gets(&self, report: &mut Report) {
        let columns =
            ["tasks", "cache, At::Latest", "CPU", "cache, At::Any", "CPU", "embedded", "etcd", "etcd / cache"];
        let mut table =
            Table::new("One get of a random object: the time its task waits, and the CPU it takes", &columns);
        let cached = |at| Some(Source::Cache(self.cache.clone(), at));
        let sources = [
            cached(At::Latest),
            cached(At::Any),
            Some(Source::Store(self.embedded.clone())),
            self.etcd.clone().map(Source::Store),
        ];
        let mut etcd_rate = Sample::default();
        for tasks in [1, 2, 32] {
            let mut samples: [Sample; 4] = Default::default();
            let mut cpu: [Sample; 4] = Default::default();
            for repetition in 0..=self.options.repetitions {
                for ((source, sample), cpu) in sources.iter().zip(&mut samples).zip(&mut cpu) {
                    // A get from memory never waits: more tasks than cores would only wait for a core.
                    if let Some(source) = source.as_ref().filter(|source| tasks <= 2 || !source.is_cache()) {
                        let (took, worked) = self.time_of_get(source, tasks).await;
                        if repetition > 0 {
                            sample.push(took);
                            cpu.push(worked);
                        }
                    }
                }
            }
            let [latest, any, embedded, etcd] = &samples;
            let [latest_cpu, any_cpu, ..] = &cpu;
            let mut row = vec![tasks.to_string()];
            row.extend([latest, latest_cpu, any, any_cpu, embedded, etcd].map(|sample| sample.show(Unit::Time)));
            row.push(etcd.over(latest).show(Unit::Ratio));
            table.row(row);
            if tasks <= 2 {
                // A get from memory never waits: what it takes beyond its CPU time, others on the machine took.
                let what = format!("CPU per cached consistent get, {tasks} at a time");
                report.judge(what, latest_cpu, Unit::Time, Goal::AtMost(2_000.0));
            } else {
                etcd_rate = etcd.map(|time| tasks as f64 * 1e9 / time);
            }
        }
        report.add(table);
        if self.etcd.is_some() {
            report.note(format!("Gets of etcd by 32 tasks together: {}.", etcd_rate.show(Unit::Rate)));
        }
    }

    /// The nanoseconds that a task waits for one get, with so many tasks getting, and those that the process works.
    async fn time_of_get(&self, source: &Source, tasks: usize) -> (f64, f64) {
        let (span, began, cpu) = (self.options.span / 4, Instant::now(), machine::cpu_time());
        let mut getting = tokio::task::JoinSet::new();
        for task in 0..tasks {
            let (source, keys) = (source.clone(), self.keys.clone());
            getting.spawn(async move {
                let mut gets = 0;
                let mut order = keys.iter().cycle().skip(task * keys.len() / tasks);
                while began.elapsed() < span && gets < MAX_GETS {
                    for key in order.by_ref().take(GETS_AT_ONCE) {
                        source.get(key).await;
                    }
                    gets += GETS_AT_ONCE;
                }
                gets
            });
        }
        let gets: usize = getting.join_all().await.into_iter().sum();
        let (took, worked) = (began.elapsed(), machine::cpu_time().saturating_sub(cpu));
        (took.as_nanos() as f64 * tasks as f64 / gets as f64, worked.as_nanos() as f64 / gets as f64)
    }

    async fn lists(&self, report: &mut Report) {
        let mut table = Table::new("Lists", &["of", "cache", "embedded", "etcd", "embedded / cache", "etcd / cache"]);
        let (many, few) = (self.many.len(), self.few.len());
        let cases = [
            (format!("{few} objects"), &self.few, List::Whole),
            (format!("{few} objects, walking a snapshot"), &self.few, List::Walk),
            (format!("{many} objects"), &self.many, List::Whole),
            (format!("{many} objects, walking a snapshot"), &self.many, List::Walk),
            (format!("{many} objects, {PAGE} a page"), &self.many, List::Paged),
            (format!("{PER_CATALOG} of {many} objects by index term"), &self.many, List::Term),
        ];
        for (name, claims, list) in cases {
            let (mut cache, mut embedded, mut etcd) = <(Sample, Sample, Sample)>::default();
            for repetition in 0..=self.options.repetitions {
                let mut took = vec![(&mut cache, Some(self.time_of_list(None, claims, list).await))];
                // An engine has neither snapshots nor terms: it would list everything.
                if matches!(list, List::Whole | List::Paged) {
                    took.push((&mut embedded, Some(self.time_of_list(Some(&self.embedded), claims, list).await)));
                    took.push((
                        &mut etcd,
                        match &self.etcd {
                            Some(etcd) => Some(self.time_of_list(Some(etcd), claims, list).await),
                            None => None,
                        },
                    ));
                }
                for (sample, took) in took.into_iter().filter(|_| repetition > 0) {
                    took.into_iter().for_each(|took| sample.push(took));
                }
            }
            table.row(vec![
                name,
                cache.show(Unit::Time),
                embedded.show(Unit::Time),
                etcd.show(Unit::Time),
                embedded.over(&cache).show(Unit::Ratio),
                etcd.over(&cache).show(Unit::Ratio),
            ]);
        }
        report.add(table);
    }

    /// The nanoseconds of one list, from a store or else from the cache.
    async fn time_of_list(&self, store: Option<&Arc<dyn Store>>, claims: &Claims, list: List) -> f64 {
        let prefix = claims.resource.all();
        let expected = if matches!(list, List::Term) { PER_CATALOG } else { claims.len() };
        let began = Instant::now();
        let mut lists = 0;
        while lists < LISTS && began.elapsed() < self.options.span / 4 {
            let found = match (store, list) {
                (None, List::Whole) => whole_from_cache(&self.cache, prefix).await,
                (None, List::Walk) => walk(&self.cache, prefix).await,
                (None, List::Paged) => paged_from_cache(&self.cache, prefix).await,
                (None, List::Term) => by_term(&self.cache, prefix, claims.catalog(lists)).await,
                (Some(store), List::Paged) => paged(store, prefix).await,
                (Some(store), _) => whole(store, prefix).await,
            };
            assert_eq!(found, expected, "a list is complete");
            lists += 1;
        }
        began.elapsed().as_nanos() as f64 / lists as f64
    }
}

// === impl Source ===

impl Source {
    fn is_cache(&self) -> bool {
        matches!(self, Self::Cache(..))
    }

    async fn get(&self, key: &Key) {
        match self {
            Self::Cache(cache, at) => {
                let (_, object) = cache.get_object(key, *at).await.expect("the cache serves");
                black_box(object.expect("the object exists"));
            }
            Self::Store(store) => {
                let found = store.get(key, At::Latest).await.expect("the store serves");
                black_box(found.record.expect("the object exists"));
            }
        }
    }
}

async fn whole_from_cache(cache: &Cache, prefix: &Prefix) -> usize {
    let page = cache.list_objects(prefix, &ListOptions::latest()).await.expect("the cache serves");
    black_box(page).objects.len()
}

async fn whole(store: &Arc<dyn Store>, prefix: &Prefix) -> usize {
    let page = store.list(prefix, ListOptions::latest()).await.expect("the store serves");
    black_box(page).records.len()
}

async fn walk(cache: &Cache, prefix: &Prefix) -> usize {
    let snapshot = cache.snapshot(At::Latest).await.expect("the cache serves");
    let (mut objects, mut bytes) = (0, 0);
    for object in snapshot.range(prefix, None) {
        objects += 1;
        bytes += object.body().expect("the object is whole").len();
    }
    black_box(bytes);
    objects
}

async fn by_term(cache: &Cache, prefix: &Prefix, catalog: String) -> usize {
    let term = Term::field("spec.catalog", catalog);
    let snapshot = cache.snapshot(At::Latest).await.expect("the cache serves");
    let objects: Vec<_> = snapshot.having(&term, prefix, None).cloned().collect();
    black_box(objects).len()
}

async fn paged_from_cache(cache: &Cache, prefix: &Prefix) -> usize {
    let mut options = ListOptions::latest().limit(PAGE);
    let mut found = 0;
    loop {
        let page = cache.list_objects(prefix, &options).await.expect("the cache serves");
        found += page.objects.len();
        match page.objects.last() {
            Some(last) if page.remaining > 0 => {
                options = ListOptions::at(At::Exact(page.revision)).limit(PAGE).after(last.key().clone());
            }
            _ => return found,
        }
    }
}

async fn paged(store: &Arc<dyn Store>, prefix: &Prefix) -> usize {
    let mut options = ListOptions::latest().limit(PAGE);
    let mut found = 0;
    loop {
        let page = store.list(prefix, options).await.expect("the store serves");
        found += page.records.len();
        match page.records.last() {
            Some(last) if page.remaining > 0 => {
                options = ListOptions::at(At::Exact(page.revision)).limit(PAGE).after(last.key.clone());
            }
            _ => return found,
        }
    }
}
