//! Reads, writes and watches, and what is stored for them.

use std::num::NonZeroUsize;
use std::time::Duration;

use bailiwick_storage::etcd::Etcd;
use bailiwick_storage::{
    At, Change, Conflict, CorruptFault, Error, Expected, Ledger, ListOptions, Lookup, Prefix, Revision, Store, Txn,
    Values,
};
use bailiwick_test_host as host;
use tokio::time::{Instant, timeout};

use crate::support::{Recorder, all, key, options, store};

#[tokio::test]
async fn what_is_written_is_read_in_every_state() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    let (key, start) = (key("a"), store.revision().await.unwrap());
    let created = store.commit(Txn::new().create(key.clone(), "one")).await.unwrap();
    assert!(created > start);
    let updated = store.commit(Txn::new().update(key.clone(), "two", created)).await.unwrap();
    let deleted = store.commit(Txn::new().delete(key.clone(), updated)).await.unwrap();
    assert_eq!(store.revision().await.unwrap(), deleted);

    let value = |lookup: &Lookup| lookup.record.as_ref().map(|record| (record.revision, record.value.to_vec()));
    for (at, expected) in [
        (start, None),
        (created, Some((created, b"one".to_vec()))),
        (updated, Some((updated, b"two".to_vec()))),
        (deleted, None),
    ] {
        let found = store.get(&key, At::Exact(at)).await.unwrap();
        assert_eq!((found.revision, value(&found)), (at, expected), "at {at}");
    }
    for at in [At::Any, At::Latest, At::NotOlderThan(updated)] {
        let found = store.get(&key, at).await.unwrap();
        assert_eq!((found.revision, value(&found)), (deleted, None), "{at:?}");
    }
    let found = store.get(&key, At::Exact(Revision::ZERO)).await.unwrap();
    assert_eq!((found.revision, value(&found)), (Revision::ZERO, None));
}

#[tokio::test]
async fn a_conflict_names_the_first_key_that_is_not_as_expected() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    let (a, b) = (key("a"), key("b"));
    let at = store.commit(Txn::new().create(a.clone(), "1")).await.unwrap();

    let conflict = |txn| {
        let store = store.clone();
        async move {
            match store.commit(txn).await {
                Err(Error::Conflict(conflict)) => conflict,
                other => panic!("{other:?}"),
            }
        }
    };
    assert_eq!(
        conflict(Txn::new().create(a.clone(), "2")).await,
        Conflict { key: a.clone(), expected: Expected::Absent, actual: Some(at) }
    );
    let expected = Expected::At(at);
    assert_eq!(
        conflict(Txn::new().update(b.clone(), "2", at)).await,
        Conflict { key: b.clone(), expected, actual: None }
    );
    // A key that does not exist compares in etcd as written at zero.
    let expected = Expected::At(Revision::ZERO);
    assert_eq!(
        conflict(Txn::new().update(b.clone(), "2", Revision::ZERO)).await,
        Conflict { key: b.clone(), expected, actual: None }
    );
    let wrong = Expected::At(Revision::new(1));
    let txn = Txn::new().create(b.clone(), "2").require(a.clone(), wrong);
    assert_eq!(conflict(txn).await, Conflict { key: a.clone(), expected: wrong, actual: Some(at) });
    assert_eq!(store.get(&b, At::Latest).await.unwrap().record, None);
    assert_eq!(store.revision().await.unwrap(), at, "a conflict writes nothing");
}

#[tokio::test]
async fn the_largest_transaction_fits_and_its_events_come_together() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    let ledger = Ledger::new("rows").unwrap();
    let start = store.revision().await.unwrap();
    let mut watch = store.watch(&Prefix::everything(), start).await.unwrap();
    let mut txn = Txn::new().create(key("a"), vec![1; 1_000_000]);
    for row in 0..99 {
        txn = txn.create(ledger.row(&["x"], &format!("{row:02}")).unwrap(), vec![2; 2_000]);
    }
    let revision = store.commit(txn).await.unwrap();
    let batch = watch.next().await.unwrap();
    assert_eq!((batch.through, batch.events.len()), (revision, 100));

    // More than etcd sends in one message, and in such pieces that messages end in the middle of revisions.
    let mut at = revision;
    for round in 0..20 {
        let name = format!("big-{round}");
        let row = ledger.row(&["y"], &name).unwrap();
        let txn = Txn::new().create(row, vec![round; 300_000]).create(key(&name), vec![round; 900_000]);
        at = store.commit(txn).await.unwrap();
    }
    let mut late = store.watch(&Prefix::everything(), revision).await.unwrap();
    for watch in [&mut watch, &mut late] {
        let (mut events, mut through) = (0, revision);
        while through < at {
            let batch = watch.next().await.unwrap();
            assert!(batch.events.iter().all(|event| event.revision > through));
            (events, through) = (events + batch.events.len(), batch.through);
        }
        assert_eq!(events, 40);
    }
}

#[tokio::test]
async fn a_list_is_read_in_pages_of_one_state() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    for number in 0..250 {
        store.commit(Txn::new().create(key(&format!("k{number:03}")), format!("{number}"))).await.unwrap();
    }
    let whole = store.list(&all(), ListOptions::latest()).await.unwrap();
    assert_eq!((whole.records.len(), whole.remaining), (250, 0));
    assert!(whole.records.is_sorted_by(|a, b| a.key < b.key));

    let limit = NonZeroUsize::new(120).unwrap();
    let first = store.list(&all(), ListOptions::latest().limit(limit)).await.unwrap();
    assert_eq!((first.records.len(), first.remaining), (120, 130));
    store.commit(Txn::new().create(key("k120x"), "late")).await.unwrap();
    let after = first.records.last().unwrap().key.clone();
    let rest = ListOptions::at(At::Exact(first.revision)).after(after);
    let rest = store.list(&all(), rest).await.unwrap();
    assert_eq!((rest.revision, rest.records.len(), rest.remaining), (first.revision, 130, 0));
    assert_eq!([first.records, rest.records].concat(), whole.records);
    let beyond = ListOptions::latest().after(key("z"));
    assert!(store.list(&all(), beyond).await.unwrap().records.is_empty());
}

/// R-16, for etcd's values: what is damaged is told apart and never served.
#[tokio::test]
async fn damage_is_found_and_told_apart() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    let start = store.revision().await.unwrap();
    for name in ["a", "b", "c"] {
        store.commit(Txn::new().create(key(name), name)).await.unwrap();
    }
    let watch = store.watch(&all(), store.revision().await.unwrap()).await.unwrap();
    let place = |name: &str| format!("/bailiwick/d/{}", key(name));
    etcd.etcdctl(["put", &place("b"), "garbage"]).await.unwrap();
    let newest = store.revision().await.unwrap();

    assert!(matches!(store.get(&key("b"), At::Latest).await, Err(Error::Corrupt { .. })));
    assert!(store.get(&key("a"), At::Latest).await.is_ok());
    assert!(matches!(store.list(&all(), ListOptions::latest()).await, Err(Error::Corrupt { .. })));
    let mut report = ListOptions::latest();
    report.values = Values::Whole;
    let page = store.list(&all(), report.clone()).await.unwrap();
    let names: Vec<_> = page.records.iter().map(|record| record.key.name()).collect();
    assert_eq!((names, page.damaged.len(), page.remaining), (vec!["a", "c"], 1, 0));
    assert_eq!(page.damaged[0].key, key("b"));
    // The limit counts what can be used, so that whoever goes on always has a key to go on from.
    let two = store.list(&all(), report.limit(NonZeroUsize::new(2).unwrap())).await.unwrap();
    assert_eq!((two.records.len(), two.remaining), (2, 0));

    let events = Recorder::start(watch).until(newest).await;
    assert!(matches!(events[0].change, Change::Corrupt(CorruptFault::Envelope(_))), "{events:?}");
    let all_events = Recorder::start(store.watch(&all(), start).await.unwrap()).until(newest).await;
    assert_eq!(all_events.len(), 4);
    store.commit(Txn::new().delete(key("b"), page.damaged[0].revision)).await.unwrap();
    assert_eq!(store.list(&all(), ListOptions::latest()).await.unwrap().records.len(), 2);
}

/// a revision from the future is waited for a little, and then refused.
#[tokio::test]
async fn a_revision_from_the_future_is_waited_for() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    let current = store.revision().await.unwrap();
    for requested in [Revision::new(current.get() + 1000), Revision::new(u64::MAX)] {
        for at in [At::Exact(requested), At::NotOlderThan(requested)] {
            let start = Instant::now();
            let error = store.get(&key("a"), at).await.unwrap_err();
            assert!(matches!(error, Error::FutureRevision { .. }), "{error:?}");
            assert!((2..5).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
        }
    }
    let requested = Revision::new(current.get() + 3);
    let error = store.list(&all(), ListOptions::at(At::Exact(requested))).await.unwrap_err();
    assert!(matches!(error, Error::FutureRevision { current: now, .. } if now == current), "{error:?}");

    let mut never = store.watch(&all(), Revision::new(u64::MAX)).await.unwrap();
    assert!(timeout(Duration::from_millis(500), never.next()).await.is_err());
    let mut watch = store.watch(&all(), requested).await.unwrap();
    watch.request_progress();
    assert!(timeout(Duration::from_millis(500), watch.next()).await.is_err(), "nothing has been reached");
    let reader = store.clone();
    let read = tokio::spawn(async move { reader.list(&all(), ListOptions::at(At::NotOlderThan(requested))).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    for name in ["a", "b", "c", "d", "e"] {
        store.commit(Txn::new().create(key(name), name)).await.unwrap();
    }
    assert!(read.await.unwrap().unwrap().revision >= requested);
    let newest = store.revision().await.unwrap();
    let events = Recorder::start(watch).until(newest).await;
    assert_eq!(events.iter().map(|event| event.key.name()).collect::<Vec<_>>(), ["d", "e"]);
}

/// public revisions are etcd's plus the base, in and out.
#[tokio::test]
async fn the_base_is_kept_with_the_store() {
    let etcd = host::Etcd::start().await.unwrap();
    let mut with_base = options(etcd.endpoints());
    with_base.base = 1_000_000;
    let store = Etcd::connect(with_base).await.unwrap();
    let start = store.revision().await.unwrap();
    assert!(start.get() > 1_000_000, "{start}");
    let created = store.commit(Txn::new().create(key("a"), "1")).await.unwrap();
    let updated = store.commit(Txn::new().update(key("a"), "2", created)).await.unwrap();

    for before in [Revision::ZERO, Revision::new(999_999)] {
        let error = store.watch(&all(), before).await.map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Expired { oldest, .. } if oldest.get() == 1_000_001), "{error:?}");
    }

    // The base is the store's, not the options'.
    let again = Etcd::connect(options(etcd.endpoints())).await.unwrap();
    assert_eq!(again.revision().await.unwrap(), updated);
    let events = Recorder::start(again.watch(&all(), start).await.unwrap()).until(updated).await;
    assert_eq!(events.iter().map(|event| event.revision).collect::<Vec<_>>(), [created, updated]);
    assert_eq!(again.get(&key("a"), At::Exact(created)).await.unwrap().record.unwrap().revision, created);
    again.compact(updated).await.unwrap();
    for old in [created, Revision::new(999_999), Revision::ZERO] {
        for error in [
            again.get(&key("a"), At::Exact(old)).await.map(|_| ()).unwrap_err(),
            again.list(&all(), ListOptions::at(At::Exact(old))).await.map(|_| ()).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Expired { oldest, .. } if oldest == updated), "{error:?}");
        }
    }
}

#[tokio::test]
async fn roots_share_an_etcd_without_seeing_each_other() {
    let etcd = host::Etcd::start().await.unwrap();
    let first = store(&etcd).await;
    let mut other = options(etcd.endpoints());
    other.root = "bailiwick/other".to_owned();
    let second = Etcd::connect(other).await.unwrap();
    let mut watch = Recorder::start(first.watch(&all(), first.revision().await.unwrap()).await.unwrap());
    second.commit(Txn::new().create(key("a"), "second")).await.unwrap();
    let revision = first.commit(Txn::new().create(key("a"), "first")).await.unwrap();
    assert_eq!(first.list(&all(), ListOptions::latest()).await.unwrap().records[0].value, "first");
    assert_eq!(second.list(&all(), ListOptions::latest()).await.unwrap().records[0].value, "second");
    assert_eq!(watch.until(revision).await.len(), 1);
}
