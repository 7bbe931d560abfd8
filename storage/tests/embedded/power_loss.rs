//! Power is lost at every point of a run: what was acknowledged is there, nothing is torn, and the store opens.

use std::sync::Arc;

use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::{Image, Operation, Random, Sequence, SimDisk};
use bailiwick_storage::{Fault, Faults, Revision, Store};

const STEPS: usize = 24;
/// How many combinations of unsynced sectors are tried at each point where there are more than a few.
const RANDOM_SUBSETS: usize = 6;

/// What a run acknowledged, and after how many operations of the disk.
struct Acknowledged {
    operations: usize,
    steps: usize,
    revision: Revision,
}

/// A run of the workload.
struct Run {
    start: Image,
    trace: Vec<Operation>,
    acknowledged: Vec<Acknowledged>,
}

fn options(disk: &SimDisk, faults: &Faults) -> EmbeddedOptions {
    let mut options = EmbeddedOptions::new(Arc::new(disk.clone()));
    options.faults = faults.clone();
    options
}

/// Runs some steps from `start` on, forgetting history now and then.
async fn run(start: &Image, steps: usize, faults: &Faults) -> Run {
    let disk = SimDisk::from_image(start.clone());
    let store = Embedded::open(options(&disk, faults)).await.unwrap();
    let mut sequence = Sequence::resume(&store).await.unwrap();
    let mut acknowledged = Vec::new();
    for n in 0..steps {
        let revision = sequence.step(&store).await.unwrap();
        acknowledged.push(Acknowledged { operations: disk.operations(), steps: sequence.done(), revision });
        if n % 8 == 7 {
            store.compact(revision).await.unwrap();
        }
    }
    Run { start: start.clone(), trace: disk.trace(), acknowledged }
}

/// Opens an image and checks it against what was acknowledged before the crash. Also does what a client would do next.
async fn check(image: Image, crash_at: usize, run: &Run) -> Result<SimDisk, String> {
    let disk = SimDisk::from_image(image);
    let store =
        Embedded::open(options(&disk, &Faults::default())).await.map_err(|error| format!("unopenable: {error}"))?;
    let mut sequence = Sequence::resume(&store).await?;
    sequence.check_exact(&store).await?;
    let before_crash = run.acknowledged.iter().rev().find(|acknowledged| acknowledged.operations <= crash_at);
    if let Some(acknowledged) = before_crash
        && sequence.done() < acknowledged.steps
    {
        return Err(format!("{} steps were acknowledged, {} are there", acknowledged.steps, sequence.done()));
    }
    let next = sequence.step(&store).await.map_err(|error| format!("no more writes: {error}"))?;
    if let Some(acknowledged) = before_crash
        && next <= acknowledged.revision
    {
        return Err(format!("revision {next} was given out after {}", acknowledged.revision));
    }
    drop(store);
    Ok(disk)
}

/// The images of a crash at `at`: all of the few combinations of unsynced sectors, or some of the many.
fn images(run: &Run, at: usize, random: &mut Random) -> Vec<Image> {
    let mut sectors = 0;
    Image::after_crash(&run.start, &run.trace, at, || {
        sectors += 1;
        false
    });
    let image = |choose: &mut dyn FnMut(usize) -> bool| {
        let mut sector = 0;
        Image::after_crash(&run.start, &run.trace, at, || {
            sector += 1;
            choose(sector - 1)
        })
    };
    if sectors <= 4 {
        return (0..1_usize << sectors).map(|kept| image(&mut |sector| kept & (1 << sector) != 0)).collect();
    }
    let mut images = vec![image(&mut |_| false), image(&mut |_| true)];
    images.extend((0..RANDOM_SUBSETS).map(|_| image(&mut |_| random.below(2) == 0)));
    images
}

/// Crashes at every `stride`th point, and at some of those again during the recovery. Returns how many images were
/// checked, or the first that is wrong.
async fn crash_everywhere(run: &Run, stride: usize, random: &mut Random) -> Result<usize, String> {
    let mut checked = 0;
    for at in (0..=run.trace.len()).step_by(stride) {
        for (nth, image) in images(run, at, random).into_iter().enumerate() {
            let recovered = check(image.clone(), at, run).await.map_err(|wrong| format!("crash at {at}: {wrong}"))?;
            checked += 1;
            // Again while the store recovers: the same demands hold, for nothing more was acknowledged in between.
            if (at + nth) % 16 == 0 {
                checked += crash_in_recovery(run, at, &image, &recovered, random).await?;
            }
        }
    }
    Ok(checked)
}

async fn crash_in_recovery(
    run: &Run,
    at: usize,
    image: &Image,
    recovered: &SimDisk,
    random: &mut Random,
) -> Result<usize, String> {
    let trace = recovered.trace();
    let mut checked = 0;
    for second in (0..=trace.len()).step_by(3) {
        let again = Image::after_crash(image, &trace, second, || random.below(2) == 0);
        check(again, at, run)
            .await
            .map_err(|wrong| format!("crash at {at}, and at {second} of the recovery: {wrong}"))?;
        checked += 1;
    }
    Ok(checked)
}

/// a crash at every operation of the disk, with every small and many larger combinations of what was not synced,
/// and again during recovery, loses nothing that was acknowledged, tears nothing, and leaves a store that opens.
#[tokio::test]
async fn nothing_acknowledged_is_lost_with_the_power() {
    let mut random = Random::default();
    let first = run(&Image::default(), STEPS, &Faults::default()).await;
    let checked = crash_everywhere(&first, 1, &mut random).await.unwrap();
    // A second run, on a store that is not new: the file has grown, and pages are used again.
    let image = Image::after_crash(&first.start, &first.trace, first.trace.len(), || true);
    let second = run(&image, STEPS, &Faults::default()).await;
    let checked = checked + crash_everywhere(&second, 1, &mut random).await.unwrap();
    println!("{checked} images");
    assert!(checked >= 5_000, "only {checked} images were checked");
}

/// The harness finds a store that does not wait for the disk.
#[tokio::test]
async fn a_skipped_sync_is_found() {
    let faults = Faults::default();
    faults.set(Fault::SkipSync);
    let run = run(&Image::default(), STEPS, &faults).await;
    let found = crash_everywhere(&run, 1, &mut Random::default()).await;
    assert!(found.is_err(), "a store that never syncs passed {found:?} images");
}

/// The harness finds a store that acknowledges writes before it has committed them.
#[tokio::test]
async fn an_early_acknowledgement_is_found() {
    let faults = Faults::default();
    let started = run(&Image::default(), 2, &faults).await;
    let image = Image::after_crash(&started.start, &started.trace, started.trace.len(), || true);
    faults.set(Fault::AcknowledgeBeforeCommit);
    let run = run(&image, STEPS, &faults).await;
    let found = crash_everywhere(&run, 1, &mut Random::default()).await;
    assert!(found.is_err(), "a store that acknowledges early passed {found:?} images");
}
