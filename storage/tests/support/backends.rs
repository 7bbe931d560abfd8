//! The stores that the contract suite runs on, with mistakes if wanted.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_storage::cache::{AsStored, AuditOptions, Cache, CacheOptions, OnDifference};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_storage::etcd::{Etcd as EtcdStore, EtcdOptions};
use bailiwick_storage::testing::Backend;
use bailiwick_storage::{At, Faults, Key, ListOptions, Lookup, Page, Prefix, Result, Revision, Store, Txn, Watch};
use bailiwick_test_host::Etcd as EtcdProcess;

/// The embedded engine in a folder of its own.
pub(crate) struct InFolder {
    folder: tempfile::TempDir,
    faults: Faults,
}

impl InFolder {
    pub(crate) fn new(faults: &Faults) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), faults: faults.clone() }
    }
}

#[async_trait]
impl Backend for InFolder {
    async fn open(&self) -> Arc<dyn Store> {
        let folder = Folder::take(self.folder.path()).unwrap();
        let mut options = EmbeddedOptions::new(Arc::new(folder));
        options.faults = self.faults.clone();
        Arc::new(Embedded::open(options).await.unwrap())
    }
}

/// An etcd of its own for each case, because some forget history, and that is one for the whole of etcd.
#[derive(Default)]
pub(crate) struct InEtcd {
    pub(crate) faults: Faults,
}

/// How many etcds run at once.
static PLACES: tokio::sync::Semaphore = tokio::sync::Semaphore::const_new(4);

/// A store and the process it lives in.
struct WithProcess {
    store: EtcdStore,
    _process: EtcdProcess,
    _place: tokio::sync::SemaphorePermit<'static>,
}

#[async_trait]
impl Backend for InEtcd {
    async fn open(&self) -> Arc<dyn Store> {
        let place = PLACES.acquire().await.unwrap();
        let process = EtcdProcess::start().await.unwrap();
        let mut options = EtcdOptions::new(process.endpoints());
        options.compaction = None;
        options.base = 7_000;
        options.faults = self.faults.clone();
        let store = EtcdStore::connect(options).await.unwrap();
        Arc::new(WithProcess { store, _process: process, _place: place })
    }
}

#[async_trait]
impl Store for WithProcess {
    async fn revision(&self) -> Result<Revision> {
        self.store.revision().await
    }

    async fn get(&self, key: &Key, at: At) -> Result<Lookup> {
        self.store.get(key, at).await
    }

    async fn list(&self, prefix: &Prefix, options: ListOptions) -> Result<Page> {
        self.store.list(prefix, options).await
    }

    async fn commit(&self, txn: Txn) -> Result<Revision> {
        self.store.commit(txn).await
    }

    async fn watch(&self, prefix: &Prefix, after: Revision) -> Result<Box<dyn Watch>> {
        self.store.watch(prefix, after).await
    }

    async fn compact(&self, oldest: Revision) -> Result<()> {
        self.store.compact(oldest).await
    }
}

/// A cache in front of something else, compared with it all the time.
pub(crate) struct Cached<B> {
    pub(crate) store: B,
    pub(crate) on_difference: OnDifference,
    pub(crate) faults: Faults,
}

impl<B> Cached<B> {
    pub(crate) fn new(store: B) -> Self {
        Self { store, on_difference: OnDifference::Panic, faults: Faults::default() }
    }
}

#[async_trait]
impl<B: Backend> Backend for Cached<B> {
    async fn open(&self) -> Arc<dyn Store> {
        let mut options = CacheOptions::new(Arc::new(AsStored));
        options.audit = AuditOptions { interval: Duration::from_millis(50), on_difference: self.on_difference };
        options.faults = self.faults.clone();
        Arc::new(Cache::start(self.store.open().await, options).await.unwrap())
    }
}
