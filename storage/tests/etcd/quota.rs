//! etcd has run out of space.

use std::time::Duration;

use bailiwick_storage::etcd::Etcd;
use bailiwick_storage::{At, Error, ListOptions, Store, Txn};
use bailiwick_test_host as host;
use tokio::time::{Instant, sleep};

use crate::support::{PATIENCE, Recorder, all, key, options, store};

/// R-15, for etcd: writes are refused at once and say why; reads, deletions, watches and compaction go on, and writes
/// do once there is space again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_etcd_is_read_only() {
    let etcd = host::Etcd::options().flag("--quota-backend-bytes=16777216").start().await.unwrap();
    let mut with_compaction = options(etcd.endpoints());
    with_compaction.compaction = Some(Duration::from_millis(500));
    let store = Etcd::connect(with_compaction).await.unwrap();
    let start = store.revision().await.unwrap();
    let mut watch = Recorder::start(store.watch(&all(), start).await.unwrap());
    let mut written = Vec::new();
    let reason = loop {
        let asked = Instant::now();
        let name = key(&format!("k{:03}", written.len()));
        match store.commit(Txn::new().create(name.clone(), vec![7; 900_000])).await {
            Ok(revision) => written.push((name, revision)),
            Err(Error::ReadOnly { reason }) => {
                assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
                break reason;
            }
            Err(error) => panic!("{error}"),
        }
        assert!(written.len() < 100, "the quota does not bite");
    };
    for word in ["NOSPACE", "compact", "defrag", "alarm disarm"] {
        assert!(reason.contains(word), "{reason}");
    }
    let listed = store.list(&all(), ListOptions::latest()).await.unwrap();
    assert_eq!(listed.records.len(), written.len());
    let late = crate::support::store(&etcd).await;
    assert!(late.get(&written[0].0, At::Latest).await.unwrap().record.is_some(), "a full store can be opened");
    let mut last = start;
    for (name, revision) in &written {
        last = store.commit(Txn::new().delete(name.clone(), *revision)).await.expect("deletions are let through");
    }
    assert_eq!(watch.until(last).await.len(), 2 * written.len());

    // Compaction needs no space, also not to take turns.
    let first = written[0].1;
    let waiting = Instant::now();
    while !matches!(store.get(&key("a"), At::Exact(first)).await, Err(Error::Expired { .. })) {
        assert!(waiting.elapsed() < PATIENCE, "nothing was compacted");
        sleep(Duration::from_millis(100)).await;
    }
    store.compact(last).await.unwrap();
    etcd.etcdctl(["defrag"]).await.unwrap();
    etcd.etcdctl(["alarm", "disarm"]).await.unwrap();
    let freed = Instant::now();
    while let Err(error) = store.commit(Txn::new().create(key("after"), "v")).await {
        assert!(freed.elapsed() < Duration::from_secs(10), "{error}");
        sleep(Duration::from_millis(100)).await;
    }
}

/// the same store, without the one that fills it.
#[tokio::test]
async fn an_alarm_that_is_raised_elsewhere_is_told_too() {
    let etcd = host::Etcd::options().flag("--quota-backend-bytes=2097152").start().await.unwrap();
    let store = store(&etcd).await;
    let big = "x".repeat(100_000);
    for number in 0..60 {
        if etcd.etcdctl(["put", &format!("elsewhere-{number}"), &big]).await.is_err() {
            break;
        }
    }
    let write = store.commit(Txn::new().create(key("a"), "1")).await;
    assert!(matches!(write, Err(Error::ReadOnly { .. })), "{write:?}");
}
