//! How long history is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, HistoryOptions};
use bailiwick_storage::testing::{SimDisk, key};
use bailiwick_storage::{At, Clock, Error, Revision, Store, Txn};

#[derive(Debug, Default)]
struct HandSet(AtomicU64);

impl Clock for HandSet {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

/// Writes one key again and again, so that every write but the last is history.
async fn rewrite(store: &Embedded, times: usize, size: usize) -> Revision {
    let key = key("history", "key");
    let mut seen = store.get(&key, At::Latest).await.unwrap().record.map(|record| record.revision);
    for n in 0..times {
        let value = vec![n as u8; size];
        let txn = match seen {
            None => Txn::new().create(key.clone(), value),
            Some(seen) => Txn::new().update(key.clone(), value, seen),
        };
        seen = Some(store.commit(txn).await.unwrap());
    }
    seen.unwrap()
}

async fn oldest(store: &Embedded) -> Option<Revision> {
    match store.get(&key("history", "key"), At::Exact(Revision::new(1))).await {
        Err(Error::Expired { oldest, .. }) => Some(oldest),
        _ => None,
    }
}

#[tokio::test]
async fn history_is_forgotten_by_age() {
    let clock = Arc::new(HandSet::default());
    let mut options = EmbeddedOptions::new(Arc::new(SimDisk::default()));
    options.clock = clock.clone();
    options.history.age = Duration::from_millis(100);
    let store = Embedded::open(options).await.unwrap();
    let written = rewrite(&store, 10, 10).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(oldest(&store).await, None, "by the clock it is handed, no time has passed");
    clock.0.store(3_600, Ordering::SeqCst);
    tokio::time::timeout(Duration::from_secs(10), async {
        while oldest(&store).await != Some(written) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn history_is_forgotten_by_size() {
    let disk = SimDisk::default();
    let mut options = EmbeddedOptions::new(Arc::new(disk.clone()));
    options.history = HistoryOptions { age: Duration::from_secs(3_600), bytes: 100_000 };
    let store = Embedded::open(options).await.unwrap();
    let written = rewrite(&store, 500, 1_000).await;
    let oldest = oldest(&store).await.unwrap();
    let kept = written.get() - oldest.get();
    assert!((50..=110).contains(&kept), "{kept} revisions of about 1,100 bytes are kept in 100,000 bytes");
    let value = store.get(&key("history", "key"), At::Exact(oldest)).await.unwrap();
    assert_eq!(value.record.unwrap().revision, oldest);
    assert!(disk.image().len() < 16 << 20, "the file does not grow with what is forgotten");
}
