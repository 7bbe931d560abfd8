//! From socket to registry and back.
//!
//! A request's method, path and query are read in one place. What comes out is immutable and typed, and the same value is
//! authorized, executed and audited.

mod access_webhook;
mod audit;
mod authentication;
mod authorization;
mod body;
mod continue_token;
mod delegated;
mod discovery;
mod form;
mod frontend;
mod go;
mod health;
mod host;
mod impersonation;
mod in_process;
mod limits;
mod listener;
mod loading;
mod metrics;
mod openapi;
mod options;
mod query;
mod request;
mod request_info;
mod resource;
mod respond;
mod server;
mod status;
mod takeover;
mod tls;
mod version;
mod visit;
mod witness;

pub use access_webhook::{ACCESS_WEBHOOK_PATH, WebhookCallers};
pub use audit::{Audit, AuditLog, AuditLogError, AuditLogOptions, AuditMode, LogTarget, Policy, PolicyError, Source};
pub use authentication::{
    Algorithms, Anonymous, Audiences, Authentication, AuthenticationConfiguration, AuthenticationError,
    AuthenticationFile, AuthenticationFileError, AuthenticationParts, ClaimMapping, ClaimMappings, ClaimValidationRule,
    ConfigurationError, Issuer, JwtAuthenticator, JwtConfiguration, JwtOptions, JwtSetupError, KeySet, MAX_TOKEN_BYTES,
    OpenIdDocuments, PrefixedClaim, RequestHeaderError, RequestHeaderOptions, Requester, ServiceAccountKeys,
    ServiceAccountParts, ServiceAccountTokens, Token, TokenAuthenticator, TokenAuthenticatorChain, TokenCache,
    TokenCacheError, TokenCacheOptions, TokenError, TokenSigner, UnsupportedAlgorithm,
};
pub use body::{Body, MAX_BODY_BYTES};
pub use continue_token::{ContinueToken, ContinueTokenError, Resume};
pub use delegated::{
    AccessReviewOptions, AccessReviews, ClusterAuthentication, ClusterNamespaces, ClusterQuotas, ClusterRoles,
    ClusterTrust, ClusterTrustError, ProxyTrust, TokenReviews,
};
pub use discovery::Discovery;
pub use frontend::Frontend;
pub use go::{DurationError, parse_duration};
pub use health::{Endpoints, Health, HealthCheck, Unhealthy};
pub use host::{HostApi, HostClients};
pub use impersonation::Impersonated;
pub use in_process::InProcess;
pub use limits::{FromWithin, LimitOptions};
pub use listener::{BindError, CloseConnection, FinishBy, Handler, HttpLimits, Listener, ListenerOptions, Peer};
pub use loading::Loading;
pub use metrics::{Metrics, ReviewMetrics};
pub use options::{
    CreateOptions, DeleteQuery, Freshness, GetOptions, ListAt, ListOptions, PatchKind, PatchOptions, PatchQuery,
    UpdateOptions, WatchOptions, WatchStart,
};
pub use query::Query;
pub use request::{MAX_TARGET_BYTES, Operation, Part, Request, RequestError};
pub use request_info::{RequestInfo, Verb};
pub use server::{Server, ServerOptions, ServerParts};
pub use tls::{
    CaPool, CaPoolError, CertificateError, ClientCertificate, FileError, IdentityError, Tls, TlsError, TlsFiles, Trust,
};
pub use version::{GIT_VERSION, ServerVersion};
