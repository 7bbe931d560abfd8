//! The disk runs full, and has room again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::{Sequence, SimDisk, key, widgets};
use bailiwick_storage::{At, Error, ListOptions, Revision, Store, Txn};

async fn open(disk: &SimDisk, reserve_bytes: u64) -> Embedded {
    let mut options = EmbeddedOptions::new(Arc::new(disk.clone()));
    options.reserve_bytes = reserve_bytes;
    Embedded::open(options).await.unwrap()
}

/// Fills the disk with objects until one is refused, and returns the reason.
async fn fill(store: &Embedded) -> (usize, Arc<str>) {
    for n in 0.. {
        match store.commit(Txn::new().create(key("fill", &n.to_string()), vec![7; 64 << 10])).await {
            Ok(_) => {}
            Err(Error::ReadOnly { reason }) => return (n, reason),
            Err(other) => panic!("a full disk came out as {other:?}"),
        }
    }
    unreachable!("the disk has an end")
}

async fn revision_of(store: &Embedded, name: &str) -> Revision {
    store.get(&key("fill", name), At::Latest).await.unwrap().record.unwrap().revision
}

/// when space runs short, writes are refused with the reason, while reads, watches and deletions go on; when
/// there is space again, so are writes, without a restart.
#[tokio::test]
async fn a_full_disk_refuses_writes_and_nothing_else() {
    let disk = SimDisk::default();
    disk.set_capacity(Some(16 << 20));
    let store = open(&disk, 4 << 20).await;
    let mut watch = store.watch(widgets().all(), Revision::new(1)).await.unwrap();
    let began = Instant::now();
    let (filled, reason) = fill(&store).await;
    assert!(reason.contains("kept in reserve"), "{reason}");
    assert!(began.elapsed() < Duration::from_secs(10));

    let all = store.list(widgets().all(), ListOptions::latest()).await.unwrap();
    assert_eq!(all.records.len(), filled);
    let seen = revision_of(&store, "0").await;
    store.commit(Txn::new().delete(key("fill", "0"), seen)).await.unwrap();
    let mut events = 0;
    while events <= filled {
        events += watch.next().await.unwrap().events.len();
    }

    disk.set_capacity(None);
    store.commit(Txn::new().create(key("fill", "again"), "x")).await.unwrap();
}

/// a disk that is full without warning makes the store read-only; it recovers by itself, and nothing is lost.
#[tokio::test]
async fn a_store_on_a_full_disk_recovers_by_itself() {
    let disk = SimDisk::default();
    disk.set_capacity(Some(8 << 20));
    let store = open(&disk, 0).await;
    let (filled, reason) = fill(&store).await;
    assert!(reason.contains("no storage space") || reason.contains("full"), "{reason}");
    assert!(store.trouble().is_some());
    assert_eq!(store.list(widgets().all(), ListOptions::latest()).await.unwrap().records.len(), filled);

    disk.set_capacity(None);
    let freed = Instant::now();
    while let Err(error) = store.commit(Txn::new().create(key("fill", "again"), "x")).await {
        assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
        assert!(freed.elapsed() < Duration::from_secs(10), "writes do not resume");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(store.trouble().is_none());
    assert_eq!(store.list(widgets().all(), ListOptions::latest()).await.unwrap().records.len(), filled + 1);
    drop(store);
    let store = open(&disk, 0).await;
    assert_eq!(store.list(widgets().all(), ListOptions::latest()).await.unwrap().records.len(), filled + 1);
}

/// the same on a store that already holds something else.
#[tokio::test]
async fn a_full_disk_loses_nothing() {
    let disk = SimDisk::default();
    let store = open(&disk, 0).await;
    let mut sequence = Sequence::default();
    for _ in 0..20 {
        sequence.step(&store).await.unwrap();
    }
    disk.set_capacity(Some(0));
    assert!(sequence.step(&store).await.is_err());
    disk.set_capacity(None);
    drop(store);
    let store = open(&disk, 0).await;
    assert!(Sequence::resume(&store).await.unwrap().done() >= 20);
}
