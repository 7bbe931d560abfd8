//! Who asks: a union of methods, in Kubernetes' order and with its rules for errors.
//!
//! ```text
//! front proxy's headers ──▶ client certificate ──▶ bearer token ──▶ token of a WebSocket ──▶ nobody in particular
//! ```
//!
//! The first method that knows the user counts, whatever those before it found. If none does and one of them found a bad
//! credential, the request is refused: a bad credential never becomes an anonymous user. Credentials and headers that
//! could be taken for them are gone from the request before anything else sees it.

mod anonymous;
mod bearer;
mod certificate;
mod configuration;
mod identity;
mod jwt;
mod request_header;
mod service_account;
mod token;
mod token_cache;
mod websocket;

use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use bailiwick_registry::kinds::{TokenOwner, TokenReviewError, TokenReviewer};
use bailiwick_registry::{Clock, User};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use tokio::time::{Instant, timeout_at};

pub use self::anonymous::Anonymous;
pub use self::configuration::{
    AuthenticationConfiguration, AuthenticationFile, AuthenticationFileError, ClaimMapping, ClaimMappings,
    ClaimValidationRule, ConfigurationError, Issuer, JwtConfiguration, PrefixedClaim,
};
pub use self::jwt::{Algorithms, JwtAuthenticator, JwtOptions, JwtSetupError, KeySet, UnsupportedAlgorithm};
pub use self::request_header::{RequestHeaderError, RequestHeaderOptions};
pub use self::service_account::{
    OpenIdDocuments, ServiceAccountKeys, ServiceAccountParts, ServiceAccountTokens, TokenSigner,
};
pub use self::token::{Audiences, MAX_TOKEN_BYTES, Token, TokenAuthenticator, TokenAuthenticatorChain, TokenError};
pub use self::token_cache::{TokenCache, TokenCacheError, TokenCacheOptions};

pub(crate) use self::identity::{is_anonymous, is_by_certificate};
pub(crate) use self::service_account::PATHS as OPENID_PATHS;
pub(crate) use self::token_cache::generations::Generations;

use self::certificate::Verdict;
use self::request_header::RequestHeader;
use crate::delegated::{ClusterTrust, ClusterTrustError, ProxyTrust};
use crate::listener::Peer;
use crate::metrics::{Attempt, AuthenticationMetrics};
use crate::tls::Tls;

/// What authentication is made of.
pub struct AuthenticationParts {
    /// The pools of authorities.
    pub tls: Arc<Tls>,
    /// Which headers of front proxies name users.
    pub request_header: RequestHeaderOptions,
    /// Who knows tokens that can become void at any moment, and is asked each time.
    pub revocable_tokens: Arc<dyn TokenAuthenticator>,
    /// Who knows other tokens.
    pub tokens: Arc<dyn TokenAuthenticator>,
    /// What this server is called in tokens.
    pub audiences: Vec<String>,
    /// How it is remembered what they said.
    pub token_cache: TokenCacheOptions,
    /// Where requests need no credentials.
    pub anonymous: Anonymous,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// Finds out who asks.
pub struct Authentication {
    tls: Arc<Tls>,
    request_header: ArcSwap<RequestHeader>,
    revocable_tokens: Arc<dyn TokenAuthenticator>,
    tokens: TokenCache,
    audiences: Vec<String>,
    anonymous: ArcSwap<Anonymous>,
    clock: Arc<dyn Clock>,
    metrics: Arc<AuthenticationMetrics>,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requester {
    /// This user, who may be the anonymous one.
    User(Arc<User>),
    /// There is no credential, and none is demanded before it is known what is asked for.
    Nobody,
    /// A credential that is not to be believed, or none where one is needed.
    Refused,
    /// A credential about which nobody could be asked now, because so many are asked about. It may be a good one.
    Undecided,
    /// A credential about which nothing was found out in the time that the request has. It may be a good one, too.
    Late,
}

/// Why authentication cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticationError {
    /// The headers.
    #[error(transparent)]
    RequestHeader(#[from] RequestHeaderError),
    /// Every client could name any user.
    #[error(
        "--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; --requestheader-allowed-names must be specified to ensure regular client certificates cannot set authenticating proxy headers for arbitrary users"
    )]
    OverlappingAuthorities,
}

/// Nobody is known by the credentials that were found. What counts more comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Refusal {
    /// One is not to be believed.
    Bad,
    /// About one nobody could be asked.
    Undecided,
    /// About one nobody has said anything in time.
    Late,
}

// === impl Requester ===

/// A user who is known, or nobody, for whoever asks a server without a connection.
impl Requester {
    /// The user, if there is one.
    pub fn user(&self) -> Option<&Arc<User>> {
        match self {
            Self::User(user) => Some(user),
            Self::Nobody | Self::Refused | Self::Undecided | Self::Late => None,
        }
    }
}

impl From<Option<&User>> for Requester {
    fn from(user: Option<&User>) -> Self {
        user.map_or(Self::Nobody, |user| Self::User(Arc::new(user.clone())))
    }
}

// === impl Authentication ===

impl Authentication {
    /// The methods, put together.
    pub fn new(parts: AuthenticationParts) -> Result<Self, AuthenticationError> {
        let request_header = RequestHeader::new(&parts.request_header)?;
        let trust = parts.tls.trust();
        if trust.request_header_ca.is_some() && parts.request_header.allowed_names.is_empty() {
            if trust.pools_overlap() {
                return Err(AuthenticationError::OverlappingAuthorities);
            }
            tracing::warn!(
                "--requestheader-allowed-names is empty: every certificate of --requestheader-client-ca-file can name any user"
            );
        }
        let tokens = TokenCache::new(parts.tokens, parts.token_cache);
        Ok(Self {
            tls: parts.tls,
            request_header: ArcSwap::from_pointee(request_header),
            revocable_tokens: parts.revocable_tokens,
            metrics: Arc::new(AuthenticationMetrics::new(tokens.metrics().clone())),
            tokens,
            audiences: parts.audiences,
            anonymous: ArcSwap::from_pointee(parts.anonymous),
            clock: parts.clock,
        })
    }

    /// From now on the authorities and headers that the cluster beside this server names are believed. What it does not
    /// name stays as it is.
    pub fn set_cluster_trust(&self, trust: ClusterTrust) -> Result<(), ClusterTrustError> {
        let ClusterTrust { client_ca, proxy } = trust;
        let mut proxy_ca = None;
        if let Some(ProxyTrust { ca, headers }) = proxy {
            if headers.allowed_names.is_empty() {
                tracing::warn!(
                    "the cluster allows every certificate of its front proxies' authorities to name any user"
                );
            }
            // Before the pools: what was found by the old headers ends with the old pools.
            self.request_header.store(Arc::new(RequestHeader::new(&headers)?));
            proxy_ca = Some(ca);
        }
        Ok(self.tls.set_pools(client_ca, proxy_ca)?)
    }

    /// From now on requests need no credentials there.
    pub fn set_anonymous(&self, anonymous: Anonymous) {
        self.anonymous.store(Arc::new(anonymous));
    }

    /// Finds out who sends a request over a connection, and takes the credentials out of its headers.
    pub async fn authenticate(&self, path: &str, headers: &mut HeaderMap, peer: &Peer) -> Requester {
        let begun = Instant::now();
        let found = self.find(headers, peer).await;
        self.conclude(path, headers, begun, found)
    }

    /// The same, if it can be found out by then.
    pub(crate) async fn authenticate_by(
        &self,
        by: Instant,
        path: &str,
        headers: &mut HeaderMap,
        peer: &Peer,
    ) -> Requester {
        let begun = Instant::now();
        let found = timeout_at(by, self.find(headers, peer)).await.unwrap_or(Err(Refusal::Late));
        self.conclude(path, headers, begun, found)
    }

    /// Who it is by what was found, which is counted. Credentials are of no use any more.
    fn conclude(
        &self,
        path: &str,
        headers: &mut HeaderMap,
        begun: Instant,
        found: Result<Option<Arc<User>>, Refusal>,
    ) -> Requester {
        headers.remove(AUTHORIZATION);
        self.request_header.load().strip(headers);
        let (requester, refusal) = match found {
            Ok(Some(user)) => (Requester::User(user), Attempt::Failure),
            Ok(None) => (self.without_credential(path), Attempt::Failure),
            Err(Refusal::Bad) => (Requester::Refused, Attempt::Error),
            Err(Refusal::Undecided) => (Requester::Undecided, Attempt::Error),
            Err(Refusal::Late) => (Requester::Late, Attempt::Error),
        };
        let attempt = match requester.user() {
            Some(user) => {
                self.metrics.found(&user.name);
                Attempt::Success
            }
            None => refusal,
        };
        self.metrics.attempted(attempt, begun.elapsed());
        requester
    }

    /// Whether a connection is a front proxy's, whose word on where requests come from is believed.
    pub(crate) fn is_front_proxy(&self, peer: &Peer) -> bool {
        let finding = certificate::find(&self.tls, &self.request_header, &*self.clock, peer);
        matches!(finding.proxy, Verdict::Verified(()))
    }

    /// Where it is counted.
    pub(crate) fn metrics(&self) -> &Arc<AuthenticationMetrics> {
        &self.metrics
    }

    fn without_credential(&self, path: &str) -> Requester {
        let anonymous = || Requester::User(Arc::new(identity::anonymous()));
        match &**self.anonymous.load() {
            Anonymous::Off => Requester::Refused,
            Anonymous::Everywhere => anonymous(),
            Anonymous::Paths(paths) if paths.iter().any(|allowed| allowed == path) => anonymous(),
            Anonymous::Paths(_) => Requester::Nobody,
        }
    }

    /// Ends when the certificate of a connection no longer says what it says now: what its client began may not go on.
    pub(crate) async fn doubts(self: Arc<Self>, peer: Arc<Peer>) {
        let mut generations = self.tls.generations();
        let find = || certificate::find(&self.tls, &self.request_header, &*self.clock, &peer);
        let first = find();
        let mut last = first.clone();
        while last.says(&first) {
            let expiry = last.lasts(&*self.clock);
            tokio::select! {
                () = tokio::time::sleep(expiry) => {}
                changed = generations.changed() => if changed.is_err() { return },
            }
            last = find();
        }
    }

    /// The union: a user, or a refusal if there is none and any method refused.
    async fn find(&self, headers: &mut HeaderMap, peer: &Peer) -> Result<Option<Arc<User>>, Refusal> {
        let finding = certificate::find(&self.tls, &self.request_header, &*self.clock, peer);
        let mut refusal = None;
        let bad = Some(Refusal::Bad);
        match &finding.proxy {
            Verdict::Verified(()) => match self.request_header.load().user(headers) {
                Ok(Some(user)) => return Ok(Some(Arc::new(identity::known(user)))),
                Ok(None) => {}
                Err(error) => {
                    tracing::info!(peer = %peer.address(), %error, "a request was refused");
                    refusal = bad;
                }
            },
            Verdict::Refused => refusal = bad,
            Verdict::Silent => {}
        }
        match &finding.user {
            Verdict::Verified(user) => return Ok(Some(user.clone())),
            Verdict::Refused => refusal = bad,
            Verdict::Silent => {}
        }
        if let Some(token) = bearer::token(headers) {
            match self.user_of(&token, peer).await {
                Ok(user) => return Ok(Some(user)),
                Err(why) => refusal = refusal.max(Some(why)),
            }
        }
        match websocket::token(headers) {
            Ok(None) => {}
            Ok(Some(protocols)) => match self.user_of(&protocols.token, peer).await {
                Ok(user) => {
                    protocols.strip(headers);
                    return Ok(Some(user));
                }
                Err(why) => refusal = refusal.max(Some(why)),
            },
            Err(error) => {
                tracing::info!(peer = %peer.address(), %error, "a token was refused");
                refusal = refusal.max(bad);
            }
        }
        refusal.map_or(Ok(None), Err)
    }

    async fn user_of(&self, token: &Token, peer: &Peer) -> Result<Arc<User>, Refusal> {
        match self.owner_of(token, peer).await {
            Ok(Some(user)) => Ok(user),
            Ok(None) => {
                tracing::debug!(peer = %peer.address(), "a token is not known");
                Err(Refusal::Bad)
            }
            Err(TokenCacheError::TooMany) => {
                tracing::info!(peer = %peer.address(), "a token was not looked up: too many are");
                Err(Refusal::Undecided)
            }
            Err(TokenCacheError::Refused(error)) => {
                tracing::info!(peer = %peer.address(), %error, "a token was refused");
                Err(Refusal::Bad)
            }
        }
    }

    async fn owner_of(&self, token: &Token, peer: &Peer) -> Result<Option<Arc<User>>, TokenCacheError> {
        check_length(token)?;
        let refusal = match self.revocable_tokens.authenticate(token).await {
            Ok(Some(user)) => return Ok(Some(Arc::new(identity::known(user)))),
            Ok(None) => None,
            Err(refusal) => Some(refusal),
        };
        match (self.tokens.authenticate(token, peer.address().ip()).await?, refusal) {
            (None, Some(refusal)) => Err(refusal.into()),
            (found, _) => Ok(found),
        }
    }
}

#[async_trait]
impl TokenReviewer for Authentication {
    async fn review(&self, token: &str, audiences: &[String]) -> Result<Option<TokenOwner>, TokenReviewError> {
        let (token, audiences) = (Token::new(token), Audiences { wanted: audiences, own: &self.audiences });
        let review = async {
            check_length(&token)?;
            let revocable = self.revocable_tokens.authenticate_for(&token, &audiences).await;
            match revocable {
                Ok(Some(owner)) => Ok(Some(owner)),
                Ok(None) => self.tokens.authenticator().authenticate_for(&token, &audiences).await,
                Err(refusal) => match self.tokens.authenticator().authenticate_for(&token, &audiences).await {
                    Ok(None) => Err(refusal),
                    other => other,
                },
            }
        };
        let owner = review.await.map_err(|error| TokenReviewError(error.0))?;
        Ok(owner.map(|owner| TokenOwner { user: identity::known(owner.user), ..owner }))
    }
}

fn check_length(token: &Token) -> Result<(), TokenError> {
    if token.expose().len() <= MAX_TOKEN_BYTES {
        return Ok(());
    }
    Err(TokenError(format!("the token is longer than {MAX_TOKEN_BYTES} bytes")))
}
