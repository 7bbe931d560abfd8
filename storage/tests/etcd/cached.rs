//! The cache over etcd while etcd goes and comes back, and two caches over one etcd.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_storage::cache::{AsStored, AuditOptions, Cache, CacheOptions, OnDifference};
use bailiwick_storage::{At, Error, Metrics, Revision, Store, Txn};
use bailiwick_test_host as host;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{all, key, options, store};

async fn cache(store: Arc<dyn Store>, metrics: &Metrics) -> Cache {
    let mut options = CacheOptions::new(Arc::new(AsStored));
    options.audit = AuditOptions { interval: Duration::from_millis(200), on_difference: OnDifference::Panic };
    options.metrics = metrics.clone();
    Cache::start(store, options).await.unwrap()
}

/// How often the cache was filled anew.
fn resets(metrics: &Metrics) -> String {
    let mut registry = prometheus_client::registry::Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text.lines().find(|line| line.starts_with("bailiwick_storage_cache_resets_total")).unwrap().to_owned()
}

/// while etcd is gone, reads of any state are served and consistent ones fail in time; when it is back everything
/// is within 5 s, no watch has missed anything, and the cache was not filled anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_outlives_an_outage() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    let metrics = Metrics::default();
    let cache = cache(store.clone(), &metrics).await;
    let mut last = cache.commit(Txn::new().create(key("a"), "0")).await.unwrap();
    let start = cache.snapshot(At::Latest).await.unwrap().revision();
    let mut watcher = cache.watch_objects(&all(), start).unwrap();
    etcd.member(0).stop().await.unwrap();
    let (outage, mut longest) = (Instant::now(), Duration::ZERO);
    while outage.elapsed() < Duration::from_secs(10) {
        assert_eq!(cache.snapshot(At::Any).await.unwrap().len(), 1);
        assert!(cache.snapshot(At::NotOlderThan(last)).await.is_ok(), "what has been reached stays reached");
        let asked = Instant::now();
        let read = cache.snapshot(At::Latest).await.map(|snapshot| snapshot.revision());
        assert!(matches!(read, Err(Error::Unavailable { .. })), "{read:?}");
        assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
        longest = longest.max(asked.elapsed());
    }
    etcd.member(0).start().await.unwrap();
    etcd.wait_ready().await.unwrap();
    let back = Instant::now();
    while cache.revision().await.is_err() {}
    for number in 1..=20 {
        last = cache.commit(Txn::new().update(key("a"), format!("{number}"), last)).await.unwrap();
    }
    assert!(cache.snapshot(At::Latest).await.unwrap().revision() >= last);
    let mut seen = Vec::new();
    while seen.last() != Some(&last) {
        let delivery = timeout(Duration::from_secs(10), watcher.next()).await.unwrap().unwrap();
        seen.extend(delivery.events.iter().map(|event| event.revision));
    }
    assert_eq!(seen.len(), 20);
    println!(
        "consistent reads failed within {longest:?}; everything was told {:?} after etcd was back",
        back.elapsed()
    );
    assert!(back.elapsed() < Duration::from_secs(5), "{:?}", back.elapsed());
    assert!(resets(&metrics).ends_with(" 0"), "{}", resets(&metrics));
}

/// R-03, in part: with two replicas on one etcd a consistent read from one cache sees what was written through the other, also
/// while one of them has a slow connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_replicas_never_read_stale() {
    let etcd = host::Etcd::start().await.unwrap();
    let link = etcd.link(0).await.unwrap();
    let slow = bailiwick_storage::etcd::Etcd::connect(options([link.endpoint()])).await.unwrap();
    let near = cache(store(&etcd).await, &Metrics::default()).await;
    let far = cache(Arc::new(slow), &Metrics::default()).await;
    link.delay(Duration::from_millis(30)).await.unwrap();
    let mut last: Option<Revision> = None;
    let mut longest = Duration::ZERO;
    for number in 0..40 {
        let (writer, reader) = if number % 2 == 0 { (&near, &far) } else { (&far, &near) };
        let value = number.to_string();
        let txn = match last {
            None => Txn::new().create(key("a"), value.clone()),
            Some(seen) => Txn::new().update(key("a"), value.clone(), seen),
        };
        let written = writer.commit(txn).await.unwrap();
        let asked = Instant::now();
        let (revision, found) = reader.get_object(&key("a"), At::Latest).await.unwrap();
        longest = longest.max(asked.elapsed());
        assert!(revision >= written);
        assert_eq!(found.unwrap().body().unwrap(), value.as_bytes());
        last = Some(written);
        if number % 8 == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    }
    println!("40 reads of what the other wrote, none stale; the longest took {longest:?} with a link 30 ms slow");
}

/// R-03, in part: a replica that hears nothing from etcd gives no consistent answer while the other one writes. It gives what it has to
/// whoever takes that; and the first consistent answer after it is of all that was written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_hears_nothing_never_reads_stale() {
    let etcd = host::Etcd::start().await.unwrap();
    let link = etcd.link(0).await.unwrap();
    let silent = bailiwick_storage::etcd::Etcd::connect(options([link.endpoint()])).await.unwrap();
    let near = cache(store(&etcd).await, &Metrics::default()).await;
    let far = cache(Arc::new(silent), &Metrics::default()).await;
    let first = near.commit(Txn::new().create(key("a"), "0")).await.unwrap();
    assert!(far.get_object(&key("a"), At::Latest).await.unwrap().0 >= first);
    link.blackhole().await.unwrap();
    let mut last = first;
    for number in 1..=3 {
        last = near.commit(Txn::new().update(key("a"), number.to_string(), last)).await.unwrap();
        let asked = Instant::now();
        let read = far.get_object(&key("a"), At::Latest).await.map(|(revision, _)| revision);
        assert!(matches!(read, Err(Error::Unavailable { .. })), "{read:?}");
        assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
        for at in [At::Any, At::NotOlderThan(first)] {
            let (revision, found) = far.get_object(&key("a"), at).await.unwrap();
            assert!(revision >= first && revision < last, "{revision}");
            assert_eq!(found.unwrap().body().unwrap(), "0".as_bytes());
        }
        assert!(far.snapshot(At::NotOlderThan(last)).await.is_err(), "it has not heard of that");
    }
    link.restore().await.unwrap();
    let back = Instant::now();
    let (revision, found) = loop {
        match far.get_object(&key("a"), At::Latest).await {
            Ok(read) => break read,
            Err(error) => assert!(back.elapsed() < Duration::from_secs(5), "{error}"),
        }
    };
    assert!(revision >= last);
    assert_eq!(found.unwrap().body().unwrap(), "3".as_bytes());
}
