//! How long it takes until a store serves again: after a clean end, and after its process was killed in the middle of
//! writing.

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_storage::{ListOptions, Store, Txn};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::load::{Claims, Fields};
use crate::options::Options;
use crate::report::{Goal, Report, Sample, Table, Unit};
use crate::stores;

/// How long the killed process may take to load its objects.
const LOAD_LIMIT: Duration = Duration::from_secs(120);
/// How long it writes before it is killed.
const WRITING: Duration = Duration::from_millis(300);
/// How many write in it.
const WRITERS: usize = 32;

/// What opening took.
#[derive(Default)]
struct Opening {
    engine: Sample,
    cache: Sample,
}

/// Measures opening.
pub(crate) async fn measure(options: &Options, folder: &Path, report: &mut Report) {
    eprintln!("open …");
    let folder = folder.join("open");
    let (mut killed, mut clean) = (Opening::default(), Opening::default());
    for _ in 0..options.repetitions {
        kill_while_writing(&folder, options.objects).await;
        killed.measure(&folder, options.objects).await;
        clean.measure(&folder, options.objects).await;
    }
    let title = format!("Opening a store of {} objects of 1 KiB, file in the page cache", options.objects);
    let mut table = Table::new(&title, &["after", "Embedded::open", "Cache::start"]);
    for (after, opening) in [("a clean end", &clean), ("kill -9 while writing", &killed)] {
        table.row(vec![after.to_owned(), opening.engine.show(Unit::Time), opening.cache.show(Unit::Time)]);
        let goal = Goal::AtMost(Duration::from_secs(1).as_nanos() as f64);
        report.judge(format!("Embedded::open after {after}"), &opening.engine, Unit::Time, goal);
    }
    report.add(table);
}

/// The child: loads the objects if they are not there, says so, and then writes until it is killed.
pub(crate) async fn child(folder: &Path, objects: usize) {
    let store: Arc<dyn Store> = stores::embedded(folder).await;
    let start = store.revision().await.expect("the store is open").get();
    let claims = Claims::new("resourcecatalogclaims", objects);
    let one = ListOptions::latest().limit(NonZeroUsize::MIN);
    if store.list(claims.resource.all(), one).await.expect("the store serves").records.is_empty() {
        claims.fill(&store).await;
    }
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = store.clone();
        writers.spawn(async move {
            let claims = Claims::new("later", usize::MAX);
            let first = usize::try_from(start).expect("revisions of a small store") * WRITERS + writer;
            let began = Instant::now();
            for nth in (first..).step_by(WRITERS) {
                let txn = Txn::new().create(claims.key(nth), claims.value(nth));
                store.commit(txn).await.expect("the key is new");
                if began.elapsed() > LOAD_LIMIT {
                    return;
                }
            }
        });
    }
    println!("loaded");
    writers.join_all().await;
}

async fn kill_while_writing(folder: &Path, objects: usize) {
    let program = std::env::current_exe().expect("the system knows what runs");
    let mut command = tokio::process::Command::new(program);
    command.arg("child-writer").arg(folder).arg(objects.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
    let mut child = command.spawn().expect("this program can be started again");
    let mut lines = BufReader::new(child.stdout.take().expect("standard output is a pipe")).lines();
    let loaded = tokio::time::timeout(LOAD_LIMIT, lines.next_line()).await;
    let loaded = loaded.expect("the objects are loaded in time").expect("the pipe can be read");
    assert_eq!(loaded.as_deref(), Some("loaded"), "the process says when it has loaded its objects");
    tokio::time::sleep(WRITING).await;
    child.kill().await.expect("the process runs until it is killed");
}

// === impl Opening ===

impl Opening {
    /// Opens a store and a cache, and checks that what they opened is what was to be measured.
    async fn measure(&mut self, folder: &Path, objects: usize) {
        let began = Instant::now();
        let engine = stores::embedded(folder).await;
        self.engine.push_time(began.elapsed(), 1);
        let began = Instant::now();
        let cache = stores::cache(engine.clone(), Fields::None).await;
        self.cache.push_time(began.elapsed(), 1);
        let claims = Claims::new("resourcecatalogclaims", objects);
        let found = stores::caught_up(&cache).await.count(claims.resource.all(), None);
        assert_eq!(found, objects, "all objects that were loaded are there");
        drop(cache);
        stores::end(engine, folder).await;
    }
}
