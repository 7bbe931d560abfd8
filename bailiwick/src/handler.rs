//! Puts the API together: the registry over the store, the server over the registry, and who may reach it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{
    Authentication, Endpoints, Frontend, Health, HealthCheck, LimitOptions, Metrics, OpenIdDocuments, Server,
    ServerOptions, ServerParts, ServiceAccountTokens, Unhealthy,
};
use bailiwick_registry::kinds::{self, Reviewers, TokenIssuer};
use bailiwick_registry::rbac::{LivePolicy, NoEscalation, Rbac, bootstrap, follow};
use bailiwick_registry::{
    AllowGroup, AllowPaths, Authorizer, AuthorizerChain, Clock, KindError, Registry, definitions,
};
use bailiwick_storage::Store;
use tokio_util::sync::CancellationToken;

use crate::audit::{self, AuditError};
use crate::flags::{AuditFlags, LimitFlags};

/// What the API is made of.
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    /// Who finds out who asks.
    pub(crate) authentication: Arc<Authentication>,
    /// Who issues and knows tokens of service accounts.
    pub(crate) service_accounts: Arc<ServiceAccountTokens>,
    /// How others verify these tokens.
    pub(crate) openid: OpenIdDocuments,
    pub(crate) clock: Arc<dyn Clock>,
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
}

/// Why the API cannot be put together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandlerError {
    #[error(transparent)]
    Kind(#[from] KindError),
    #[error("the store cannot be read")]
    Store(#[from] bailiwick_storage::Error),
    #[error("the roles cannot be read or made")]
    Roles(#[source] bailiwick_registry::Error),
    #[error("the definitions of custom resources cannot be read")]
    Definitions(#[source] Box<bailiwick_registry::Error>),
    #[error(transparent)]
    Audit(#[from] AuditError),
}

/// Whether the store answers.
struct StoreAnswers(Arc<Registry>);

/// What answers requests. Everything is in memory when it returns.
pub(crate) async fn handler(parts: Parts) -> Result<Frontend, HandlerError> {
    let roles = Arc::new(LivePolicy::default());
    let rbac = || Rbac::new(roles.clone());
    let authorizers: Vec<Box<dyn Authorizer>> =
        vec![Box::new(AllowGroup::MASTERS), Box::new(parts.always_allow.clone()), Box::new(rbac())];
    let authorizer: Arc<dyn Authorizer> = Arc::new(AuthorizerChain::new(authorizers));
    let reviewers =
        Reviewers { authorizer: authorizer.clone(), rules: Arc::new(rbac()), tokens: parts.authentication.clone() };
    let issuer: Arc<dyn TokenIssuer> = parts.service_accounts.clone();
    let host = kinds::with_tokens(kinds::host()?, &issuer)?;
    let kinds = kinds::all()?.into_iter().chain(host).chain(kinds::reviews(&reviewers)?).collect();
    let registry = Registry::start(parts.store, kinds, parts.metrics.storage.clone()).await?;
    let guard = NoEscalation { authorizer: authorizer.clone(), roles: roles.clone() };
    let registry = Arc::new(registry.with_admission(guard));
    parts.service_accounts.look_in(registry.clone());
    definitions::follow(&registry).await.map_err(|error| HandlerError::Definitions(Box::new(error)))?;
    follow(&registry, &roles).await.map_err(HandlerError::Roles)?;
    bootstrap(&registry).await.map_err(HandlerError::Roles)?;
    let health = Health::new().with("etcd", Endpoints::All, StoreAnswers(registry.clone())).with(
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
    let server = Server::new(parts_of_server, &options).with_openid(parts.openid);
    Ok(Frontend::new(Arc::new(server), parts.authentication))
}

fn limits(flags: LimitFlags) -> LimitOptions {
    let bound = |number: usize| Some(number).filter(|number| *number > 0);
    let (reads, writes) = (bound(flags.max_requests_inflight), bound(flags.max_mutating_requests_inflight));
    LimitOptions {
        reads,
        writes,
        watches: bound(flags.max_watches_inflight),
        // As many as everyone else together.
        privileged: reads.zip(writes).map(|(reads, writes)| reads + writes),
        ..LimitOptions::default()
    }
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
