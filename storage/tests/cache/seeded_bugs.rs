//! The harness proves itself: each mistake a cache could make is found.

use std::time::Duration;

use bailiwick_storage::testing::key;
use bailiwick_storage::{At, Fault, Store, Txn};

use super::meddler::{Meddler, cache, options};

/// the comparison with the store finds a deletion that the cache has missed, and stops whoever uses the cache.
#[tokio::test]
async fn a_missed_deletion_is_found() {
    let store = Meddler::open().await;
    let options = options();
    options.faults.set(Fault::MissDelete);
    let cache = cache(&store, options).await;
    let created = store.commit(Txn::new().create(key("a", "one"), "x")).await.unwrap();
    let deleted = store.commit(Txn::new().delete(key("a", "one"), created)).await.unwrap();
    let user = tokio::spawn(async move {
        for _ in 0..500 {
            let snapshot = cache.snapshot(At::NotOlderThan(deleted)).await.unwrap();
            assert_eq!(snapshot.len(), 1, "the seeded bug has no effect");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let panic = user.await.expect_err("nobody noticed").into_panic();
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(message.contains("the cache has") && message.contains("a/one"), "{message}");
}

/// a consistent read that does not wait for the cache is found out by reading one's own writes.
#[tokio::test]
async fn a_stale_read_is_found() {
    let store = Meddler::open().await;
    let options = options();
    options.faults.set(Fault::StaleRead);
    let cache = cache(&store, options).await;
    store.hold_watches(true);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut stale = 0;
    for n in 0..10 {
        let written = cache.commit(Txn::new().create(key("a", &n.to_string()), "x")).await.unwrap();
        stale += usize::from(cache.snapshot(At::Latest).await.unwrap().revision() < written);
    }
    assert!(stale > 0, "the seeded bug has no effect");
}
