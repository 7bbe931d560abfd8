//! One request from its arrival to the last byte of its answer: what it holds meanwhile, and what is noted in the end.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_registry::Annotations;
use http::{Response, StatusCode};
use tokio::time::Instant;

use crate::audit::Trail;
use crate::body::Body;
use crate::limits::Seat;
use crate::metrics::{Labels, Raised, RequestMetrics, Served};

/// A request that is being answered.
pub(crate) struct Visit {
    pub(crate) labels: Labels,
    pub(crate) begun: Instant,
    /// Of that, waiting for a seat.
    pub(crate) waited: Duration,
    pub(crate) trail: Option<Box<Trail>>,
    pub(crate) seat: Option<Seat>,
    pub(crate) raised: Option<Raised>,
    /// Whether it was given up for the server's own sake.
    pub(crate) is_terminated: bool,
}

/// An answer on its way. What happens at its end happens when this is dropped, whoever drops it.
pub(crate) struct Ending {
    metrics: Arc<RequestMetrics>,
    labels: Labels,
    code: StatusCode,
    begun: Instant,
    waited: Duration,
    is_terminated: bool,
    bytes: u64,
    /// Of an answer that goes on: its end is still to be told.
    trail: Option<Box<Trail>>,
    _seat: Option<Seat>,
    _raised: Option<Raised>,
}

// === impl Visit ===

impl Visit {
    pub(crate) fn new(labels: Labels, begun: Instant, trail: Option<Box<Trail>>) -> Self {
        let waited = Duration::ZERO;
        Self { labels, begun, waited, trail, seat: None, raised: None, is_terminated: false }
    }

    /// What the audit log is to say, if it says anything.
    pub(crate) fn annotations(&self) -> Option<&Annotations> {
        self.trail.as_deref().map(Trail::annotations)
    }

    /// Hands over to the answer whatever is to be held until its end.
    pub(crate) fn depart(self, metrics: &Arc<RequestMetrics>, response: &mut Response<Body>) {
        if self.labels.is_long_running() {
            metrics.open(self.labels);
        }
        let is_live = response.body().is_live();
        let ending = Ending {
            metrics: metrics.clone(),
            labels: self.labels,
            code: response.status(),
            begun: self.begun,
            waited: self.waited,
            is_terminated: self.is_terminated,
            bytes: 0,
            trail: self.trail.filter(|_| is_live),
            _seat: self.seat,
            _raised: self.raised,
        };
        response.body_mut().end_with(ending);
    }
}

// === impl Ending ===

impl Ending {
    /// So many bytes were handed on.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let served = Served {
            code: self.code,
            took: self.begun.elapsed(),
            waited: self.waited,
            bytes: self.bytes,
            is_terminated: self.is_terminated,
        };
        self.metrics.served(self.labels, &served);
        if self.labels.is_long_running() {
            self.metrics.close(self.labels);
        }
        if let Some(trail) = &self.trail {
            trail.ended();
        }
    }
}
