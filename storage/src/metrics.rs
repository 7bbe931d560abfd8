//! What an operator can see of the store. The names are part of the interface; none has a label a client could choose.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
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
    calls: CallMetrics,
}

/// What is asked of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Revision,
    Get,
    List,
    Commit,
    Watch,
    Compact,
}

/// How often each was asked, with which outcome, and how long it took.
#[derive(Clone, Debug)]
struct CallMetrics {
    calls: Family<Labels, Counter>,
    errors: Family<Labels, Counter>,
    seconds: Family<Labels, Histogram, fn() -> Histogram>,
}

/// One label, of a closed set.
type Labels = [(&'static str, &'static str); 1];

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

impl Default for CallMetrics {
    fn default() -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(CALL_SECONDS);
        let calls = Self {
            calls: Family::default(),
            errors: Family::default(),
            seconds: Family::new_with_constructor(seconds),
        };
        // All of them are there from the beginning: what does not occur is 0, not unknown.
        for operation in Operation::ALL {
            drop(calls.calls.get_or_create(&operation.labels()));
            drop(calls.errors.get_or_create(&operation.labels()));
            drop(calls.seconds.get_or_create(&operation.labels()));
        }
        calls
    }
}

/// Kubernetes' own for the calls of etcd.
const CALL_SECONDS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
];

impl Operation {
    const ALL: [Self; 6] = [Self::Revision, Self::Get, Self::List, Self::Commit, Self::Watch, Self::Compact];

    fn labels(self) -> Labels {
        let name = match self {
            Self::Revision => "revision",
            Self::Get => "get",
            Self::List => "list",
            Self::Commit => "commit",
            Self::Watch => "watch",
            Self::Compact => "compact",
        };
        [("operation", name)]
    }
}

impl Metrics {
    /// A call of the store has ended.
    pub(crate) fn called(&self, operation: Operation, took: Duration, is_error: bool) {
        let labels = operation.labels();
        self.calls.calls.get_or_create(&labels).inc();
        if is_error {
            self.calls.errors.get_or_create(&labels).inc();
        }
        self.calls.seconds.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Publishes the measurements under `bailiwick_storage_…`, and those of calls under the names of Kubernetes.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("etcd_requests", "Calls of the store", self.calls.calls.clone());
        registry.register("etcd_request_errors", "Calls of the store that failed", self.calls.errors.clone());
        let seconds = self.calls.seconds.clone();
        registry.register_with_unit("etcd_request_duration", "Time of a call of the store", Unit::Seconds, seconds);
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
