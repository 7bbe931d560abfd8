//! How much waits to be done and how long it takes, under the names that client-go has for its queues.
//!
//! Like client-go's, these are numbers of the process. The only label is the name of a controller, which nobody can make up.

use std::sync::LazyLock;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The numbers of one queue.
pub(super) struct QueueMetrics {
    pub(super) depth: Gauge,
    pub(super) adds: Counter,
    pub(super) retries: Counter,
    /// How long something waited until it was begun, in seconds.
    pub(super) waited: Histogram,
    /// How long something took, in seconds.
    pub(super) worked: Histogram,
}

struct Families {
    depth: Family<Labels, Gauge>,
    adds: Family<Labels, Counter>,
    retries: Family<Labels, Counter>,
    waited: Family<Labels, Histogram, NewHistogram>,
    worked: Family<Labels, Histogram, NewHistogram>,
}

/// The name of a controller.
type Labels = [(&'static str, &'static str); 1];

type NewHistogram = fn() -> Histogram;

static FAMILIES: LazyLock<Families> = LazyLock::new(Families::default);

/// Client-go's own.
const SECONDS: [f64; 10] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0];

/// Adds what the queues of all controllers of this process tell.
pub fn register_metrics(registry: &mut Registry) {
    let Families { depth, adds, retries, waited, worked } = &*FAMILIES;
    registry.register("workqueue_depth", "What waits to be done", depth.clone());
    registry.register("workqueue_adds", "What was asked for", adds.clone());
    registry.register("workqueue_retries", "What was asked for again later, mostly because it failed", retries.clone());
    let waits = "How long something waits until it is begun";
    registry.register_with_unit("workqueue_queue_duration", waits, Unit::Seconds, waited.clone());
    let takes = "How long something takes once it is begun";
    registry.register_with_unit("workqueue_work_duration", takes, Unit::Seconds, worked.clone());
}

// === impl QueueMetrics ===

impl QueueMetrics {
    /// Those of a controller.
    pub(super) fn of(controller: &'static str) -> Self {
        let name = [("name", controller)];
        Self {
            depth: FAMILIES.depth.get_or_create(&name).clone(),
            adds: FAMILIES.adds.get_or_create(&name).clone(),
            retries: FAMILIES.retries.get_or_create(&name).clone(),
            waited: FAMILIES.waited.get_or_create(&name).clone(),
            worked: FAMILIES.worked.get_or_create(&name).clone(),
        }
    }
}

// === impl Families ===

impl Default for Families {
    fn default() -> Self {
        let histogram: NewHistogram = || Histogram::new(SECONDS);
        Self {
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            waited: Family::new_with_constructor(histogram),
            worked: Family::new_with_constructor(histogram),
        }
    }
}
