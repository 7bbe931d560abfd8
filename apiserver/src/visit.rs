//! One request from its arrival to the last byte of its answer: what it holds meanwhile, and what is noted in the end.
//!
//! A client may go away at any time, and everything that is being done for it is dropped then. So what happens at the end
//! happens when this is dropped, whoever drops it: with the answer's body, or before there is an answer. What was asked for may
//! have been done all the same.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_registry::Annotations;
use http::{Response, StatusCode};
use tokio::time::Instant;

use crate::audit::Trail;
use crate::body::Body;
use crate::limits::Seat;
use crate::metrics::{Labels, Raised, RequestMetrics, Served};

/// Stands for an answer that its client did not wait for. It is never sent.
pub(crate) const CLIENT_GONE: u16 = 499;

/// A request that is being answered, and then its answer on its way.
pub(crate) struct Visit {
    metrics: Arc<RequestMetrics>,
    pub(crate) labels: Labels,
    begun: Instant,
    /// Of that, waiting for a seat.
    pub(crate) waited: Duration,
    pub(crate) trail: Option<Box<Trail>>,
    pub(crate) seat: Option<Seat>,
    pub(crate) raised: Option<Raised>,
    /// Whether it was given up for the server's own sake.
    pub(crate) is_terminated: bool,
    /// None until it departs.
    code: Option<StatusCode>,
    /// Of its answer, so many were handed on.
    bytes: u64,
}

// === impl Visit ===

impl Visit {
    pub(crate) fn new(
        metrics: &Arc<RequestMetrics>,
        labels: Labels,
        begun: Instant,
        trail: Option<Box<Trail>>,
    ) -> Self {
        Self {
            metrics: metrics.clone(),
            labels,
            begun,
            waited: Duration::ZERO,
            trail,
            seat: None,
            raised: None,
            is_terminated: false,
            code: None,
            bytes: 0,
        }
    }

    /// When it arrived.
    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }

    /// What the audit log is to say, if it says anything.
    pub(crate) fn annotations(&self) -> Option<&Annotations> {
        self.trail.as_deref().map(Trail::annotations)
    }

    /// Goes with the answer from now on.
    pub(crate) fn depart(mut self, response: &mut Response<Body>) {
        if self.labels.is_long_running() {
            self.metrics.open(self.labels);
        }
        self.code = Some(response.status());
        // The end of an answer that goes on is still to be told; of others, all is told.
        if !response.body().is_live() {
            self.trail = None;
        }
        response.body_mut().carry(self);
    }

    /// So many bytes were handed on.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let served = Served {
            code: self.code.map_or(CLIENT_GONE, |code| code.as_u16()),
            took: self.begun.elapsed(),
            waited: self.waited,
            bytes: self.bytes,
            is_terminated: self.is_terminated,
        };
        self.metrics.served(self.labels, &served);
        if self.code.is_some() && self.labels.is_long_running() {
            self.metrics.close(self.labels);
        }
    }
}
