//! A store whose calls are timed, under the names by which operators of Kubernetes know those of etcd.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;

use crate::error::Result;
use crate::key::{Key, Prefix};
use crate::metrics::{Metrics, Operation};
use crate::revision::Revision;
use crate::store::{At, ListOptions, Lookup, Page, Store, Watch};
use crate::txn::Txn;

/// A store, timed. Whatever is read from a cache in front of it does not come here.
pub struct Measured {
    store: Arc<dyn Store>,
    metrics: Metrics,
}

// === impl Measured ===

impl Measured {
    /// Times the calls of a store.
    pub fn new(store: Arc<dyn Store>, metrics: Metrics) -> Self {
        Self { store, metrics }
    }

    async fn timed<T>(&self, operation: Operation, call: impl Future<Output = Result<T>>) -> Result<T> {
        let began = Instant::now();
        let outcome = call.await;
        self.metrics.called(operation, began.elapsed(), outcome.is_err());
        outcome
    }
}

#[async_trait]
impl Store for Measured {
    async fn revision(&self) -> Result<Revision> {
        self.timed(Operation::Revision, self.store.revision()).await
    }

    fn known_revision(&self) -> Option<Revision> {
        self.store.known_revision()
    }

    async fn get(&self, key: &Key, at: At) -> Result<Lookup> {
        self.timed(Operation::Get, self.store.get(key, at)).await
    }

    async fn list(&self, prefix: &Prefix, options: ListOptions) -> Result<Page> {
        self.timed(Operation::List, self.store.list(prefix, options)).await
    }

    async fn commit(&self, txn: Txn) -> Result<Revision> {
        self.timed(Operation::Commit, self.store.commit(txn)).await
    }

    async fn watch(&self, prefix: &Prefix, after: Revision) -> Result<Box<dyn Watch>> {
        self.timed(Operation::Watch, self.store.watch(prefix, after)).await
    }

    async fn compact(&self, oldest: Revision) -> Result<()> {
        self.timed(Operation::Compact, self.store.compact(oldest)).await
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode_registry;
    use prometheus_client::registry::Registry;

    use super::*;
    use crate::embedded::{Embedded, EmbeddedOptions, Folder};
    use crate::key::Resource;

    #[tokio::test]
    async fn calls_are_counted_by_what_they_do_and_failures_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let options = EmbeddedOptions::new(Arc::new(Folder::take(folder.path()).unwrap()));
        let metrics = Metrics::default();
        let store = Measured::new(Arc::new(Embedded::open(options).await.unwrap()), metrics.clone());
        let key = Resource::new("example.dev", "widgets").unwrap().object("a").unwrap();
        let created = store.commit(Txn::new().create(key.clone(), "x")).await.unwrap();
        assert!(store.commit(Txn::new().create(key.clone(), "x")).await.is_err());
        assert_eq!(store.get(&key, At::Latest).await.unwrap().record.unwrap().value, "x");
        assert_eq!(store.known_revision(), Some(created));
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        encode_registry(&mut text, &registry).unwrap();
        for expected in [
            "etcd_requests_total{operation=\"commit\"} 2",
            "etcd_requests_total{operation=\"get\"} 1",
            "etcd_requests_total{operation=\"list\"} 0",
            "etcd_request_errors_total{operation=\"commit\"} 1",
            "etcd_request_duration_seconds_count{operation=\"commit\"} 2",
        ] {
            assert!(text.lines().any(|line| line == expected), "{expected}:\n{text}");
        }
    }
}
