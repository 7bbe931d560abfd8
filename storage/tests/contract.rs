//! The contract suite, run on everything that implements the contract.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_storage::cache::{AsStored, AuditOptions, Cache, CacheOptions, OnDifference};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_storage::etcd::{Etcd as EtcdStore, EtcdOptions};
use bailiwick_storage::testing::{Backend, Reference};
use bailiwick_storage::{At, Faults, Key, ListOptions, Lookup, Page, Prefix, Result, Revision, Store, Txn, Watch};
use bailiwick_test_host::Etcd as EtcdProcess;

mod reference {
    bailiwick_storage::contract_suite!(super::reference(1, 1));
}

/// As if others wrote to the same counter, which also began long ago.
mod reference_with_gaps {
    bailiwick_storage::contract_suite!(super::reference(5_000_000, 3));
}

mod embedded {
    bailiwick_storage::contract_suite!(super::InFolder::default());
}

mod cache_over_embedded {
    bailiwick_storage::contract_suite!(super::Cached(super::InFolder::default()));
}

mod etcd {
    bailiwick_storage::contract_suite!(super::InEtcd);
}

mod cache_over_etcd {
    bailiwick_storage::contract_suite!(super::Cached(super::InEtcd));
}

fn reference(start: u64, stride: u64) -> Reference {
    Reference::new(Revision::new(start), stride, Faults::default())
}

/// The embedded engine in a folder of its own.
struct InFolder(tempfile::TempDir);

impl Default for InFolder {
    fn default() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

#[async_trait]
impl Backend for InFolder {
    async fn open(&self) -> Arc<dyn Store> {
        let folder = Folder::take(self.0.path()).unwrap();
        Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(folder))).await.unwrap())
    }
}

/// An etcd of its own for each case, because some forget history, and that is one for the whole of etcd.
struct InEtcd;

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
struct Cached<B>(B);

#[async_trait]
impl<B: Backend> Backend for Cached<B> {
    async fn open(&self) -> Arc<dyn Store> {
        let mut options = CacheOptions::new(Arc::new(AsStored));
        options.audit = AuditOptions { interval: Duration::from_millis(50), on_difference: OnDifference::Panic };
        Arc::new(Cache::start(self.0.open().await, options).await.unwrap())
    }
}
