//! What an operator can see of the store. The names are part of the interface; none has a label a client could choose.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// A gauge of something that is counted.
pub(crate) type Level = Gauge<u64, AtomicU64>;

/// The measurements of one store. Clones share their values.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    pub(crate) engine: EngineMetrics,
    pub(crate) cache: CacheMetrics,
}

/// What the embedded engine tells.
#[derive(Clone, Debug)]
pub(crate) struct EngineMetrics {
    pub(crate) revision: Level,
    pub(crate) compacted_revision: Level,
    pub(crate) versions: Level,
    pub(crate) history_bytes: Level,
    pub(crate) read_only: Level,
    pub(crate) commits: Counter,
    pub(crate) commit_seconds: Histogram,
    pub(crate) commit_transactions: Histogram,
}

/// What the cache tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct CacheMetrics {
    pub(crate) objects: Level,
    pub(crate) object_bytes: Level,
    pub(crate) revision: Level,
    pub(crate) ring_events: Level,
    pub(crate) ring_bytes: Level,
    pub(crate) ring_events_bound: Level,
    pub(crate) ring_bytes_bound: Level,
    pub(crate) watchers: Level,
    pub(crate) watchers_expired: Counter,
    pub(crate) resets: Counter,
    pub(crate) damaged: Level,
    pub(crate) audits: Counter,
    pub(crate) audit_differences: Counter,
}

impl Default for EngineMetrics {
    fn default() -> Self {
        Self {
            revision: Level::default(),
            compacted_revision: Level::default(),
            versions: Level::default(),
            history_bytes: Level::default(),
            read_only: Level::default(),
            commits: Counter::default(),
            commit_seconds: Histogram::new(exponential_buckets(0.0001, 2.0, 16)),
            commit_transactions: Histogram::new(exponential_buckets(1.0, 2.0, 10)),
        }
    }
}

impl Metrics {
    /// Publishes the measurements under `bailiwick_storage_…`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("bailiwick_storage");
        self.engine.register(registry);
        self.cache.register(registry.sub_registry_with_prefix("cache"));
    }
}

impl EngineMetrics {
    fn register(&self, to: &mut Registry) {
        to.register("revision", "Newest revision", self.revision.clone());
        to.register("compacted_revision", "Oldest revision that is kept", self.compacted_revision.clone());
        to.register("versions", "Versions of keys in the index, history included", self.versions.clone());
        to.register_with_unit("history", "Records kept for history only", Unit::Bytes, self.history_bytes.clone());
        to.register("read_only", "1 while no writes are taken", self.read_only.clone());
        to.register("commits", "Commits to the disk", self.commits.clone());
        to.register_with_unit("commit", "Time of a commit", Unit::Seconds, self.commit_seconds.clone());
        to.register("commit_transactions", "Transactions that shared a commit", self.commit_transactions.clone());
    }
}

impl CacheMetrics {
    fn register(&self, to: &mut Registry) {
        to.register("objects", "Objects in memory", self.objects.clone());
        to.register_with_unit("objects", "Encoded objects in memory", Unit::Bytes, self.object_bytes.clone());
        to.register("revision", "Revision the cache has reached", self.revision.clone());
        to.register("ring_events", "Events kept for watchers", self.ring_events.clone());
        to.register("ring_events_bound", "Most events kept for watchers", self.ring_events_bound.clone());
        to.register_with_unit("ring", "Events kept for watchers", Unit::Bytes, self.ring_bytes.clone());
        to.register_with_unit("ring_bound", "Most kept for watchers", Unit::Bytes, self.ring_bytes_bound.clone());
        to.register("watchers", "Open watches", self.watchers.clone());
        to.register("watchers_expired", "Watches that fell behind and were closed", self.watchers_expired.clone());
        to.register("resets", "Times the cache was filled anew", self.resets.clone());
        to.register("damaged", "Keys whose stored value is damaged", self.damaged.clone());
        to.register("audits", "Comparisons of the cache with the store", self.audits.clone());
        to.register("audit_differences", "Comparisons that found a difference", self.audit_differences.clone());
    }
}
