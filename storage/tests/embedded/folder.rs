//! Folders and files that are not as they should be: each gets one clear error, and nothing is lost.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder, OpenError};
use bailiwick_storage::testing::{Image, Random, Sequence, SimDisk};
use bailiwick_storage::{Fault, Store};

async fn open(folder: &Path) -> Result<Embedded, OpenError> {
    Embedded::open(EmbeddedOptions::new(Arc::new(Folder::take(folder)?))).await
}

/// An error and its causes, as a user sees them.
async fn message(folder: &Path) -> String {
    let Err(error) = open(folder).await else {
        panic!("the store opened");
    };
    let mut message = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        message.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    message
}

#[tokio::test]
async fn a_store_is_found_again() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("data");
    let mut sequence = Sequence::default();
    for _ in 0..3 {
        let store = open(&folder).await.unwrap();
        for _ in 0..5 {
            sequence.step(&store).await.unwrap();
        }
        drop(store);
        let found = Sequence::resume(&open(&folder).await.unwrap()).await.unwrap();
        assert_eq!(found.done(), sequence.done());
    }
}

#[tokio::test]
async fn only_the_owner_can_look() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("data");
    let store = open(&folder).await.unwrap();
    let snapshot = root.path().join("snapshot");
    store.save_snapshot(&snapshot).await.unwrap();
    let paths = [folder.clone(), folder.join("store.redb"), folder.join("lock"), snapshot];
    for path in paths {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    }
}

#[tokio::test]
async fn a_second_process_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("data");
    let _store = open(&folder).await.unwrap();
    let message = message(&folder).await;
    let process = std::process::id();
    assert!(message.contains(&format!("is in use by process {process}: stop that process")), "{message}");
}

#[tokio::test]
async fn a_missing_parent_is_named() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("missing").join("data");
    let message = message(&folder).await;
    assert!(message.starts_with("cannot create the data folder"), "{message}");
    assert!(message.contains("check that its parent exists"), "{message}");
    assert!(message.contains("No such file or directory"), "{message}");
}

#[tokio::test]
async fn a_file_in_place_of_the_folder_is_named() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("data");
    fs::write(&folder, "not a folder").unwrap();
    let message = message(&folder).await;
    assert!(message.contains("the data folder") && message.contains("Not a directory"), "{message}");
    assert_eq!(fs::read_to_string(&folder).unwrap(), "not a folder");
}

#[tokio::test]
async fn a_foreign_file_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let content = "this is somebody's diary ".repeat(10_000);
    fs::write(root.path().join("store.redb"), &content).unwrap();
    let message = message(root.path()).await;
    assert!(message.contains("the data file cannot be used"), "{message}");
    assert!(message.contains("it was left as it is"), "{message}");
    assert_eq!(fs::read_to_string(root.path().join("store.redb")).unwrap(), content);
}

#[tokio::test]
async fn a_store_of_another_version_is_left_alone() {
    use redb::{Database, TableDefinition};
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("store.redb");
    let database = Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    let meta: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
    transaction.open_table(meta).unwrap().insert("state", &[9_u8; 40][..]).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let message = message(root.path()).await;
    assert!(message.contains("written by another version of Bailiwick (format 9)"), "{message}");
}

/// R-16, in short: a flipped bit anywhere in the file is noticed or does not matter; no wrong value is ever served.
#[tokio::test]
async fn a_flipped_bit_is_never_served() {
    let disk = SimDisk::default();
    let store = Embedded::open(EmbeddedOptions::new(Arc::new(disk.clone()))).await.unwrap();
    let mut sequence = Sequence::default();
    for _ in 0..40 {
        sequence.step(&store).await.unwrap();
    }
    drop(store);
    let image = disk.image();
    let mut random = Random::default();
    let (mut refused, mut noticed, mut harmless) = (0, 0, 0);
    for _ in 0..400 {
        let mut damaged: Image = image.clone();
        damaged.flip_bit(random.below(image.len() as usize * 8) as u64);
        let disk = SimDisk::from_image(damaged);
        // Damage to redb's own pages may make it panic, which stops the process: that is noticed, too.
        let opened = tokio::spawn(Embedded::open(EmbeddedOptions::new(Arc::new(disk)))).await;
        match opened {
            Err(_) | Ok(Err(_)) => refused += 1,
            Ok(Ok(store)) => {
                let store = Arc::new(store);
                let read = store.clone();
                match tokio::spawn(async move { Sequence::resume(&*read).await }).await {
                    Err(_) => noticed += 1,
                    Ok(Ok(found)) if found.done() == sequence.done() => harmless += 1,
                    Ok(Ok(found)) => panic!("rolled back to {} steps without a word", found.done()),
                    Ok(Err(wrong)) if wrong.contains("is damaged") || wrong.contains("cannot be reached") => {
                        noticed += 1;
                    }
                    Ok(Err(wrong)) => panic!("served: {wrong}"),
                }
            }
        }
    }
    println!("refused {refused}, noticed {noticed}, harmless {harmless}");
    assert!(refused + noticed > 0);
}

/// The harness finds a store that gives a revision out twice.
#[tokio::test]
async fn a_reused_revision_is_found() {
    let disk = SimDisk::default();
    let options = EmbeddedOptions::new(Arc::new(disk.clone()));
    let store = Embedded::open(options.clone()).await.unwrap();
    let mut sequence = Sequence::default();
    sequence.step(&store).await.unwrap();
    let acknowledged = sequence.step(&store).await.unwrap();
    drop(store);
    options.faults.set(Fault::ReuseRevision);
    let store = Embedded::open(options).await.unwrap();
    let reopened = store.revision().await.unwrap();
    assert!(reopened < acknowledged, "the seeded bug has no effect");
    assert!(Sequence::resume(&store).await.unwrap().done() < sequence.done());
}
