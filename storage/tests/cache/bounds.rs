//! The ring's bound: a watcher that falls behind is told, and costs nobody anything.

use std::time::Duration;

use bailiwick_storage::testing::{key, soon, widgets};
use bailiwick_storage::{At, Error, Metrics, Revision, Store, Txn};
use prometheus_client::registry::Registry;

use super::meddler::{Meddler, cache, options};

fn metric(metrics: &Metrics, name: &str) -> u64 {
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    let line = text.lines().find(|line| line.starts_with(&format!("bailiwick_storage_{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).rsplit(' ').next().unwrap().parse().unwrap()
}

/// R-10, in small: a watcher that does not read gets 410 once the ring has left it behind, others get everything, and
/// memory stays within the bound, which the metrics show.
#[tokio::test]
async fn a_watcher_that_does_not_read_expires_alone() {
    let store = Meddler::open().await;
    let mut options = options();
    options.ring.events = 50;
    options.ring.bytes = 40_000;
    let metrics = options.metrics.clone();
    let cache = cache(&store, options).await;
    let start = cache.snapshot(At::Latest).await.unwrap().revision();
    let mut idle = cache.watch_objects(widgets().all(), start).unwrap();
    let mut busy = cache.watch_objects(widgets().all(), start).unwrap();
    let mut seen = Vec::new();
    let mut last = None;
    for n in 0..300_u64 {
        let value = format!("n={n}\npadding={}", "x".repeat(1_000));
        let txn = match last {
            None => Txn::new().create(key("a", "one"), value),
            Some(last) => Txn::new().update(key("a", "one"), value, last),
        };
        last = Some(store.commit(txn).await.unwrap());
        seen.extend(soon("an event", busy.next()).await.unwrap().events.iter().map(|event| event.revision));
        assert!(metric(&metrics, "cache_ring_bytes") <= 40_000);
        assert!(metric(&metrics, "cache_ring_events") <= 50);
    }
    assert_eq!(seen.len(), 300);
    assert!(seen.is_sorted_by(|a, b| a < b));
    match soon("the end of the idle watch", idle.next()).await {
        Err(Error::Expired { requested, oldest }) => assert!(requested == start && oldest > start),
        other => panic!("expected the watch to expire, not {other:?}"),
    }
    assert_eq!(metric(&metrics, "cache_watchers"), 2);
    assert_eq!(metric(&metrics, "cache_watchers_expired_total"), 1);
    assert_eq!(metric(&metrics, "cache_ring_events_bound"), 50);
    assert_eq!(metric(&metrics, "cache_ring_bound_bytes"), 40_000);
    assert_eq!(metric(&metrics, "cache_objects"), 1);
    drop((idle, busy));
    assert_eq!(metric(&metrics, "cache_watchers"), 0);
}

#[tokio::test]
async fn a_revision_before_the_ring_expires_at_once() {
    let store = Meddler::open().await;
    let mut options = options();
    options.ring.events = 5;
    let cache = cache(&store, options).await;
    for n in 0..20 {
        store.commit(Txn::new().create(key("a", &n.to_string()), "x")).await.unwrap();
    }
    cache.snapshot(At::Latest).await.unwrap();
    let Err(Error::Expired { requested, oldest }) = cache.watch_objects(widgets().all(), Revision::new(3)) else {
        panic!("a watch began in a past that is not kept");
    };
    assert_eq!((requested.get(), oldest.get()), (3, 16));
    assert!(cache.watch_objects(widgets().all(), oldest).is_ok());
}

/// R-18, in small: while the store cannot be asked, reads of any state go on and consistent ones fail in time.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_fails_only_consistent_reads() {
    let store = Meddler::open().await;
    let cache = cache(&store, options()).await;
    store.commit(Txn::new().create(key("a", "one"), "x")).await.unwrap();
    cache.snapshot(At::Latest).await.unwrap();
    store.set_down(true);
    assert_eq!(cache.snapshot(At::Any).await.unwrap().len(), 1);
    assert!(matches!(cache.snapshot(At::Latest).await, Err(Error::Unavailable { .. })));
    store.set_down(false);
    assert_eq!(cache.snapshot(At::Latest).await.unwrap().len(), 1);
}

/// A watch that brings nothing: a consistent read gives up after three seconds instead of showing an old state.
#[tokio::test]
async fn a_read_never_shows_a_state_that_is_too_old() {
    let store = Meddler::open().await;
    let cache = cache(&store, options()).await;
    store.hold_watches(true);
    tokio::time::sleep(Duration::from_millis(50)).await;
    store.commit(Txn::new().create(key("a", "one"), "x")).await.unwrap();
    let began = std::time::Instant::now();
    let read = cache.snapshot(At::Latest).await.map(|snapshot| snapshot.revision());
    // The event that was under way when the watch was held may have come through; then the state is new enough.
    match read {
        Err(Error::Unavailable { reason }) => {
            assert!(reason.contains("the cache is at revision"), "{reason}");
            assert!((2..6).contains(&began.elapsed().as_secs()));
        }
        Ok(revision) => assert_eq!(revision, store.revision().await.unwrap()),
        other => panic!("{other:?}"),
    }
    store.hold_watches(false);
    assert_eq!(cache.snapshot(At::Latest).await.unwrap().len(), 1);
}
