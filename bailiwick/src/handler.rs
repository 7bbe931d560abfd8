//! Puts the API together: the registry over the store, the server over the registry, and who may reach it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{
    Authentication, Endpoints, Frontend, Health, HealthCheck, LimitOptions, Metrics, Server, ServerOptions,
    ServerParts, Unhealthy,
};
use bailiwick_registry::{AllowPaths, Clock, KindError, Registry};
use bailiwick_storage::Store;
use tokio_util::sync::CancellationToken;

use crate::audit::{self, AuditError};
use crate::flags::{AuditFlags, LimitFlags};
use crate::mode::{Api, Mode};

/// What the API is made of.
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    /// Who finds out who asks.
    pub(crate) authentication: Arc<Authentication>,
    /// Whether there is a cluster beside it.
    pub(crate) mode: Mode,
    /// Whether kinds are served under the names of others, too; if nobody says, only without a cluster.
    pub(crate) aliases: Option<bool>,
    /// Where clients find it.
    pub(crate) url: String,
    pub(crate) clock: Arc<dyn Clock>,
    /// How long events are kept.
    pub(crate) event_ttl: Duration,
    /// What everyone may ask for.
    pub(crate) always_allow: AllowPaths,
    pub(crate) request_timeout: Duration,
    pub(crate) min_request_timeout: Duration,
    pub(crate) limits: LimitFlags,
    pub(crate) audit: AuditFlags,
    pub(crate) metrics: Arc<Metrics>,
    /// Cancelled when the server is about to stop: from then on it is not ready, but serves.
    pub(crate) stopping: CancellationToken,
    /// Cancelled when it stops: from then on watches end.
    pub(crate) stopped: CancellationToken,
    /// Cancelled when all requests are answered: from then on nobody needs the store.
    pub(crate) closing: CancellationToken,
}

/// Why the API cannot be put together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandlerError {
    #[error(transparent)]
    Kind(#[from] KindError),
    #[error("the store cannot be read")]
    Store(#[from] bailiwick_storage::Error),
    #[error("what every server has cannot be read or made")]
    Furnish(#[source] bailiwick_registry::Error),
    #[error("quotas have no place in the store")]
    Quotas(#[from] bailiwick_storage::KeyError),
    #[error(transparent)]
    Audit(#[from] AuditError),
}

/// Whether the store answers.
struct StoreAnswers(Arc<Registry>);

/// What answers requests. Everything is in memory when it returns.
pub(crate) async fn handler(parts: Parts) -> Result<Frontend, HandlerError> {
    let Api { registry, authorizer, memberships, access_webhook, own_host, health, openid } =
        parts.mode.api(&parts).await?;
    let health = health.with("etcd", Endpoints::All, StoreAnswers(registry.clone())).with(
        "etcd-readiness",
        Endpoints::Ready,
        StoreAnswers(registry.clone()),
    );
    tokio::spawn(end_readiness(health.clone(), parts.stopping));
    let options = ServerOptions {
        request_timeout: parts.request_timeout,
        min_watch_duration: parts.min_request_timeout,
        always_allow: parts.always_allow,
        limits: limits(parts.limits),
        goaway_chance: parts.limits.goaway_chance,
        ..ServerOptions::default()
    };
    let audit = audit::open(&parts.audit, &parts.metrics, &parts.clock)?;
    let parts_of_server = ServerParts {
        registry,
        health,
        authorizer,
        clock: parts.clock,
        shutdown: parts.stopped,
        audit,
        metrics: parts.metrics,
    };
    let mut server = Server::new(parts_of_server, &options).with_memberships(memberships);
    if let Some(access) = access_webhook {
        server = server.with_access_webhook(access);
    }
    if let Some(documents) = openid {
        server = server.with_openid(documents);
    }
    let server = Arc::new(server);
    if let Some(own_host) = own_host {
        own_host.is(&server);
    }
    Ok(Frontend::new(server, parts.authentication))
}

fn limits(flags: LimitFlags) -> LimitOptions {
    let bound = |number: usize| Some(number).filter(|number| *number > 0);
    let (reads, writes) = (bound(flags.max_requests_inflight), bound(flags.max_mutating_requests_inflight));
    LimitOptions { reads, writes, watches: bound(flags.max_watches_inflight), ..LimitOptions::default() }
}

async fn end_readiness(health: Health, stopping: CancellationToken) {
    stopping.cancelled().await;
    health.begin_shutdown();
}

// === impl StoreAnswers ===

impl HealthCheck for StoreAnswers {
    fn check(&self) -> Pin<Box<dyn Future<Output = Result<(), Unhealthy>> + Send + '_>> {
        Box::pin(async { self.0.check_store().await.map_err(|error| Unhealthy::new(error.to_string())) })
    }
}
