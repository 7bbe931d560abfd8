//! Snapshots: saved from a running store, restored into a new one, damaged in between.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder, SnapshotError};
use bailiwick_storage::testing::{Random, Sequence, widgets};
use bailiwick_storage::{At, Error, ListOptions, Prefix, Revision, Store};

async fn open(folder: &Path) -> Embedded {
    Embedded::open(EmbeddedOptions::new(Arc::new(Folder::take(folder).unwrap()))).await.unwrap()
}

/// a snapshot taken while writes go on holds one state; the restored store has it, and none of the revisions
/// that were given out since the snapshot is ever given out again.
#[tokio::test]
async fn a_snapshot_is_one_state_and_can_be_restored() {
    let root = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&root.path().join("data")).await);
    let mut sequence = Sequence::default();
    for _ in 0..50 {
        sequence.step(&*store).await.unwrap();
    }
    let file = root.path().join("snapshot");
    let (saving, saved_to) = (store.clone(), file.clone());
    let saving = tokio::spawn(async move { saving.save_snapshot(saved_to).await });
    let mut last = Revision::ZERO;
    for _ in 0..50 {
        last = sequence.step(&*store).await.unwrap();
    }
    let saved = saving.await.unwrap().unwrap();
    let at_snapshot = store.list(&Prefix::everything(), ListOptions::at(At::Exact(saved.revision))).await.unwrap();
    assert_eq!(saved.records, at_snapshot.records.len() as u64);

    let folder = root.path().join("restored");
    assert_eq!(Embedded::restore_snapshot(&file, &folder).await.unwrap(), saved);
    let restored = open(&folder).await;
    let found = restored.list(&Prefix::everything(), ListOptions::latest()).await.unwrap();
    assert_eq!(found.records, at_snapshot.records, "keys, values and revisions");
    let mut resumed = Sequence::resume(&restored).await.unwrap();
    assert!((50..=100).contains(&resumed.done()));
    assert!(resumed.step(&restored).await.unwrap() > last);
    let too_old = restored.watch(widgets().all(), saved.revision).await;
    assert!(matches!(too_old, Err(Error::Expired { .. })), "what happened since the snapshot is not known here");
}

#[tokio::test]
async fn nothing_is_overwritten() {
    let root = tempfile::tempdir().unwrap();
    let store = open(&root.path().join("data")).await;
    Sequence::default().step(&store).await.unwrap();
    let file = root.path().join("snapshot");
    store.save_snapshot(&file).await.unwrap();
    let message = store.save_snapshot(&file).await.unwrap_err().to_string();
    assert!(message.contains("exists already: choose another name"), "{message}");
    drop(store);
    let message = Embedded::restore_snapshot(&file, root.path().join("data")).await.unwrap_err().to_string();
    assert!(message.contains("holds a store already: restore into an empty folder"), "{message}");
    let message = Embedded::restore_snapshot(root.path().join("none"), root.path().join("new")).await;
    assert!(message.unwrap_err().to_string().starts_with("cannot open"));
}

#[tokio::test]
async fn a_damaged_snapshot_is_refused_whole() {
    let root = tempfile::tempdir().unwrap();
    let store = open(&root.path().join("data")).await;
    let mut sequence = Sequence::default();
    for _ in 0..10 {
        sequence.step(&store).await.unwrap();
    }
    let file = root.path().join("snapshot");
    store.save_snapshot(&file).await.unwrap();
    let whole = fs::read(&file).unwrap();
    let mut random = Random::default();
    let damaged_file = root.path().join("damaged");
    let folder = root.path().join("restored");
    for n in 0..300 {
        let mut damaged = whole.clone();
        match n % 3 {
            0 => damaged[random.below(whole.len())] ^= 1 << random.below(8),
            1 => damaged.truncate(random.below(whole.len())),
            _ => damaged.extend([0; 7]),
        }
        fs::write(&damaged_file, &damaged).unwrap();
        let refused = Embedded::restore_snapshot(&damaged_file, &folder).await.unwrap_err();
        assert!(matches!(refused, SnapshotError::Damaged { .. }), "{refused:?}");
        assert!(!folder.exists(), "nothing is made of a damaged snapshot");
    }
}
