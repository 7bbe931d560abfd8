//! What compaction takes away is said to be gone; nothing else is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bailiwick_storage::etcd::Etcd;
use bailiwick_storage::{At, Change, Clock, Error, ListOptions, Revision, Store, Txn};
use bailiwick_test_host as host;
use tokio::time::{Instant, sleep};

use crate::support::{PATIENCE, Recorder, Writer, all, check_history, key, options, store};

/// the edges. What is older than the oldest kept is expired, for every way to ask for it, and the oldest is named.
#[tokio::test]
async fn the_edge_of_what_is_kept() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    let mut revisions = vec![store.commit(Txn::new().create(key("a"), "0")).await.unwrap()];
    for number in 1..10 {
        let last = *revisions.last().unwrap();
        revisions.push(store.commit(Txn::new().update(key("a"), format!("{number}"), last)).await.unwrap());
    }
    let (oldest, newest) = (revisions[5], revisions[9]);
    store.compact(oldest).await.unwrap();
    store.compact(oldest).await.expect("compacting again is no mistake");
    store.compact(revisions[2]).await.expect("what is gone is gone");
    let beyond = store.compact(Revision::new(newest.get() + 1)).await;
    assert!(matches!(beyond, Err(Error::FutureRevision { .. })), "{beyond:?}");

    for (index, revision) in revisions.iter().copied().enumerate() {
        let get = store.get(&key("a"), At::Exact(revision)).await.map(|found| found.record.is_some());
        let list = store.list(&all(), ListOptions::at(At::Exact(revision))).await.map(|page| page.records.len() == 1);
        let mut watch = store.watch(&all(), revision).await.unwrap();
        watch.request_progress();
        let watch = watch.next().await.map(|batch| batch.through == newest && batch.events.len() == 9 - index);
        for answer in [get, list, watch] {
            match answer {
                Ok(right) => assert!(right && revision >= oldest, "{revision}"),
                Err(Error::Expired { requested, oldest: told }) => {
                    assert_eq!((requested, told), (revision, oldest));
                    assert!(revision < oldest);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// etcd's issues 18089 and 19179: compaction at a deletion, and a watch that starts exactly there.
#[tokio::test]
async fn a_deletion_at_the_compacted_revision_is_not_lost() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    let mut before = store.commit(Txn::new().create(key("a"), "1")).await.unwrap();
    for _ in 0..20 {
        let deleted = store.commit(Txn::new().delete(key("a"), before)).await.unwrap();
        let created = store.commit(Txn::new().create(key("a"), "2")).await.unwrap();
        store.compact(deleted).await.unwrap();
        // From before the deletion: gone, and said so. A watch that began here must not miss the deletion.
        let mut watch = store.watch(&all(), before).await.unwrap();
        match watch.next().await {
            Err(Error::Expired { oldest, .. }) => assert_eq!(oldest, deleted),
            other => panic!("{other:?}"),
        }
        // From the deletion on: everything after it.
        let mut watch = store.watch(&all(), deleted).await.unwrap();
        let batch = watch.next().await.unwrap();
        assert_eq!((batch.events[0].revision, batch.events.len()), (created, 1));
        assert_eq!(store.get(&key("a"), At::Exact(deleted)).await.unwrap().record, None);

        // A watch that has seen the deletion and is overtaken by compaction goes on.
        let mut running = store.watch(&all(), deleted).await.unwrap();
        assert_eq!(running.next().await.unwrap().through, created);
        let again = store.commit(Txn::new().delete(key("a"), created)).await.unwrap();
        store.compact(again).await.unwrap();
        let batch = running.next().await.unwrap();
        assert!(matches!(batch.events[0].change, Change::Delete), "{batch:?}");
        before = store.commit(Txn::new().create(key("a"), "3")).await.unwrap();
    }
}

/// compaction every 200 ms under writers, watches and lists: no hole, and every expiry is a true one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compaction_under_load_makes_no_holes() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    let start = store.revision().await.unwrap();
    let mut running = Recorder::start(store.watch(&all(), start).await.unwrap());
    let writers = ["a", "b", "c"].map(|name| Writer::start(store.clone(), name));
    let (mut expired, mut resumed) = (0, 0);
    let end = Instant::now() + Duration::from_secs(8);
    while Instant::now() < end {
        sleep(Duration::from_millis(200)).await;
        let page = store.list(&all(), ListOptions::latest()).await.unwrap();
        store.compact(page.revision).await.unwrap();
        // Exactly at the compacted revision, and one before it.
        let mut from_here = store.watch(&all(), page.revision).await.unwrap();
        let batch = from_here.next().await.unwrap();
        assert!(batch.events.iter().all(|event| event.revision > page.revision));
        resumed += 1;
        let older = Revision::new(page.revision.get() - 1);
        let mut from_before = store.watch(&all(), older).await.unwrap();
        match from_before.next().await {
            Err(Error::Expired { requested, oldest }) => {
                assert!(requested == older && oldest >= page.revision, "{requested} {oldest}");
                expired += 1;
            }
            other => panic!("{other:?}"),
        }
        match store.list(&all(), ListOptions::at(At::Exact(older))).await {
            Err(Error::Expired { oldest, .. }) => assert!(oldest >= page.revision),
            other => panic!("{other:?}"),
        }
    }
    let mut written = Vec::new();
    for writer in writers {
        written.push(writer.stop().await);
    }
    let events = running.until(store.revision().await.unwrap()).await;
    check_history(&store, &events, &written).await;
    assert!(expired > 10 && resumed > 10 && events.len() > 300, "{expired} {resumed} {}", events.len());
}

struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

/// Replicas compact in turns: one of them each time, to what is as old as was asked for.
#[tokio::test]
async fn of_several_replicas_one_compacts() {
    let etcd = host::Etcd::start().await.unwrap();
    let clock = Arc::new(TestClock(AtomicU64::new(0)));
    let mut with_compaction = options(etcd.endpoints());
    // The tasks look every 50 ms; whether it is time they learn from the clock.
    with_compaction.compaction = Some(Duration::from_secs(1));
    with_compaction.clock = clock.clone();
    let mut replicas = Vec::new();
    for _ in 0..3 {
        replicas.push(Etcd::connect(with_compaction.clone()).await.unwrap());
    }
    let store = store(&etcd).await;
    let mut last = store.commit(Txn::new().create(key("a"), "0")).await.unwrap();
    settle(&etcd, 1).await;
    let first = last;
    for round in 1..=3 {
        for number in 0..5 {
            last = store.commit(Txn::new().update(key("a"), format!("{number}"), last)).await.unwrap();
        }
        assert!(store.get(&key("a"), At::Exact(last)).await.is_ok());
        clock.0.fetch_add(1, Ordering::SeqCst);
        settle(&etcd, 1 + round).await;
    }
    let gone = store.get(&key("a"), At::Exact(first)).await;
    assert!(matches!(gone, Err(Error::Expired { .. })), "{gone:?}");
    assert!(store.get(&key("a"), At::Exact(last)).await.is_ok());

    // The task ends with the store.
    drop(replicas);
    clock.0.fetch_add(1, Ordering::SeqCst);
    sleep(Duration::from_millis(300)).await;
    assert_eq!(turns(&etcd).await, 4);
}

/// Waits for a turn to be taken, and makes sure that no other is: there is one for each age that passes.
async fn settle(etcd: &host::Etcd, expected: u64) {
    let start = Instant::now();
    while turns(etcd).await < expected {
        assert!(start.elapsed() < PATIENCE, "turn {expected} is not taken");
        sleep(Duration::from_millis(50)).await;
    }
    sleep(Duration::from_millis(500)).await;
    assert_eq!(turns(etcd).await, expected);
}

/// How many turns there have been.
async fn turns(etcd: &host::Etcd) -> u64 {
    let fields = etcd.etcdctl(["get", "-w", "fields", "/bailiwick/compaction"]).await.unwrap();
    let version = fields.lines().find_map(|line| line.strip_prefix("\"Version\" : ")).unwrap_or("0");
    version.parse().unwrap()
}

/// a watch on a quiet range stays resumable while the rest of etcd is written and compacted.
#[tokio::test]
async fn a_quiet_watch_is_not_left_behind() {
    let etcd = host::Etcd::start().await.unwrap();
    let link = etcd.link(0).await.unwrap();
    let watching = Etcd::connect(options([link.endpoint()])).await.unwrap();
    let store = store(&etcd).await;
    let start = store.revision().await.unwrap();
    let mut quiet = Recorder::start(watching.watch(&all(), start).await.unwrap());
    etcd.etcdctl(["put", "elsewhere", "1"]).await.unwrap();
    sleep(Duration::from_secs(12)).await;
    let newest = store.revision().await.unwrap();
    store.compact(newest).await.unwrap();
    link.cut().await.unwrap();
    sleep(Duration::from_millis(200)).await;
    link.restore().await.unwrap();
    let written = store.commit(Txn::new().create(key("a"), "1")).await.unwrap();
    let events = tokio::time::timeout(PATIENCE, quiet.until(written)).await.unwrap();
    assert_eq!(events.len(), 1);
}
