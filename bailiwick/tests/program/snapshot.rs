//! Snapshots from the command line.

use std::path::Path;
use std::sync::Arc;

use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_storage::{At, Key, Resource, Store, Txn};

use crate::process::{Server, failure, folder, run};

#[tokio::test]
async fn a_store_is_saved_and_restored() {
    let folder = folder();
    Server::start(folder.path(), &[]).await.stop().await;
    let store = open(&folder.path().join("bailiwick-data/store")).await;
    store.commit(Txn::new().create(key(), "hello")).await.unwrap();
    drop(store);

    let saved = run(folder.path(), &["snapshot", "save", "copy"]).await;
    let printed = String::from_utf8_lossy(&saved.stdout).into_owned();
    // Beside ours there are the roles that every server has.
    assert!(saved.status.success() && printed.contains(" records as of revision "), "{saved:?}");

    let restored = run(folder.path(), &["snapshot", "restore", "copy", "--data-dir=other"]).await;
    assert!(restored.status.success(), "{restored:?}");
    let store = open(&folder.path().join("other/store")).await;
    let found = store.get(&key(), At::Latest).await.unwrap();
    assert_eq!(found.record.unwrap().value, "hello");
    drop(store);

    let again = failure(&run(folder.path(), &["snapshot", "restore", "copy", "--data-dir=other"]).await);
    assert!(again.contains("holds a store already"), "{again}");
    let over = failure(&run(folder.path(), &["snapshot", "save", "copy"]).await);
    assert!(over.contains("copy exists already"), "{over}");
}

#[tokio::test]
async fn nothing_is_made_where_there_is_nothing_to_save() {
    let folder = folder();
    let error = failure(&run(folder.path(), &["snapshot", "save", "copy", "--data-dir=missing"]).await);
    assert!(error.contains("there is no store in missing: "), "{error}");
    assert!(!folder.path().join("missing").exists());
}

#[tokio::test]
async fn a_running_server_keeps_its_store() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let error = failure(&run(folder.path(), &["snapshot", "save", "copy"]).await);
    assert!(error.contains(&format!("is in use by process {}", server.pid())), "{error}");
    server.stop().await;
}

async fn open(path: &Path) -> Embedded {
    Embedded::open(EmbeddedOptions::new(Arc::new(Folder::take(path).unwrap()))).await.unwrap()
}

fn key() -> Key {
    Resource::new("example.dev", "widgets").unwrap().namespaced("default", "first").unwrap()
}
