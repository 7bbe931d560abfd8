//! The process is killed in the middle of its work, again and again.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_storage::testing::{Random, Sequence};
use bailiwick_storage::{Fault, Revision, Store};

/// Says to [`child`] which folder to work in; without it, the test does nothing.
const FOLDER: &str = "BAILIWICK_TEST_KILL_FOLDER";
/// Makes the child make a mistake.
const EARLY: &str = "BAILIWICK_TEST_KILL_EARLY";

async fn open(folder: &std::path::Path, early: bool) -> Embedded {
    let options = EmbeddedOptions::new(Arc::new(Folder::take(folder).unwrap()));
    if early {
        options.faults.set(Fault::AcknowledgeBeforeCommit);
    }
    Embedded::open(options).await.unwrap()
}

/// The process that is killed: takes steps and tells of each once it is acknowledged.
#[tokio::test]
async fn child() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let store = open(folder.as_ref(), std::env::var(EARLY).is_ok()).await;
    let mut sequence = Sequence::resume(&store).await.unwrap();
    loop {
        let revision = sequence.step(&store).await.unwrap();
        println!("acknowledged {} {revision}", sequence.done());
    }
}

/// When to kill a process.
#[derive(Clone, Copy)]
enum Kill {
    /// So long after its start: often while it opens the store.
    AfterStart(Duration),
    /// So long after it told of its first step.
    AfterFirstStep(Duration),
}

/// Starts the child, kills it, and returns the last step it told of.
fn run_and_kill(folder: &std::path::Path, kill: Kill, early: bool) -> Option<(usize, Revision)> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "embedded::kill::child", "--nocapture"]).env(FOLDER, folder).stdout(Stdio::piped());
    if early {
        command.env(EARLY, "1");
    }
    let mut child = command.spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (first_step_tx, first_step_rx) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut last = None;
        for line in output.lines().map_while(Result::ok) {
            let words: Vec<_> = line.split(' ').collect();
            if let ["acknowledged", steps, revision] = words[..] {
                // The last line may have been cut in two.
                if let (Ok(steps), Ok(revision)) = (steps.parse(), revision.parse()) {
                    last = Some((steps, Revision::new(revision)));
                    // Nobody may be waiting for it.
                    let _ = first_step_tx.send(());
                }
            }
        }
        last
    });
    match kill {
        Kill::AfterStart(after) => std::thread::sleep(after),
        Kill::AfterFirstStep(after) => {
            first_step_rx.recv_timeout(Duration::from_secs(30)).expect("the child does not work");
            std::thread::sleep(after);
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// Kills a process `loops` times and checks the store after each. Returns how many steps were lost.
async fn kill_loops(loops: usize, early: bool) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::default();
    let mut lost = 0;
    let mut newest = Revision::ZERO;
    let mut steps = 0;
    let mut slowest = Duration::ZERO;
    for n in 0..loops {
        let kill = match n % 2 {
            0 => Kill::AfterStart(Duration::from_micros(random.below(60_000) as u64)),
            _ => Kill::AfterFirstStep(Duration::from_micros(random.below(30_000) as u64)),
        };
        let told = run_and_kill(folder.path(), kill, early);
        let began = Instant::now();
        let store = open(folder.path(), false).await;
        slowest = slowest.max(began.elapsed());
        let mut sequence = Sequence::resume(&store).await.unwrap();
        sequence.check_exact(&store).await.unwrap();
        assert!(sequence.done() >= steps || early, "the store went back from {steps} to {} steps", sequence.done());
        if let Some((told, revision)) = told {
            lost += told.saturating_sub(sequence.done());
            newest = newest.max(revision);
        }
        let next = sequence.step(&store).await.unwrap();
        assert!(next > newest || early, "revision {next} was given out after {newest}");
        newest = next;
        steps = sequence.done();
        assert_eq!(store.revision().await.unwrap(), next);
    }
    println!("{loops} kills, {steps} steps, slowest reopening {slowest:?}");
    assert!(steps > loops, "the killed processes did too little: {steps} steps in {loops} runs");
    lost
}

/// killed at random moments, the store always opens, has everything that was acknowledged, whole
/// transactions only, and goes on with higher revisions. `BAILIWICK_TEST_KILLS=1000` for the long run.
#[tokio::test]
async fn nothing_acknowledged_is_lost_with_the_process() {
    let loops = std::env::var("BAILIWICK_TEST_KILLS").map_or(100, |loops| loops.parse().unwrap());
    assert_eq!(kill_loops(loops, false).await, 0);
}

/// The harness finds a store that acknowledges writes before it has committed them.
#[tokio::test]
async fn an_early_acknowledgement_is_found() {
    let mut lost = 0;
    for _ in 0..20 {
        lost += kill_loops(20, true).await;
        if lost > 0 {
            return;
        }
    }
    panic!("a store that acknowledges early lost nothing in 400 kills");
}
