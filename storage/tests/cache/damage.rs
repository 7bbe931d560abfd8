//! A damaged value is an error for whoever reads it, and for nobody else.

use bailiwick_storage::testing::{key, soon, widgets};
use bailiwick_storage::{At, Change, CorruptFault, Error, ListOptions, Prefix, Revision, Store, Txn, Values};

use super::meddler::{Meddler, cache, options};

#[tokio::test]
async fn an_undecodable_object_is_told_apart() {
    let store = Meddler::open().await;
    let started_before = cache(&store, options()).await;
    store.commit(Txn::new().create(key("a", "bad"), "undecodable")).await.unwrap();
    let good = store.commit(Txn::new().create(key("a", "good"), "app=x")).await.unwrap();
    store.commit(Txn::new().create(key("b", "good"), "app=x")).await.unwrap();
    let started_after = cache(&store, options()).await;
    for cache in [started_before, started_after] {
        let read = cache.get(&key("a", "bad"), At::Latest).await;
        let Err(Error::Corrupt { key: named, fault: CorruptFault::Undecodable(reason) }) = read else {
            panic!("{read:?}");
        };
        assert_eq!((named.as_str(), &*reason), (key("a", "bad").as_str(), "it is not made of lines"));
        assert_eq!(cache.get(&key("a", "good"), At::Latest).await.unwrap().record.unwrap().revision, good);

        let all = cache.list(widgets().all(), ListOptions::latest()).await;
        assert!(matches!(all, Err(Error::Corrupt { .. })), "a list that leaves something out is worse than none");
        let other = cache.list(&widgets().namespace("b").unwrap(), ListOptions::latest()).await.unwrap();
        assert_eq!(other.records.len(), 1);
        let mut report = ListOptions::latest();
        report.values = Values::Whole;
        let reported = cache.list(&Prefix::everything(), report).await.unwrap();
        assert_eq!((reported.records.len(), reported.damaged.len()), (2, 1));
        assert_eq!(reported.damaged[0].key, key("a", "bad"));

        let mut watch = Store::watch(&cache, widgets().all(), Revision::new(1)).await.unwrap();
        let events = soon("the events", watch.next()).await.unwrap().events;
        assert!(matches!(&events[0].change, Change::Corrupt(CorruptFault::Undecodable(_))), "{events:?}");
    }
    // It can be deleted, and then all is well.
    let damaged = store.get(&key("a", "bad"), At::Latest).await.unwrap().record.unwrap();
    store.commit(Txn::new().delete(key("a", "bad"), damaged.revision)).await.unwrap();
    let cache = cache(&store, options()).await;
    assert_eq!(cache.list(widgets().all(), ListOptions::latest()).await.unwrap().records.len(), 2);
}
