//! The disk fails at every single operation in turn.

use std::io;
use std::sync::Arc;

use bailiwick_storage::Error;
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::{DiskFailure, Image, Sequence, SimDisk};

const STEPS: usize = 12;

async fn open(disk: &SimDisk) -> Result<Embedded, String> {
    Embedded::open(EmbeddedOptions::new(Arc::new(disk.clone()))).await.map_err(|error| error.to_string())
}

/// Steps until the disk fails; returns how many were acknowledged.
async fn steps_until_failure(disk: &SimDisk) -> usize {
    let Ok(store) = open(disk).await else {
        return 0;
    };
    let mut sequence = Sequence::resume(&store).await.unwrap_or_default();
    for _ in 0..STEPS {
        if let Err(error) = sequence.step(&store).await {
            assert!(
                matches!(error, Error::ReadOnly { .. } | Error::OutcomeUnknown { .. }),
                "a disk error came out as {error:?}"
            );
            assert!(store.trouble().is_some(), "the store does not say that it takes no writes");
            break;
        }
    }
    sequence.done()
}

/// Whether the store on `disk` is whole and has at least `acknowledged` steps.
async fn check(disk: SimDisk, acknowledged: usize) -> Result<(), String> {
    let store = open(&disk).await?;
    let mut sequence = Sequence::resume(&store).await?;
    if sequence.done() < acknowledged {
        return Err(format!("{acknowledged} steps were acknowledged, {} are there", sequence.done()));
    }
    sequence.step(&store).await.map_err(|error| error.to_string())?;
    Ok(())
}

/// A failure of one operation that leaves nothing behind.
fn failure(error: io::ErrorKind) -> DiskFailure {
    DiskFailure { after: 0, error, lasting: false, partial: false }
}

/// Fails the `n`th operation for every `n` there is, until a run goes through.
async fn fail_each(failure: DiskFailure) {
    let error = failure.error;
    for n in 0.. {
        let disk = SimDisk::default();
        disk.fail(Some(DiskFailure { after: n, ..failure }));
        let acknowledged = steps_until_failure(&disk).await;
        if disk.failed() == 0 {
            assert_eq!(acknowledged, STEPS);
            assert!(n > STEPS * 4, "only {n} operations were failed");
            return;
        }
        disk.fail(None);
        // After a restart, and after a restart with the power lost in between.
        check(disk.clone(), acknowledged).await.unwrap_or_else(|wrong| panic!("{error:?} at {n}: {wrong}"));
        let trace = disk.trace();
        let image = Image::after_crash(&Image::default(), &trace, trace.len(), || false);
        check(SimDisk::from_image(image), acknowledged)
            .await
            .unwrap_or_else(|wrong| panic!("{error:?} at {n}, then power loss: {wrong}"));
    }
}

/// an input/output error at any operation fails the write and nothing else.
#[tokio::test]
async fn an_io_error_anywhere_loses_nothing() {
    fail_each(failure(io::ErrorKind::Other)).await;
}

/// a disk that fails for good at any operation loses nothing that was acknowledged.
#[tokio::test]
async fn a_dead_disk_loses_nothing() {
    fail_each(DiskFailure { lasting: true, ..failure(io::ErrorKind::Other) }).await;
}

/// a full disk at any operation loses nothing that was acknowledged.
#[tokio::test]
async fn a_full_disk_anywhere_loses_nothing() {
    fail_each(failure(io::ErrorKind::StorageFull)).await;
}

/// a write that is cut short anywhere loses nothing that was acknowledged.
#[tokio::test]
async fn a_short_write_anywhere_loses_nothing() {
    fail_each(DiskFailure { partial: true, ..failure(io::ErrorKind::WriteZero) }).await;
}

/// an interrupted call anywhere loses nothing that was acknowledged.
#[tokio::test]
async fn an_interruption_anywhere_loses_nothing() {
    fail_each(failure(io::ErrorKind::Interrupted)).await;
}

/// after a failed sync nothing is acknowledged any more, though the disk would answer again; reads go on.
#[tokio::test]
async fn a_failed_sync_is_never_taken_for_a_success() {
    let disk = SimDisk::default();
    let store = open(&disk).await.unwrap();
    let mut sequence = Sequence::default();
    for _ in 0..3 {
        sequence.step(&store).await.unwrap();
    }
    // The first sync from here on fails: find it by failing one operation after the other.
    for after in 0..40 {
        let disk = SimDisk::from_image(disk.image());
        let store = open(&disk).await.unwrap();
        let mut sequence = Sequence::resume(&store).await.unwrap();
        disk.fail(Some(DiskFailure { after, ..failure(io::ErrorKind::Other) }));
        let failed = sequence.step(&store).await;
        let Some(reason) = store.trouble().filter(|reason| reason.contains("syncing")) else {
            continue;
        };
        assert!(matches!(failed, Err(Error::OutcomeUnknown { .. })), "{failed:?}");
        assert!(reason.contains("check it, then restart"), "{reason}");
        for _ in 0..3 {
            tokio::time::sleep(std::time::Duration::from_millis(600)).await;
            assert!(matches!(sequence.step(&store).await, Err(Error::ReadOnly { .. })));
        }
        let shown = Sequence::resume(&store).await.unwrap();
        assert_eq!(shown.done(), sequence.done(), "what may not be durable is not shown");
        return;
    }
    panic!("no sync was failed");
}
