//! Tokens of service accounts: signed here, and good for as long as their account and what they are bound to are there.
//!
//! Signatures are verified once for each token and remembered; what a token speaks of is looked up each time it is used, in
//! memory. So a token is void as soon as its account is.

mod claims;
mod documents;

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, UNIX_EPOCH};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_registry::kinds::{TokenIssueError, TokenIssuer, TokenOwner};
use bailiwick_registry::{Clock, Error, Registry, User};
use bailiwick_storage::At;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

pub use self::documents::OpenIdDocuments;
pub(crate) use self::documents::PATHS;

use self::claims::{Claims, Reference};
use super::jwt::{self, Algorithms, KeySet};
use super::token::{Audiences, Token, TokenAuthenticator, TokenError};
use super::token_cache::generations::Generations;

/// How many tokens are remembered whose signature was verified, and for how long.
const MAX_VERIFIED: usize = 8_192;
const VERIFIED_FOR: Duration = Duration::from_secs(600);
/// How far clocks may differ.
const LEEWAY: Duration = Duration::from_secs(60);

/// Signs tokens.
pub trait TokenSigner: Send + Sync + 'static {
    /// How it signs, as tokens name it: `ES256`.
    fn algorithm(&self) -> &str;

    /// The name of its key.
    fn key_id(&self) -> &str;

    /// The signature of a message, as tokens have it.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, TokenIssueError>;
}

/// What tokens of service accounts are made of.
pub struct ServiceAccountParts {
    /// Who issues tokens. The first signs new ones, those of the others are believed.
    pub issuers: Vec<String>,
    /// What this server is called in tokens.
    pub audiences: Vec<String>,
    /// What they are signed and verified with at first.
    pub keys: ServiceAccountKeys,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// What tokens of service accounts are signed and verified with.
pub struct ServiceAccountKeys {
    /// Who signs.
    pub signer: Box<dyn TokenSigner>,
    /// The keys that tokens are verified with.
    pub public: KeySet,
}

/// Issues and knows tokens of service accounts.
pub struct ServiceAccountTokens {
    issuers: Vec<String>,
    audiences: Vec<String>,
    clock: Arc<dyn Clock>,
    keys: ArcSwap<UsedKeys>,
    /// Whose kinds issue tokens by this.
    registry: OnceLock<Weak<Registry>>,
}

/// Keys, and which tokens they are known to have signed: that is forgotten with them.
struct UsedKeys {
    keys: ServiceAccountKeys,
    verified: Mutex<Generations<Arc<Claims>>>,
}

// === impl ServiceAccountTokens ===

impl ServiceAccountTokens {
    /// Knows no tokens until it knows where the accounts are.
    pub fn new(parts: ServiceAccountParts) -> Self {
        let ServiceAccountParts { issuers, audiences, keys, clock } = parts;
        let keys = ArcSwap::from_pointee(UsedKeys::new(keys));
        Self { issuers, audiences, clock, keys, registry: OnceLock::new() }
    }

    /// From now on signs and verifies tokens with these keys, and no others.
    pub fn set_keys(&self, keys: ServiceAccountKeys) {
        self.keys.store(Arc::new(UsedKeys::new(keys)));
    }

    /// Where the accounts are. Only the first one counts.
    pub fn look_in(&self, registry: &Arc<Registry>) {
        let _ = self.registry.set(Arc::downgrade(registry));
    }

    /// The claims of a token that one of our keys signed; none if it is someone else's.
    fn claims(&self, token: &str) -> Result<Option<Arc<Claims>>, TokenError> {
        let key: [u8; 32] = Sha256::digest(token).into();
        let used = self.keys.load();
        let lock = || used.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(claims) = lock().get(&key, Instant::now()) {
            return Ok(Some(claims));
        }
        let ours = jwt::untrusted_issuer(token).is_some_and(|issuer| self.issuers.contains(&issuer));
        if !ours {
            return Ok(None);
        }
        let payload = jwt::verified_payload(token, &Algorithms::all(), &used.keys.public).map_err(TokenError)?;
        let claims = Arc::new(Claims::read(&payload)?);
        lock().insert(key, claims.clone(), Instant::now() + VERIFIED_FOR);
        Ok(Some(claims))
    }

    async fn owner(&self, token: &Token, audiences: &Audiences<'_>) -> Result<Option<TokenOwner>, TokenError> {
        let Some(claims) = self.claims(token.expose())? else { return Ok(None) };
        let shared: Vec<String> =
            claims.audiences.iter().filter(|audience| audiences.target().contains(audience)).cloned().collect();
        if shared.is_empty() {
            let (found, wanted) = (&claims.audiences, audiences.target());
            return Err(TokenError(format!(
                "token audiences {found:?} is invalid for the target audiences {wanted:?}"
            )));
        }
        let now = self.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        claims.check_time(i64::try_from(now).unwrap_or(i64::MAX), LEEWAY)?;
        self.check_objects(&claims).await?;
        Ok(Some(TokenOwner { user: claims.user(), audiences: shared }))
    }

    /// What the token speaks of is there, and is what it was.
    async fn check_objects(&self, claims: &Claims) -> Result<(), TokenError> {
        let Reference { name, uid } = &claims.account;
        let account = self.find("serviceaccounts", &claims.namespace, name).await?;
        let account = account.ok_or_else(|| TokenError(format!("serviceaccounts \"{name}\" not found")))?;
        let found = account.metadata().uid();
        if found != uid {
            return Err(TokenError(format!("service account UID ({found}) does not match claim ({uid})")));
        }
        if account.metadata().deletion_timestamp().is_some() {
            return Err(TokenError(format!("service account {}/{name} has been deleted", claims.namespace)));
        }
        for (plural, kind, Reference { name, uid }) in claims.bound() {
            let invalidated = || TokenError("service account token has been invalidated".to_owned());
            let object = self.find(plural, &claims.namespace, name).await?.ok_or_else(invalidated)?;
            let found = object.metadata().uid();
            if found != uid {
                let why = format!("{kind} UID ({found}) does not match service account {kind} ref claim ({uid})");
                return Err(TokenError(why));
            }
            if object.metadata().deletion_timestamp().is_some() {
                return Err(invalidated());
            }
        }
        Ok(())
    }

    /// An object, from memory; what is not there yet is asked for.
    async fn find(&self, plural: &str, namespace: &str, name: &str) -> Result<Option<Object>, TokenError> {
        let Some(registry) = self.registry.get().and_then(Weak::upgrade) else { return Ok(None) };
        let Some(kind) = registry.find(&GroupVersion::new("", "v1"), plural) else { return Ok(None) };
        for at in [At::Any, At::Latest] {
            match registry.get(&kind, namespace, name, at).await {
                Ok(found) => return kind.read(&found).map(Some).map_err(|error| TokenError(error.to_string())),
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(TokenError(error.to_string())),
            }
        }
        Ok(None)
    }
}

#[async_trait]
impl TokenAuthenticator for ServiceAccountTokens {
    async fn authenticate(&self, token: &Token) -> Result<Option<User>, TokenError> {
        let audiences = Audiences { wanted: &[], own: &self.audiences };
        Ok(self.owner(token, &audiences).await?.map(|owner| owner.user))
    }

    async fn authenticate_for(
        &self,
        token: &Token,
        audiences: &Audiences<'_>,
    ) -> Result<Option<TokenOwner>, TokenError> {
        self.owner(token, audiences).await
    }
}

impl TokenIssuer for ServiceAccountTokens {
    fn audiences(&self) -> &[String] {
        &self.audiences
    }

    fn issue(&self, mut claims: Map<String, Value>) -> Result<String, TokenIssueError> {
        let issuer = self.issuers.first().cloned().unwrap_or_default();
        claims.insert("iss".to_owned(), issuer.into());
        let used = self.keys.load();
        let signer = &used.keys.signer;
        let header = json!({ "alg": signer.algorithm(), "kid": signer.key_id() });
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", encode(&header), encode(&Value::Object(claims)));
        let signature = URL_SAFE_NO_PAD.encode(signer.sign(message.as_bytes())?);
        Ok(format!("{message}.{signature}"))
    }
}

// === impl UsedKeys ===

impl UsedKeys {
    fn new(keys: ServiceAccountKeys) -> Self {
        Self { keys, verified: Mutex::new(Generations::new(MAX_VERIFIED)) }
    }
}

#[cfg(test)]
mod tests;
