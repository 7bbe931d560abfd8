//! Health: `/healthz`, `/livez` and `/readyz`, each a list of named checks, and each check by itself below them.
//!
//! The three paths may be asked by anyone, so they do not say why a check failed; the paths below them do.

use std::borrow::Cow;
use std::fmt::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Response, StatusCode};

use crate::query::Query;

/// The longest that a check may take. Probes give up after a second or a few; what takes longer is not healthy.
const CHECK_LIMIT: Duration = Duration::from_secs(2);

/// The check that fails once the server is about to end.
const SHUTDOWN: &str = "shutdown";

/// What is checked, and where it is told. Cheap to clone.
#[derive(Clone)]
pub struct Health {
    checks: Vec<Check>,
    shutting_down: Arc<AtomicBool>,
}

/// Something that can be asked whether it is healthy.
pub trait HealthCheck: Send + Sync + 'static {
    /// Asks it.
    fn check(&self) -> Pin<Box<dyn Future<Output = Result<(), Unhealthy>> + Send + '_>>;
}

/// Which endpoints tell of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoints {
    /// All three.
    All,
    /// Only `/readyz`: it says whether to send requests here, not whether to start the server again.
    Ready,
}

/// Why something is not healthy: for the log, and for those who may ask for a single check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unhealthy {
    reason: Cow<'static, str>,
}

#[derive(Clone)]
struct Check {
    name: &'static str,
    endpoints: Endpoints,
    run: Arc<dyn HealthCheck>,
}

/// Nothing that could fail.
struct Always;

struct Running(Arc<AtomicBool>);

// === impl Health ===

impl Default for Health {
    fn default() -> Self {
        Self::new()
    }
}

impl Health {
    /// Checks that the server answers and has not begun to end.
    pub fn new() -> Self {
        let shutting_down = Arc::new(AtomicBool::new(false));
        let check = |name, endpoints, run| Check { name, endpoints, run };
        let checks = vec![
            check("ping", Endpoints::All, Arc::new(Always) as Arc<dyn HealthCheck>),
            check("log", Endpoints::All, Arc::new(Always)),
            check(SHUTDOWN, Endpoints::Ready, Arc::new(Running(shutting_down.clone()))),
        ];
        Self { checks, shutting_down }
    }

    /// With one more check: `etcd`, `etcd-readiness`, `informer-sync`, `poststarthook/<name>`.
    #[must_use]
    pub fn with(mut self, name: &'static str, endpoints: Endpoints, check: impl HealthCheck) -> Self {
        // As upstream has it, the last one says whether the server is about to end.
        let last = self.checks.len().saturating_sub(1);
        self.checks.insert(last, Check { name, endpoints, run: Arc::new(check) });
        self
    }

    /// From now on the server is not ready, so that no new requests are sent to it; it goes on serving.
    pub fn begin_shutdown(&self) {
        self.shutting_down.store(true, Ordering::Release);
    }

    /// The answer to a GET or HEAD; `None` if there is nothing of health at the path.
    pub async fn answer(&self, path: &str, query: &Query) -> Option<Response<Bytes>> {
        let (endpoint, name) = match path.strip_prefix('/')?.split_once('/') {
            Some((endpoint, name)) => (endpoint, Some(name)),
            None => (path.strip_prefix('/')?, None),
        };
        let ready = match endpoint {
            "healthz" | "livez" => false,
            "readyz" => true,
            _ => return None,
        };
        let mut checks = self.checks.iter().filter(|check| ready || check.endpoints == Endpoints::All);
        match name {
            None => Some(summary(endpoint, checks, query).await),
            Some(name) => {
                let check = checks.find(|check| check.name == name)?;
                Some(match check.run().await {
                    Ok(()) => respond(StatusCode::OK, "ok".to_owned()),
                    Err(error) => failed(format!("internal server error: {error}\n")),
                })
            }
        }
    }
}

/// Whether a path is one of health, or of one of its checks.
pub(crate) fn is_health_path(path: &str) -> bool {
    let endpoint = path.strip_prefix('/').unwrap_or_default();
    matches!(endpoint.split('/').next(), Some("healthz" | "livez" | "readyz"))
}

/// All checks of an endpoint but those that the client excludes, side by side.
async fn summary(endpoint: &str, checks: impl Iterator<Item = &Check>, query: &Query) -> Response<Bytes> {
    let excluded = |name: &str| query.all("exclude").any(|excluded| excluded == name);
    let outcomes = join_all(checks.map(|check| async move {
        let outcome = if excluded(check.name) { Outcome::Excluded } else { check.run().await.into() };
        (check.name, outcome)
    }));
    let outcomes = outcomes.await;
    let mut report = String::new();
    for (name, outcome) in &outcomes {
        report.push_str(&match outcome {
            Outcome::Excluded => format!("[+]{name} excluded: ok\n"),
            Outcome::Healthy => format!("[+]{name} ok\n"),
            Outcome::Failed(error) => {
                tracing::warn!(endpoint, check = name, %error, "health check failed");
                format!("[-]{name} failed: reason withheld\n")
            }
        });
    }
    let known = |name: &str| outcomes.iter().any(|(known, _)| *known == name);
    let mut unknown: Vec<_> = query.all("exclude").filter(|name| !known(name)).collect();
    unknown.sort_unstable();
    unknown.dedup();
    if !unknown.is_empty() {
        let quoted: Vec<_> = unknown.into_iter().map(bailiwick_machinery::go::quote).collect();
        // Writing to memory does not fail.
        let _ = writeln!(report, "warn: some health checks cannot be excluded: no matches for {}", quoted.join(","));
    }
    if outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Failed(_))) {
        return failed(format!("{report}{endpoint} check failed\n"));
    }
    match query.first("verbose") {
        None => respond_nosniff(StatusCode::OK, "ok".to_owned()),
        Some(_) => respond_nosniff(StatusCode::OK, format!("{report}{endpoint} check passed\n")),
    }
}

/// What became of a check.
enum Outcome {
    Excluded,
    Healthy,
    Failed(Unhealthy),
}

impl From<Result<(), Unhealthy>> for Outcome {
    fn from(result: Result<(), Unhealthy>) -> Self {
        match result {
            Ok(()) => Self::Healthy,
            Err(error) => Self::Failed(error),
        }
    }
}

// === impl Check ===

impl Check {
    async fn run(&self) -> Result<(), Unhealthy> {
        let late = |_| Unhealthy::new(format!("no answer within {} s", CHECK_LIMIT.as_secs()));
        tokio::time::timeout(CHECK_LIMIT, self.run.check()).await.map_err(late)?
    }
}

// === impl Unhealthy ===

impl Unhealthy {
    /// For this reason.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: reason.into() }
    }
}

// === impl HealthCheck ===

/// A function that returns a future is a check.
impl<F, R> HealthCheck for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), Unhealthy>> + Send + 'static,
{
    fn check(&self) -> Pin<Box<dyn Future<Output = Result<(), Unhealthy>> + Send + '_>> {
        Box::pin(self())
    }
}

impl HealthCheck for Always {
    fn check(&self) -> Pin<Box<dyn Future<Output = Result<(), Unhealthy>> + Send + '_>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl HealthCheck for Running {
    fn check(&self) -> Pin<Box<dyn Future<Output = Result<(), Unhealthy>> + Send + '_>> {
        let ending = self.0.load(Ordering::Acquire);
        let answer = if ending { Err(Unhealthy::new("process is shutting down")) } else { Ok(()) };
        Box::pin(std::future::ready(answer))
    }
}

fn failed(body: String) -> Response<Bytes> {
    respond_nosniff(StatusCode::INTERNAL_SERVER_ERROR, body)
}

fn respond_nosniff(status: StatusCode, body: String) -> Response<Bytes> {
    let mut response = respond(status, body);
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn respond(status: StatusCode, body: String) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests;
