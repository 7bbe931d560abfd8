//! Tokens that issuers sign: JSON Web Tokens, as OpenID Connect has them.
//!
//! A token names its issuer; only that issuer's keys and rules are asked. What a token says about how it is to be verified
//! (`alg`, `kid`) chooses among what the issuer publishes and is configured for, and everything else it says about that
//! (`jku`, `x5u`, `x5c`) is passed over. Claims that another service holds (distributed claims) are not fetched:
//! a token whose groups are such a claim is refused.

mod algorithm;
mod claims;
mod compact;
mod fetch;
mod key_set;
mod key_source;
mod mapping;

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use bailiwick_registry::{Clock, User};
use serde_json::{Map, Value};

pub use self::algorithm::{Algorithms, UnsupportedAlgorithm};
pub use self::key_set::KeySet;

use self::claims::{ClaimError, Claims};
use self::compact::{Compact, CompactError};
use self::fetch::{FetchSetupError, Fetcher};
use self::key_set::Match;
use self::key_source::{KeySource, KeySourceError};
use self::mapping::{Mapping, MappingError};
use super::configuration::{Issuer, JwtConfiguration};
use super::token::{Token, TokenAuthenticator, TokenError};

/// How issuers are asked for their keys.
#[derive(Clone, Copy, Debug)]
pub struct JwtOptions {
    /// How often keys are fetched again: a key that was withdrawn is believed for no longer.
    pub refresh_every: Duration,
    /// How often at most keys are fetched because a token names one that is not known.
    pub unknown_key_every: Duration,
    /// How often an issuer is asked that has never answered where it is said to be.
    pub retry_every: Duration,
    /// How long an answer may take.
    pub fetch_timeout: Duration,
}

/// Knows the tokens of some issuers. Which ones, can be changed.
pub struct JwtAuthenticator {
    issuers: ArcSwap<Vec<JwtIssuer>>,
    options: JwtOptions,
    clock: Arc<dyn Clock>,
}

/// Why issuers cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum JwtSetupError {
    /// How they are reached.
    #[error("the issuer \"{issuer}\" cannot be set up: {problem}")]
    Fetch {
        /// Its URL.
        issuer: String,
        /// What is wrong.
        #[source]
        problem: FetchSetupError,
    },
}

/// One issuer: its keys, and what its tokens mean.
struct JwtIssuer {
    issuer: Issuer,
    algorithms: Algorithms,
    mapping: Mapping,
    keys: KeySource,
}

/// Why a token is refused.
#[derive(Debug, thiserror::Error)]
enum JwtError {
    #[error(transparent)]
    Compact(#[from] CompactError),
    #[error(transparent)]
    Keys(#[from] KeySourceError),
    #[error(transparent)]
    Claims(#[from] ClaimError),
    #[error(transparent)]
    Mapping(#[from] MappingError),
}

/// The issuer that a token names. Nothing has been verified.
pub(super) fn untrusted_issuer(token: &str) -> Option<String> {
    compact::untrusted_issuer(token)
}

/// What a token says that one of these keys signed; or why none did.
pub(super) fn verified_payload(
    token: &str,
    algorithms: &Algorithms,
    keys: &KeySet,
) -> Result<Map<String, Value>, String> {
    let token = Compact::parse(token, algorithms).map_err(|error| error.to_string())?;
    match keys.check(&token) {
        Match::Signed => compact::object("payload", &token.payload).map_err(|error| error.to_string()),
        Match::Forged => Err("invalid signature".to_owned()),
        Match::Unknown => Err("invalid signature, no keys found".to_owned()),
    }
}

// === impl JwtOptions ===

impl Default for JwtOptions {
    fn default() -> Self {
        Self {
            refresh_every: Duration::from_secs(30),
            unknown_key_every: Duration::from_secs(5),
            retry_every: Duration::from_secs(10),
            fetch_timeout: Duration::from_secs(10),
        }
    }
}

// === impl JwtAuthenticator ===

impl JwtAuthenticator {
    /// Knows nobody's tokens yet.
    pub fn new(options: JwtOptions, clock: Arc<dyn Clock>) -> Self {
        Self { issuers: ArcSwap::default(), options, clock }
    }

    /// From now on knows the tokens of these issuers, and no others. Keys that are known of them stay in use, until an issuer
    /// that is to be reached in another way has been.
    pub fn set_issuers(
        &self,
        configurations: &[JwtConfiguration],
        algorithms: &Algorithms,
    ) -> Result<(), JwtSetupError> {
        let old = self.issuers.load();
        let issuer = |configuration: &JwtConfiguration| {
            let same = old.iter().find(|old| old.issuer.url == configuration.issuer.url);
            let keys = match same {
                Some(same) if same.issuer.is_reached_like(&configuration.issuer) => same.keys.clone(),
                _ => {
                    let fetcher =
                        Fetcher::new(&configuration.issuer, self.options.fetch_timeout).map_err(|problem| {
                            JwtSetupError::Fetch { issuer: configuration.issuer.url.clone(), problem }
                        })?;
                    KeySource::follow(fetcher, same.and_then(|same| same.keys.known()), self.options)
                }
            };
            Ok(JwtIssuer::new(configuration, algorithms, keys))
        };
        let issuers = configurations.iter().map(issuer).collect::<Result<Vec<_>, _>>()?;
        self.issuers.store(Arc::new(issuers));
        Ok(())
    }

    /// From now on knows the tokens of this issuer, whose keys are known already.
    pub fn set_fixed(&self, configuration: &JwtConfiguration, algorithms: &Algorithms, keys: KeySet) {
        let issuer = JwtIssuer::new(configuration, algorithms, KeySource::fixed(keys));
        self.issuers.store(Arc::new(vec![issuer]));
    }

    fn now(&self) -> Duration {
        self.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// The issuers whose keys have not been fetched yet.
    pub fn waiting(&self) -> Vec<String> {
        let issuers = self.issuers.load();
        issuers.iter().filter(|issuer| !issuer.keys.is_ready()).map(|issuer| issuer.issuer.url.clone()).collect()
    }
}

#[async_trait]
impl TokenAuthenticator for JwtAuthenticator {
    async fn authenticate(&self, token: &Token) -> Result<Option<User>, TokenError> {
        let issuers = self.issuers.load_full();
        let Some(issuer) = issuer_of(&issuers, token) else { return Ok(None) };
        issuer.told(issuer.user(token.expose(), self.now()).await)
    }

    fn authenticate_at_once(&self, token: &Token) -> Option<Result<Option<User>, TokenError>> {
        let issuers = self.issuers.load();
        let Some(issuer) = issuer_of(&issuers, token) else { return Some(Ok(None)) };
        issuer.user_at_once(token.expose(), self.now()).map(|outcome| issuer.told(outcome))
    }
}

/// The issuer whose a token claims to be.
fn issuer_of<'i>(issuers: &'i [JwtIssuer], token: &Token) -> Option<&'i JwtIssuer> {
    let named = compact::untrusted_issuer(token.expose())?;
    issuers.iter().find(|issuer| issuer.is_named(&named))
}

// === impl JwtIssuer ===

impl JwtIssuer {
    fn new(configuration: &JwtConfiguration, algorithms: &Algorithms, keys: KeySource) -> Self {
        Self {
            issuer: configuration.issuer.clone(),
            algorithms: algorithms.clone(),
            mapping: Mapping::new(configuration),
            keys,
        }
    }

    fn is_named(&self, issuer: &str) -> bool {
        claims::is_issuer(issuer, &self.issuer.url)
    }

    async fn user(&self, token: &str, now: Duration) -> Result<User, JwtError> {
        let compact = Compact::parse(token, &self.algorithms)?;
        self.keys.verify(&compact).await?;
        self.claimed(&compact, now)
    }

    /// The same by the keys that are known; `None` if the issuer may have others.
    fn user_at_once(&self, token: &str, now: Duration) -> Option<Result<User, JwtError>> {
        let compact = match Compact::parse(token, &self.algorithms) {
            Ok(compact) => compact,
            Err(error) => return Some(Err(error.into())),
        };
        let verified = self.keys.verify_at_once(&compact)?;
        Some(verified.map_err(JwtError::from).and_then(|()| self.claimed(&compact, now)))
    }

    /// Whom the claims of a token that was verified mean.
    fn claimed(&self, token: &Compact<'_>, now: Duration) -> Result<User, JwtError> {
        let claims = Claims::parse(&token.payload)?;
        claims.check(&self.issuer, now)?;
        Ok(self.mapping.user(&claims)?)
    }

    fn told(&self, outcome: Result<User, JwtError>) -> Result<Option<User>, TokenError> {
        outcome.map(Some).map_err(|error| TokenError(format!("oidc: {error} (issuer \"{}\")", self.issuer.url)))
    }
}

#[cfg(test)]
mod tests;
