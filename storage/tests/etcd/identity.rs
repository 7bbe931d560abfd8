//! An etcd that was re-created or restored is found out, whatever is asked first.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_storage::etcd::Etcd;
use bailiwick_storage::{At, Error, ListOptions, Revision, Store, Txn};
use bailiwick_test_host as host;
use tokio::time::sleep;

use crate::support::{PATIENCE, Recorder, all, key, options, store};

/// What a caller may do with a store.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Revision,
    Get(At),
    List(At),
    Commit,
    Watch,
    Compact,
}

const OPERATIONS: [Operation; 8] = [
    Operation::Revision,
    Operation::Get(At::Any),
    Operation::Get(At::Latest),
    Operation::List(At::Any),
    Operation::List(At::NotOlderThan(Revision::new(3))),
    Operation::Commit,
    Operation::Watch,
    Operation::Compact,
];

async fn run(store: &Etcd, operation: Operation) -> Result<(), Error> {
    match operation {
        Operation::Revision => store.revision().await.map(|_| ()),
        Operation::Get(at) => store.get(&key("a"), at).await.map(|_| ()),
        Operation::List(at) => store.list(&all(), ListOptions::at(at)).await.map(|_| ()),
        Operation::Commit => store.commit(Txn::new().create(key("new"), "v")).await.map(|_| ()),
        Operation::Watch => store.watch(&all(), Revision::new(3)).await.map(|_| ()),
        Operation::Compact => store.compact(Revision::new(3)).await,
    }
}

/// nothing is served from an etcd that was re-created at the same address, not even "it does not exist".
#[tokio::test]
async fn a_re_created_etcd_is_refused_by_every_operation() {
    let etcd = host::Etcd::start().await.unwrap();
    // One store for each operation, so that each is the first to meet the new etcd.
    let mut stores = Vec::new();
    for operation in OPERATIONS {
        stores.push((store(&etcd).await, operation));
    }
    let first = stores[0].0.clone();
    for number in 0..20 {
        first.commit(Txn::new().create(key(&format!("k{number}")), "v")).await.unwrap();
    }
    let watching = store(&etcd).await;
    let watch = Recorder::start(watching.watch(&all(), Revision::ZERO).await.unwrap());

    etcd.recreate().await.unwrap();
    // Another replica makes a new store there, and writes until revisions tell nothing any more.
    let mut newcomer = options(etcd.endpoints());
    newcomer.base = 0;
    let newcomer = Etcd::connect(newcomer).await.unwrap();
    for number in 0..60 {
        newcomer.commit(Txn::new().create(key(&format!("n{number}")), "v")).await.unwrap();
    }
    for (store, operation) in &stores {
        let error = until_answered(store, *operation).await;
        let Error::Replaced { reason } = &error else { panic!("{operation:?}: {error:?}") };
        assert!(reason.contains("re-created or restored"), "{reason}");
        assert!(reason.contains("restart Bailiwick"), "{reason}");
        for operation in OPERATIONS {
            assert!(matches!(run(store, operation).await, Err(Error::Replaced { .. })), "then {operation:?}");
        }
    }
    assert!(matches!(watch.end().await, Error::Replaced { .. }));
    assert_eq!(
        newcomer.list(&all(), ListOptions::latest()).await.unwrap().records.len(),
        60,
        "nothing of ours came in"
    );
}

/// an empty etcd is refused before anyone has made a store in it.
#[tokio::test]
async fn an_empty_etcd_is_refused() {
    let etcd = host::Etcd::start().await.unwrap();
    for operation in [Operation::Get(At::Any), Operation::Get(At::Latest), Operation::Commit] {
        etcd.recreate().await.unwrap();
        let store = store(&etcd).await;
        store.commit(Txn::new().create(key("a"), "v")).await.unwrap();
        let watch = Recorder::start(store.watch(&all(), Revision::ZERO).await.unwrap());
        etcd.recreate().await.unwrap();
        assert!(matches!(until_answered(&store, operation).await, Error::Replaced { .. }));
        assert!(matches!(watch.end().await, Error::Replaced { .. }));
    }
}

/// a store whose revisions went back is refused.
#[tokio::test]
async fn a_record_put_back_into_an_older_state_is_refused() {
    let etcd = host::Etcd::start().await.unwrap();
    let store = store(&etcd).await;
    for number in 0..20 {
        store.commit(Txn::new().create(key(&format!("k{number}")), "v")).await.unwrap();
    }
    let record = etcd.etcdctl(["get", "--print-value-only", "/bailiwick/meta"]).await.unwrap();
    etcd.recreate().await.unwrap();
    etcd.etcdctl(["put", "/bailiwick/meta", record.trim_end()]).await.unwrap();
    let Error::Replaced { reason } = until_answered(&store, Operation::Get(At::Latest)).await else {
        panic!("not found out")
    };
    assert!(reason.contains("had been reached, and now the newest is"), "{reason}");
    assert!(reason.contains("--bump-revision"), "{reason}");
}

async fn until_answered(store: &Arc<Etcd>, operation: Operation) -> Error {
    let answer = async {
        loop {
            match run(store, operation).await {
                Err(Error::Unavailable { .. } | Error::OutcomeUnknown { .. }) => {
                    sleep(Duration::from_millis(50)).await;
                }
                Err(error) => return error,
                Ok(()) => panic!("{operation:?} was answered"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, answer).await.unwrap()
}
