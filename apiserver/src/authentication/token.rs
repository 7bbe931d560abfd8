//! Tokens, and who knows what they are worth.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_registry::User;

/// The longest token that is looked at. The largest in use, with hundreds of groups, have about 10 KiB.
pub const MAX_TOKEN_BYTES: usize = 32 << 10;

/// A secret that proves who sends it. It cannot be printed, so that no log, error or audit can hold it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Who can be asked what a token is worth.
#[async_trait]
pub trait TokenAuthenticator: Send + Sync + 'static {
    /// Whose token it is; `None` if others may know it; an error if it is for this authenticator to judge, and bad.
    async fn authenticate(&self, token: &Token) -> Result<Option<User>, TokenError>;
}

/// Why a token is refused. For the log: clients are not told. It never holds the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TokenError(pub String);

/// Asks one after the other.
pub struct TokenAuthenticatorChain(Vec<Arc<dyn TokenAuthenticator>>);

// === impl Token ===

impl Token {
    /// The token that is written like this.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// How it is written: only for whoever checks it or passes it on.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

// === impl TokenAuthenticatorChain ===

impl TokenAuthenticatorChain {
    /// In this order.
    pub fn new(authenticators: Vec<Arc<dyn TokenAuthenticator>>) -> Self {
        Self(authenticators)
    }
}

#[async_trait]
impl TokenAuthenticator for TokenAuthenticatorChain {
    /// The first who knows the token counts, also behind one who refuses it: two may share an issuer's name. If nobody
    /// knows it, a refusal is the answer.
    async fn authenticate(&self, token: &Token) -> Result<Option<User>, TokenError> {
        let mut refusals = Vec::new();
        for authenticator in &self.0 {
            match authenticator.authenticate(token).await {
                Ok(Some(user)) => return Ok(Some(user)),
                Ok(None) => {}
                Err(refusal) => refusals.push(refusal.0),
            }
        }
        if refusals.is_empty() { Ok(None) } else { Err(TokenError(refusals.join(", "))) }
    }
}
