//! The cache is filled anew, again and again, while it is used.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bailiwick_storage::cache::Cache;
use bailiwick_storage::testing::{Random, key};
use bailiwick_storage::{At, Error, Key, Prefix, Revision, Store, Txn};

use super::meddler::{Meddler, cache, options};

/// Lists and watches as a client does: after 410 it lists again. Fails if a watch ever skips or repeats anything.
async fn client(cache: Arc<Cache>, done: Arc<AtomicBool>) -> usize {
    let mut relists = 0;
    let mut newest = Revision::ZERO;
    let everything = Prefix::everything();
    'relist: while !done.load(Ordering::SeqCst) {
        let snapshot = cache.snapshot(At::Any).await.unwrap();
        assert!(snapshot.revision() >= newest, "the cache went back from {newest} to {}", snapshot.revision());
        newest = snapshot.revision();
        relists += 1;
        let mut state: BTreeMap<Key, Revision> =
            snapshot.range(&everything, None).map(|object| (object.key().clone(), object.revision())).collect();
        let Ok(mut watcher) = cache.watch_objects(&everything, snapshot.revision()) else {
            continue;
        };
        while !done.load(Ordering::SeqCst) {
            watcher.request_progress();
            let delivery = match watcher.next().await {
                Ok(delivery) => delivery,
                Err(Error::Expired { .. }) => continue 'relist,
                Err(other) => panic!("{other}"),
            };
            for event in delivery.events {
                assert!(event.revision > newest, "revision {} came after {newest}", event.revision);
                let key = event.key().unwrap().clone();
                let before = event.previous.as_ref().map(|object| object.revision());
                assert_eq!(state.get(&key).copied(), before, "{key} at {}", event.revision);
                match &event.object {
                    Some(object) => drop(state.insert(key, object.revision())),
                    None => drop(state.remove(&key)),
                }
            }
            newest = delivery.through;
        }
    }
    relists
}

/// the cache equals the store through a hundred resets, with watches opening at the same instants; nothing is
/// skipped, repeated or shown from an earlier time. The audit compares both fifty times a second and panics.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_resets_hurt_nobody() {
    let store = Meddler::open().await;
    let mut options = options();
    options.ring.events = 200;
    let cache = Arc::new(cache(&store, options).await);
    let done = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..8).map(|_| tokio::spawn(client(cache.clone(), done.clone()))).collect();
    let writer = tokio::spawn({
        let (store, done) = (store.clone(), done.clone());
        async move {
            let mut random = Random::default();
            while !done.load(Ordering::SeqCst) {
                let key = key("a", &random.below(30).to_string());
                let txn = match store.get(&key, At::Latest).await.unwrap().record {
                    None => Txn::new().create(key, "x"),
                    Some(found) if random.below(3) == 0 => Txn::new().delete(key, found.revision),
                    Some(found) => Txn::new().update(key, "y", found.revision),
                };
                store.commit(txn).await.unwrap();
                tokio::time::sleep(std::time::Duration::from_micros(200)).await;
            }
        }
    });
    for n in 0..100 {
        store.expire_watches();
        tokio::time::sleep(std::time::Duration::from_millis(5 + n % 11)).await;
        if n % 10 == 0 {
            // Also with history forgotten under the fill.
            store.compact(store.revision().await.unwrap()).await.unwrap();
        }
    }
    assert_eq!(cache.audit().await.unwrap(), None);
    done.store(true, Ordering::SeqCst);
    writer.await.unwrap();
    // One more event, so that every client wakes up and sees that it is done.
    store.commit(Txn::new().create(key("b", "last"), "x")).await.unwrap();
    let mut relists = 0;
    for client in clients {
        relists += client.await.unwrap();
    }
    assert!(relists >= 100, "{relists} lists by 8 clients in 100 resets");
    let latest = cache.snapshot(At::Latest).await.unwrap();
    assert_eq!(latest.revision(), store.revision().await.unwrap());
}
