//! How many durable creates a second: the embedded engine and etcd at several numbers of writers, beside what the disk
//! itself can do for a single one.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bailiwick_storage::{Store, Txn};

use crate::load::{Claims, VALUE_BYTES};
use crate::options::Options;
use crate::report::{Goal, Report, Sample, Table, Unit};
use crate::stores::{self, Etcd};

/// How many write at a time.
const WRITERS: [usize; 3] = [1, 32, 256];
/// The most creates in one measurement.
const MAX_CREATES: usize = 200_000;

/// One store under load.
struct Contender {
    store: Arc<dyn Store>,
    next: Arc<AtomicUsize>,
    /// For each of [`WRITERS`].
    rates: [Sample; WRITERS.len()],
}

/// Measures writes.
pub(crate) async fn measure(options: &Options, folder: &Path, etcd: Option<&Etcd>, report: &mut Report) {
    eprintln!("writes …");
    let data = folder.join("writes");
    let engine = stores::embedded(&data).await;
    let mut embedded = Contender::new(engine.clone());
    let mut etcd = etcd.map(|etcd| Contender::new(etcd.store.clone()));
    let mut disk = Sample::default();
    for repetition in 0..=options.repetitions {
        // The first time round warms up.
        let warm = repetition > 0;
        let span = if warm { options.span } else { options.span / 5 };
        let rate = tokio::task::block_in_place(|| append_rate(&folder.join("append"), span));
        if warm {
            disk.push(rate);
        }
        for (nth, writers) in WRITERS.into_iter().enumerate() {
            for contender in std::iter::once(&mut embedded).chain(&mut etcd) {
                let rate = contender.create_rate(writers, span).await;
                if warm {
                    contender.rates[nth].push(rate);
                }
            }
        }
    }
    tabulate(&embedded, etcd.as_ref(), &disk, report);
    drop(embedded);
    stores::end(engine, &data).await;
}

fn tabulate(embedded: &Contender, etcd: Option<&Contender>, disk: &Sample, report: &mut Report) {
    let columns = ["writers", "embedded", "over embedded at 1", "over append + fdatasync", "etcd", "embedded / etcd"];
    let mut table = Table::new("Durable creates of 1 KiB", &columns);
    for (nth, writers) in WRITERS.into_iter().enumerate() {
        let rate = &embedded.rates[nth];
        let other = etcd.map(|etcd| etcd.rates[nth].clone()).unwrap_or_default();
        table.row(vec![
            writers.to_string(),
            rate.show(Unit::Rate),
            rate.over(&embedded.rates[0]).show(Unit::Ratio),
            rate.over(disk).show(Unit::Ratio),
            other.show(Unit::Rate),
            rate.over(&other).show(Unit::Ratio),
        ]);
        if writers == 256 {
            let ten = Goal::AtLeast(10.0);
            let single = rate.over(&embedded.rates[0]);
            report.judge("creates by 256 writers over those by one", &single, Unit::Ratio, ten);
            report.judge("creates by 256 writers over append + fdatasync by one", &rate.over(disk), Unit::Ratio, ten);
        }
    }
    report.add(table);
    report
        .note(format!("Append of 1 KiB + fdatasync to a plain file, one after the other: {}.", disk.show(Unit::Rate)));
}

// === impl Contender ===

impl Contender {
    fn new(store: Arc<dyn Store>) -> Self {
        Self { store, next: Arc::default(), rates: Default::default() }
    }

    /// How many creates a second `writers` reach together, each waiting for its own.
    async fn create_rate(&self, writers: usize, span: Duration) -> f64 {
        let claims = Claims::new("writes", usize::MAX);
        let value = claims.value(0);
        let began = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..writers {
            let (store, next, claims, value) = (self.store.clone(), self.next.clone(), claims.clone(), value.clone());
            tasks.spawn(async move {
                let mut created = 0;
                while began.elapsed() < span && created < MAX_CREATES / writers {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    let txn = Txn::new().create(claims.key(nth), value.clone());
                    store.commit(txn).await.expect("the key is new");
                    created += 1;
                }
                created
            });
        }
        let created: usize = tasks.join_all().await.into_iter().sum();
        created as f64 / began.elapsed().as_secs_f64()
    }
}

/// How many appends a second a plain file takes, each made durable before the next.
fn append_rate(path: &Path, span: Duration) -> f64 {
    let mut file = File::create(path).expect("a file can be made where data is to lie");
    let value = [b'x'; VALUE_BYTES];
    let began = Instant::now();
    let mut appends = 0;
    while began.elapsed() < span && appends < MAX_CREATES {
        file.write_all(&value).expect("the disk takes a kibibyte");
        file.sync_data().expect("the disk syncs");
        appends += 1;
    }
    appends as f64 / began.elapsed().as_secs_f64()
}
