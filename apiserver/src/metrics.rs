//! What operators can see of the server, under the names that Kubernetes has given it.
//!
//! Label values come from closed sets: kinds that are served, verbs, codes. Whatever a client makes up is `other`, so that
//! no flood of names makes a flood of series. Counting takes no lock and allocates nothing once a series is there.

mod count;
mod exposition;
mod histogram;
mod labels;
mod process;
mod requests;
mod storage;

use std::fmt::Write;
use std::sync::Arc;

use bailiwick_machinery::GroupResource;
use bailiwick_registry::Decision;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response};

pub(crate) use self::count::{Count, HighWater, Raised};
pub(crate) use self::exposition::Format;
pub(crate) use self::labels::Labels;
pub(crate) use self::requests::{RequestMetrics, Served, WatchMetrics};

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
    pub(crate) audit: AuditMetrics,
    pub(crate) tls_handshake_errors: Count,
    /// Requests under way that change nothing, and those that do.
    pub(crate) in_flight: [Arc<HighWater>; 2],
    /// Successes and failures.
    authentication: [Count; 2],
    /// By the categories of [`USERS`].
    users: [Count; USERS.len()],
    /// By the results of [`DECISIONS`].
    decisions: [Count; DECISIONS.len()],
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
}

/// Names would be as many as users, and would tell who they are: these are the categories of Kubernetes.
const USERS: [&str; 7] =
    ["admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default", "email_id", "other"];
const DECISIONS: [&str; 4] = ["allowed", "denied", "no-opinion", "error"];
const REQUEST_KINDS: [&str; 2] = ["readOnly", "mutating"];
const SUCCESS: usize = 0;
const FAILURE: usize = 1;

// === impl Metrics ===

impl Metrics {
    /// A request was made by this user, or by nobody known.
    pub(crate) fn authenticated(&self, user: Option<&str>) {
        match user {
            Some(name) => {
                self.authentication[SUCCESS].add(1);
                self.users[user_category(name)].add(1);
            }
            None => self.authentication[FAILURE].add(1),
        }
    }

    /// Whether a user may do something was asked.
    pub(crate) fn authorized(&self, decision: Option<&Decision>) {
        let result = match decision {
            Some(Decision::Allow(_)) => 0,
            Some(Decision::Deny(_)) => 1,
            Some(Decision::NoOpinion(_)) => 2,
            None => 3,
        };
        self.decisions[result].add(1);
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
        self.expose_identity(&mut out);
        self.expose_load(&mut out, now);
        self.expose_audit(&mut out);
        expose_objects(&mut out, &now.objects);
        out.family("kubernetes_build_info", Type::Gauge, "What this server was built from.");
        out.sample("kubernetes_build_info", &[("git_version", GIT_VERSION)], 1);
        process::expose(&mut out);
        storage::expose(&mut out, &self.storage);
        out.finish()
    }

    fn expose_identity(&self, out: &mut Exposition) {
        let name = "authentication_attempts";
        out.family(name, Type::Counter, "Attempts to authenticate.");
        for (result, count) in ["success", "failure"].into_iter().zip(&self.authentication) {
            out.sample(name, &[("result", result)], count.get());
        }
        let name = "authenticated_user_requests";
        out.family(name, Type::Counter, "Authenticated requests by category of user.");
        for (user, count) in USERS.into_iter().zip(&self.users) {
            out.sample(name, &[("username", user)], count.get());
        }
        let name = "authorization_attempts_total";
        out.family(name, Type::Counter, "Attempts to authorize, by result.");
        for (result, count) in DECISIONS.into_iter().zip(&self.decisions) {
            out.sample(name, &[("result", result)], count.get());
        }
        let name = "apiserver_authorization_decisions_total";
        out.family(name, Type::Counter, "Decisions of the authorizers, in the end.");
        for (decision, count) in DECISIONS.into_iter().zip(&self.decisions).take(2) {
            let labels = [("decision", decision), ("name", "bailiwick"), ("type", "Chain")];
            out.sample(name, &labels, count.get());
        }
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

fn user_category(name: &str) -> usize {
    let known = USERS.iter().take(5).position(|user| *user == name);
    known.unwrap_or(if name.contains('@') { 5 } else { 6 })
}

#[cfg(test)]
mod tests;
