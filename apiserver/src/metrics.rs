//! What operators can see of the server, under the names that Kubernetes has given it.
//!
//! Label values come from closed sets: kinds that are served, verbs, codes. Whatever a client makes up is `other`, so that
//! no flood of names makes a flood of series. Counting takes no lock and allocates nothing once a series is there.

mod count;
mod exposition;
mod histogram;
mod identity;
mod labels;
mod process;
mod quota;
mod registered;
mod requests;
mod reviews;

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use bailiwick_machinery::GroupResource;
use bailiwick_registry::QuotaMetrics;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response};
use prometheus_client::registry::Registry;

pub(crate) use self::count::{Count, HighWater, Raised};
pub(crate) use self::exposition::Format;
pub(crate) use self::identity::{Attempt, AuthenticationMetrics, AuthorizationMetrics, Memory, TokenCacheMetrics};
pub(crate) use self::labels::Labels;
pub(crate) use self::requests::{RequestMetrics, Served, WatchMetrics};
pub use self::reviews::ReviewMetrics;

use self::exposition::{Exposition, Type};
use crate::audit::Level;
use crate::form::text;
use crate::version::GIT_VERSION;

/// Where metrics are.
pub(crate) const PATH: &str = "/metrics";

/// What is counted beside requests. Everything that counts shares one of these.
#[derive(Debug, Default)]
pub struct Metrics {
    /// What the store tells of itself.
    pub storage: bailiwick_storage::Metrics,
    /// Adds what is counted by others who run in this process.
    others: Option<fn(&mut Registry)>,
    pub(crate) audit: AuditMetrics,
    pub(crate) tls_handshake_errors: Count,
    /// Requests under way that change nothing, and those that do.
    pub(crate) in_flight: [Arc<HighWater>; 2],
    /// Of whoever finds out who asks, where there is someone.
    pub(crate) authentication: OnceLock<Arc<AuthenticationMetrics>>,
    pub(crate) authorization: AuthorizationMetrics,
    /// Of questions to a cluster whose tokens are.
    pub token_reviews: Arc<ReviewMetrics>,
    /// Of questions to a cluster who may do what.
    pub access_reviews: Arc<ReviewMetrics>,
}

/// What the audit log tells.
#[derive(Debug, Default)]
pub(crate) struct AuditMetrics {
    pub(crate) events: Count,
    pub(crate) errors: Count,
    pub(crate) rejected: Count,
    pub(crate) levels: [Count; Level::ALL.len()],
}

/// What is known only when metrics are asked for.
pub(crate) struct Now<'n> {
    pub(crate) requests: &'n RequestMetrics,
    /// Requests that wait to read, and to write.
    pub(crate) waiting: [usize; 2],
    pub(crate) objects: Vec<(GroupResource, usize)>,
    /// Of whoever decides about quotas, where there is someone.
    pub(crate) quota: Option<&'n QuotaMetrics>,
}

const REQUEST_KINDS: [&str; 2] = ["readOnly", "mutating"];

// === impl Metrics ===

impl Metrics {
    /// Those that also tell what this adds. Label values are from closed sets there, too.
    pub fn beside(others: fn(&mut Registry)) -> Self {
        Self { others: Some(others), ..Self::default() }
    }

    /// All of it, in the form that the client wants.
    pub(crate) fn answer(&self, headers: &HeaderMap, now: &Now<'_>) -> Response<bytes::Bytes> {
        let format = Format::negotiate(text(headers, ACCEPT));
        let mut response = Response::new(self.expose(format, now).into());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
        response
    }

    fn expose(&self, format: Format, now: &Now<'_>) -> String {
        let mut out = Exposition::new(format);
        now.requests.expose(&mut out);
        if let Some(authentication) = self.authentication.get() {
            authentication.expose(&mut out);
        }
        self.authorization.expose(&mut out);
        self.token_reviews.expose(&mut out, "authn");
        self.access_reviews.expose(&mut out, "authz");
        self.expose_load(&mut out, now);
        self.expose_audit(&mut out);
        expose_objects(&mut out, &now.objects);
        if let Some(quota) = now.quota {
            quota::expose(&mut out, quota);
        }
        out.family("kubernetes_build_info", Type::Gauge, "What this server was built from.");
        out.sample("kubernetes_build_info", &[("git_version", GIT_VERSION)], 1);
        process::expose(&mut out);
        let mut registry = Registry::default();
        self.storage.register(&mut registry);
        if let Some(register) = self.others {
            register(&mut registry);
        }
        registered::expose(&mut out, &registry);
        out.finish()
    }

    fn expose_load(&self, out: &mut Exposition, now: &Now<'_>) {
        let name = "apiserver_current_inflight_requests";
        out.family(name, Type::Gauge, "Most requests under way at once since this was last asked for.");
        for (kind, level) in REQUEST_KINDS.into_iter().zip(&self.in_flight) {
            out.sample(name, &[("request_kind", kind)], level.take_most());
        }
        let name = "apiserver_current_inqueue_requests";
        out.family(name, Type::Gauge, "Requests that wait for their turn.");
        for (kind, waiting) in REQUEST_KINDS.into_iter().zip(now.waiting) {
            out.sample(name, &[("request_kind", kind)], waiting);
        }
        let name = "apiserver_tls_handshake_errors_total";
        out.family(name, Type::Counter, "Connections whose TLS handshake failed.");
        out.sample(name, &[], self.tls_handshake_errors.get());
    }

    fn expose_audit(&self, out: &mut Exposition) {
        let mut counter = |name, help, labels: &[(&str, &str)], count: &Count| {
            out.family(name, Type::Counter, help);
            out.sample(name, labels, count.get());
        };
        counter("apiserver_audit_event_total", "Audit entries that were made.", &[], &self.audit.events);
        let lost = "Audit entries that could not be written.";
        counter("apiserver_audit_error_total", lost, &[("plugin", "log")], &self.audit.errors);
        let rejected = "Requests that were refused because their audit entry could not be written.";
        counter("apiserver_audit_requests_rejected_total", rejected, &[], &self.audit.rejected);
        let name = "apiserver_audit_level_total";
        out.family(name, Type::Counter, "Requests by the level at which they are audited.");
        for (level, count) in Level::ALL.into_iter().zip(&self.audit.levels) {
            out.sample(name, &[("level", level.as_str())], count.get());
        }
    }
}

fn expose_objects(out: &mut Exposition, objects: &[(GroupResource, usize)]) {
    // Its first name is what most dashboards still ask for; the second has the group as a label of its own.
    for (name, apart) in [("apiserver_storage_objects", false), ("apiserver_resource_objects", true)] {
        out.family(name, Type::Gauge, "Stored objects, by kind.");
        for (resource, count) in objects {
            let mut joined = String::new();
            // Writing to memory does not fail.
            let _ = write!(joined, "{resource}");
            match apart {
                true => out.sample(name, &[("group", &resource.group), ("resource", &resource.resource)], count),
                false => out.sample(name, &[("resource", &joined)], count),
            }
        }
    }
}
