//! The mistakes that can be switched on do what they say: a suite is only as good as the bugs it has found.

use bailiwick_storage::etcd::Etcd;
use bailiwick_storage::{Fault, Store, Txn};
use bailiwick_test_host as host;

use crate::support::{all, key, options};

/// Names of the keys whose events a watch after each of `names` delivers, up to the newest.
async fn delivered(fault: Option<Fault>) -> (Vec<String>, Vec<String>) {
    let etcd = host::Etcd::start().await.unwrap();
    let with_faults = options(etcd.endpoints());
    let faults = with_faults.faults.clone();
    let store = Etcd::connect(with_faults).await.unwrap();
    if let Some(fault) = fault {
        faults.set(fault);
    }
    let start = store.revision().await.unwrap();
    let mut revisions = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        revisions.push(store.commit(Txn::new().create(key(name), name)).await.unwrap());
    }
    let mut names = Vec::new();
    for after in [start, revisions[3]] {
        let mut watch = store.watch(&all(), after).await.unwrap();
        let (mut events, mut through) = (Vec::new(), after);
        while through < revisions[5] {
            let batch = watch.next().await.unwrap();
            through = batch.through;
            events.extend(batch.events.into_iter().map(|event| event.key.name().to_owned()));
        }
        names.push(events);
    }
    let resumed = names.pop().unwrap();
    (names.pop().unwrap(), resumed)
}

#[tokio::test]
async fn a_watch_can_be_made_to_drop_and_to_repeat() {
    let (whole, resumed) = delivered(None).await;
    assert_eq!((whole.concat(), resumed.concat()), ("abcdef".to_owned(), "ef".to_owned()));
    let (whole, _) = delivered(Some(Fault::DropEvent)).await;
    assert_eq!(whole.concat(), "abcdf");
    let (_, resumed) = delivered(Some(Fault::RepeatEvent)).await;
    assert_eq!(resumed.concat(), "def");
}
