//! How much memory an object takes, everything counted: a process of its own loads a store and its cache and says how
//! much it grew.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_storage::Store;

use crate::load::{Claims, Fields};
use crate::machine;
use crate::options::Options;
use crate::report::{Goal, Report, Sample, Table, Unit};
use crate::stores;

/// The goal: 1.6 KiB.
const GOAL_BYTES: f64 = 1_638.0;

/// Measures memory.
pub(crate) async fn measure(options: &Options, folder: &Path, report: &mut Report) {
    eprintln!("memory …");
    let (mut written, mut reopened) = (Sample::default(), Sample::default());
    for repetition in 0..options.repetitions {
        let folder = folder.join(format!("memory-{repetition}"));
        // The first process creates the objects, the second finds them.
        for sample in [&mut written, &mut reopened] {
            sample.push(grow(&folder, options.objects).await as f64 / options.objects as f64);
        }
        std::fs::remove_dir_all(&folder).expect("the processes have ended");
    }
    let columns = ["after creating them all", "after a restart", "payload of each"];
    let title = format!("Resident bytes per object, {} objects of 1 KiB with 4 labels", options.objects);
    let mut table = Table::new(&title, &columns);
    table.row(vec![written.show(Unit::Bytes), reopened.show(Unit::Bytes), "1,024 B".to_owned()]);
    report.add(table);
    let goal = Goal::AtMost(GOAL_BYTES);
    report.judge("resident bytes per object, created", &written, Unit::Bytes, goal);
    report.judge("resident bytes per object, after a restart", &reopened, Unit::Bytes, goal);
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

/// By how many bytes a process grows that loads the objects.
async fn grow(folder: &Path, objects: usize) -> usize {
    let program = std::env::current_exe().expect("the system knows what runs");
    let mut command = tokio::process::Command::new(program);
    command.arg("child-memory").arg(folder).arg(objects.to_string()).stderr(Stdio::inherit()).kill_on_drop(true);
    let output = command.output().await.expect("this program can be started again");
    assert!(output.status.success(), "the process that loads objects ends well");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().expect("the process prints one number")
}
