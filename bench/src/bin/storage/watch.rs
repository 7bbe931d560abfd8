//! What a delivery to a watcher costs inside the process, when many watch the same range.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bailiwick_storage::cache::Cache;
use bailiwick_storage::{At, Store, Txn};

use crate::load::{Claims, Fields};
use crate::machine;
use crate::options::Options;
use crate::report::{Goal, Report, Sample, Table, Unit};
use crate::stores;

/// How many watch.
const WATCHERS: usize = 1_000;
/// How long a round may take.
const ROUND_LIMIT: Duration = Duration::from_secs(60);

/// How events come.
#[derive(Clone, Copy)]
struct Arrival {
    name: &'static str,
    /// How many write them at a time: as many arrive together.
    writers: usize,
}

/// What a round took.
struct Round {
    wall: Duration,
    cpu: Duration,
}

/// A cache and what is written below it.
struct Stage {
    store: Arc<dyn Store>,
    cache: Cache,
    claims: Claims,
    next: Arc<AtomicUsize>,
}

/// Measures the fan-out.
pub(crate) async fn measure(options: &Options, folder: &Path, report: &mut Report) {
    eprintln!("watch …");
    let data = folder.join("watch");
    let engine = stores::embedded(&data).await;
    let cache = stores::cache(engine.clone(), Fields::None).await;
    let claims = Claims::new("resourcecatalogclaims", usize::MAX);
    let stage = Stage { store: engine.clone(), cache, claims, next: Arc::default() };
    let columns = ["events come", "CPU per delivery", "wall time per delivery", "CPU for all", "CPU without watchers"];
    let title = format!("{WATCHERS} watchers × {} events through the cache", options.events);
    let mut table = Table::new(&title, &columns);
    let arrivals = [Arrival { name: "256 at a time", writers: 256 }, Arrival { name: "one at a time", writers: 1 }];
    for arrival in arrivals {
        let (mut per_cpu, mut per_wall, mut cpu, mut idle) = <(Sample, Sample, Sample, Sample)>::default();
        stage.round(WATCHERS, options.events / 10, arrival.writers).await;
        for _ in 0..options.repetitions {
            let alone = stage.round(0, options.events, arrival.writers).await;
            let watched = stage.round(WATCHERS, options.events, arrival.writers).await;
            let deliveries = WATCHERS * options.events;
            per_cpu.push_time(watched.cpu.saturating_sub(alone.cpu), deliveries);
            per_wall.push_time(watched.wall, deliveries);
            cpu.push_time(watched.cpu, 1);
            idle.push_time(alone.cpu, 1);
        }
        let mut row = vec![arrival.name.to_owned()];
        row.extend([&per_cpu, &per_wall, &cpu, &idle].map(|sample| sample.show(Unit::Time)));
        table.row(row);
        let what = format!("CPU per watch delivery, events {}", arrival.name);
        report.judge(what, &per_cpu, Unit::Time, Goal::AtMost(1_000.0));
    }
    report.add(table);
    stage.measure_feed(options, report).await;
    drop(stage);
    stores::end(engine, &data).await;
}

// === impl Stage ===

impl Stage {
    /// Writes `events` and waits until every watcher has seen them all.
    async fn round(&self, watchers: usize, events: usize, writers: usize) -> Round {
        let start = self.cache.snapshot(At::Latest).await.expect("the cache keeps up").revision();
        let mut watching = tokio::task::JoinSet::new();
        for _ in 0..watchers {
            let mut watcher = self.cache.watch_objects(self.claims.resource.all(), start).expect("the ring is new");
            watching.spawn(async move {
                let mut seen = 0;
                while seen < events {
                    seen += watcher.next().await.expect("the ring reaches back to the start").events.len();
                }
                assert_eq!(seen, events, "every event is delivered once");
            });
        }
        // All of them wait before the first event comes.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let (began, cpu) = (Instant::now(), machine::cpu_time());
        self.write(events, writers).await;
        let all_seen = tokio::time::timeout(ROUND_LIMIT, watching.join_all());
        all_seen.await.expect("a thousand watchers see their events within a minute");
        self.cache.snapshot(At::Latest).await.expect("the cache keeps up");
        Round { wall: began.elapsed(), cpu: machine::cpu_time().saturating_sub(cpu) }
    }

    /// How far the cache falls behind while as many write as the engine takes at once, and how fast it follows.
    async fn measure_feed(&self, options: &Options, report: &mut Report) {
        let (mut written, mut followed, mut behind) = <(Sample, Sample, Sample)>::default();
        let creates = options.objects / 4;
        for repetition in 0..=options.repetitions {
            let first = repetition * creates;
            let began = Instant::now();
            Claims::new("feeds", first + creates).fill_from(&self.store, first).await;
            let wrote = began.elapsed();
            stores::caught_up(&self.cache).await;
            let caught_up = began.elapsed();
            if repetition > 0 {
                written.push(creates as f64 / wrote.as_secs_f64());
                followed.push(creates as f64 / caught_up.as_secs_f64());
                behind.push_time(caught_up - wrote, 1);
            }
        }
        let title = format!("{creates} creates by 512 writers, and the cache that follows them");
        let mut table = Table::new(&title, &["writers reach", "the cache follows at", "behind after the last write"]);
        table.row(vec![written.show(Unit::Rate), followed.show(Unit::Rate), behind.show(Unit::Time)]);
        report.add(table);
    }

    async fn write(&self, events: usize, writers: usize) {
        let remaining = Arc::new(AtomicUsize::new(events));
        let mut writing = tokio::task::JoinSet::new();
        for _ in 0..writers {
            let (store, claims) = (self.store.clone(), self.claims.clone());
            let (next, remaining) = (self.next.clone(), remaining.clone());
            writing.spawn(async move {
                let take = |left: usize| left.checked_sub(1);
                while remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    let txn = Txn::new().create(claims.key(nth), claims.value(nth));
                    store.commit(txn).await.expect("the key is new");
                }
            });
        }
        writing.join_all().await;
    }
}
