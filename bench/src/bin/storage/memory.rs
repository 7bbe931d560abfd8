//! How much memory an object takes, everything counted: a process of its own loads a store and its cache and says how
//! much it grew.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_storage::Store;

use crate::ALLOCATOR_NAME;
use crate::load::{Claims, Fields, VALUE_BYTES};
use crate::machine;
use crate::options::Options;
use crate::report::{Goal, Report, Sample, Table, Unit};
use crate::stores;

/// The goal: 1.6 KiB.
const GOAL_BYTES: f64 = 1_638.0;
/// The variable by which glibc is told how many arenas to use.
const ARENA_MAX: &str = "MALLOC_ARENA_MAX";

/// How glibc's allocator divides memory between threads. Other allocators take no notice.
#[derive(Clone, Copy, Debug)]
enum Arenas {
    /// Up to eight for each core, the default.
    PerThread,
    /// One for all.
    One,
}

/// Measures memory.
pub(crate) async fn measure(options: &Options, folder: &Path, report: &mut Report) {
    eprintln!("memory …");
    let columns = ["allocator", "after creating them all", "after a restart", "stored value"];
    let title = format!("Resident bytes per object, {} objects of 1 KiB with 4 labels", options.objects);
    let mut table = Table::new(&title, &columns);
    for arenas in [Arenas::PerThread, Arenas::One] {
        let (mut written, mut reopened) = (Sample::default(), Sample::default());
        for repetition in 0..options.repetitions {
            let folder = folder.join(format!("memory-{repetition}"));
            // The first process creates the objects, the second finds them.
            for sample in [&mut written, &mut reopened] {
                sample.push(grow(&folder, options.objects, arenas).await as f64 / options.objects as f64);
            }
            std::fs::remove_dir_all(&folder).expect("the processes have ended");
        }
        let name = arenas.name();
        table.row(vec![
            name.to_owned(),
            written.show(Unit::Bytes),
            reopened.show(Unit::Bytes),
            format!("{VALUE_BYTES} B"),
        ]);
        let goal = Goal::AtMost(GOAL_BYTES);
        report.judge(format!("resident bytes per object, created, {name}"), &written, Unit::Bytes, goal);
        report.judge(format!("resident bytes per object, after a restart, {name}"), &reopened, Unit::Bytes, goal);
    }
    report.add(table);
}

/// The child: opens a store and a cache, loads it if it is empty, and prints by how many bytes the process grew.
pub(crate) async fn child(folder: &Path, objects: usize) {
    // What every process has, whatever it stores.
    tokio::task::spawn_blocking(|| {}).await.expect("nothing does not panic");
    let before = machine::resident_bytes();
    let claims = Claims::new("resourcecatalogclaims", objects);
    let engine = stores::embedded(folder).await;
    let cache = stores::cache(engine.clone(), Fields::None).await;
    let store: Arc<dyn Store> = engine.clone();
    if stores::caught_up(&cache).await.is_empty() {
        claims.fill(&store).await;
    }
    let snapshot = stores::caught_up(&cache).await;
    assert_eq!(snapshot.len(), objects, "all objects are cached");
    drop((snapshot, store));
    tokio::time::sleep(Duration::from_millis(200)).await;
    let after = machine::resident_bytes();
    println!("{}", after.saturating_sub(before));
    drop(cache);
    stores::end(engine, folder).await;
}

// === impl Arenas ===

impl Arenas {
    fn name(self) -> &'static str {
        match self {
            Self::PerThread => ALLOCATOR_NAME,
            Self::One => "MALLOC_ARENA_MAX=1",
        }
    }
}

/// By how many bytes a process grows that loads the objects.
async fn grow(folder: &Path, objects: usize, arenas: Arenas) -> usize {
    let program = std::env::current_exe().expect("the system knows what runs");
    let mut command = tokio::process::Command::new(program);
    command.arg("child-memory").arg(folder).arg(objects.to_string()).stderr(Stdio::inherit()).kill_on_drop(true);
    match arenas {
        Arenas::PerThread => command.env_remove(ARENA_MAX),
        Arenas::One => command.env(ARENA_MAX, "1"),
    };
    let output = command.output().await.expect("this program can be started again");
    assert!(output.status.success(), "the process that loads objects ends well");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().expect("the process prints one number")
}
