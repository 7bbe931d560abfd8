//! The contenders: how each is opened, and how one is let go so that its folder can be opened again.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_storage::cache::{Cache, CacheOptions, Snapshot};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_storage::{At, Error, Store, etcd};
use tempfile::TempDir;

use crate::load::{Fields, Server};
use crate::options::Options;

/// How long a cache may take to catch up with its store.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(60);
/// How long a store may take to end.
const END_LIMIT: Duration = Duration::from_secs(10);

/// A real etcd with fsync, and a store on it.
pub(crate) struct Etcd {
    /// The store.
    pub(crate) store: Arc<dyn Store>,
    _server: bailiwick_test_host::Etcd,
}

impl Etcd {
    /// Starts one member and connects to it.
    pub(crate) async fn start() -> Self {
        let server = bailiwick_test_host::Etcd::options().fsync().start().await.expect("etcd starts");
        let store = etcd::Etcd::connect(etcd::EtcdOptions::new(server.endpoints())).await.expect("etcd is reached");
        Self { store: Arc::new(store), _server: server }
    }
}

/// A folder for the data of this run, removed at its end.
pub(crate) fn scratch(options: &Options) -> TempDir {
    let mut builder = tempfile::Builder::new();
    builder.prefix("bailiwick-bench-");
    let made = match &options.folder {
        Some(parent) => builder.tempdir_in(parent),
        None => builder.tempdir(),
    };
    made.expect("a folder can be made where data is to lie")
}

/// Opens the embedded engine in a folder with its default options: durable, with fsync.
pub(crate) async fn embedded(folder: &Path) -> Arc<Embedded> {
    let folder = Folder::take(folder).expect("the folder is free");
    Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(folder))).await.expect("the store opens"))
}

/// Starts a cache with its default options.
pub(crate) async fn cache(store: Arc<dyn Store>, fields: Fields) -> Cache {
    let options = CacheOptions::new(Arc::new(Server { fields }));
    Cache::start(store, options).await.expect("the cache fills")
}

/// The newest state, however long the cache takes to show it: while many write, it falls behind by more than a
/// consistent read waits for.
pub(crate) async fn caught_up(cache: &Cache) -> Arc<Snapshot> {
    let began = Instant::now();
    loop {
        match cache.snapshot(At::Latest).await {
            Err(Error::Unavailable { .. }) if began.elapsed() < CATCH_UP_LIMIT => {}
            state => return state.expect("the cache catches up"),
        }
    }
}

/// Ends the store in a folder once nobody else holds it, and waits until the folder is free: the engine's own tasks
/// hold it a little longer than the store.
pub(crate) async fn end(mut store: Arc<Embedded>, folder: &Path) {
    let began = Instant::now();
    loop {
        match Arc::try_unwrap(store) {
            // Ending waits for the writer.
            Ok(last) => {
                tokio::task::spawn_blocking(move || drop(last)).await.expect("ending does not panic");
                break;
            }
            Err(shared) => store = shared,
        }
        assert!(began.elapsed() < END_LIMIT, "the tasks of a dropped cache end");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    while Folder::take(folder).is_err() {
        assert!(began.elapsed() < END_LIMIT, "the tasks of a dropped store end");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
