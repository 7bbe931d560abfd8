//! The contract suite, run on everything that implements the contract.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_storage::cache::{AsStored, AuditOptions, Cache, CacheOptions, OnDifference};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_storage::testing::{Backend, Reference};
use bailiwick_storage::{Faults, Revision, Store};

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
