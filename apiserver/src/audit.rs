//! The audit log: who did what, when, and what came of it, in the format of `audit.k8s.io/v1`.
//!
//! ```text
//! request ──▶ policy: how much? ──▶ Trail ──▶ RequestReceived ──▶ … ──▶ ResponseStarted (watches) ──▶ ResponseComplete
//!                                     │                                                                   │
//!                                     └──────────────────────── AuditLog: a line each ◀───────────────────┘
//! ```
//!
//! A request is judged as it arrives, by whoever was authenticated; whom they act as is written beside it. What carries
//! secrets is never written down beyond its metadata, whatever the policy says.

mod capture;
mod event;
mod log;
mod policy;
mod source;
mod trail;

use std::sync::Arc;
use std::time::SystemTime;

use bailiwick_machinery::go;
use bailiwick_registry::{Clock, User};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};

pub(crate) use self::capture::sent;
pub use self::log::{AuditLog, AuditLogError, AuditLogOptions, AuditMode, LogTarget};
pub(crate) use self::policy::Level;
pub use self::policy::{Policy, PolicyError};
pub use self::source::Source;
pub(crate) use self::trail::Trail;

use crate::body::Body;
use crate::metrics::Metrics;
use crate::request::Request;
use crate::respond;

/// A policy, and a log to follow it in.
pub struct Audit {
    /// What is written down.
    pub policy: Policy,
    /// Where.
    pub log: AuditLog,
}

/// Begins the trail of each request.
pub(crate) struct Auditor {
    policy: Policy,
    log: AuditLog,
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
}

/// What is known of a request when it arrives.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub(crate) head: &'a Parts,
    pub(crate) request: &'a Request,
    pub(crate) audit_id: &'a HeaderValue,
    pub(crate) user: Option<&'a Arc<User>>,
    pub(crate) now: SystemTime,
}

/// Whether what a request is about carries secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Plain,
    /// Nothing is written down beyond metadata, whatever the policy says.
    Secret,
}

// === impl Auditor ===

impl Auditor {
    pub(crate) fn new(audit: Audit, metrics: Arc<Metrics>, clock: Arc<dyn Clock>) -> Self {
        Self { policy: audit.policy, log: audit.log, metrics, clock }
    }

    /// Begins a request's trail; none if nothing is to be written down.
    pub(crate) fn begin(self: &Arc<Self>, arrival: &Arrival<'_>, content: Content) -> Option<Box<Trail>> {
        let mut verdict = self.policy.judge(arrival.user.map(Arc::as_ref), arrival.request.info());
        if content == Content::Secret {
            verdict.level = verdict.level.min(Level::Metadata);
        }
        self.metrics.audit.levels[verdict.level as usize].add(1);
        (verdict.level != Level::None).then(|| Box::new(Trail::new(self.clone(), verdict, content, arrival)))
    }
}

/// The answer to a request that must not go on because its entry cannot be written, in the words of Kubernetes.
pub(crate) fn unwritten(head: &Parts) -> Response<Body> {
    let uri = go::quote(head.uri.path_and_query().map_or("/", |target| target.as_str()));
    let text = format!("Internal Server Error: {uri}: failed to store audit event\n");
    respond::text(StatusCode::INTERNAL_SERVER_ERROR, text)
}
