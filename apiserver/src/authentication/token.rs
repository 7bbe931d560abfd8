//! Tokens, and who knows what they are worth.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_registry::User;
use bailiwick_registry::kinds::TokenOwner;

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

    /// The same, if it can be said without waiting for anybody; `None` if not. Whoever has to ask others need not know this.
    fn authenticate_at_once(&self, _token: &Token) -> Option<Result<Option<User>, TokenError>> {
        None
    }

    /// The same for someone else who was shown the token, and for which of the audiences it is. Tokens that name no
    /// audience, or none of their issuer's choice, are for this server.
    async fn authenticate_for(
        &self,
        token: &Token,
        audiences: &Audiences<'_>,
    ) -> Result<Option<TokenOwner>, TokenError> {
        let shared = audiences.shared();
        if shared.is_empty() && !audiences.wanted.is_empty() {
            return Ok(None);
        }
        Ok(self.authenticate(token).await?.map(|user| TokenOwner { user, audiences: shared }))
    }
}

/// For whom a token is to be.
#[derive(Clone, Copy, Debug)]
pub struct Audiences<'a> {
    /// One of these; none means this server.
    pub wanted: &'a [String],
    /// What this server is called.
    pub own: &'a [String],
}

/// Why a token is refused. For the log: clients are not told. It never holds the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TokenError(pub String);

/// Asks one after the other.
#[derive(Default)]
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

// === impl Audiences ===

impl Audiences<'_> {
    /// Those that are wanted.
    pub fn target(&self) -> &[String] {
        if self.wanted.is_empty() { self.own } else { self.wanted }
    }

    /// Those that are wanted and mean this server.
    pub fn shared(&self) -> Vec<String> {
        self.own.iter().filter(|own| self.target().contains(own)).cloned().collect()
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

    fn authenticate_at_once(&self, token: &Token) -> Option<Result<Option<User>, TokenError>> {
        let mut refusals = Vec::new();
        for authenticator in &self.0 {
            match authenticator.authenticate_at_once(token)? {
                Ok(Some(user)) => return Some(Ok(Some(user))),
                Ok(None) => {}
                Err(refusal) => refusals.push(refusal.0),
            }
        }
        Some(if refusals.is_empty() { Ok(None) } else { Err(TokenError(refusals.join(", "))) })
    }

    async fn authenticate_for(
        &self,
        token: &Token,
        audiences: &Audiences<'_>,
    ) -> Result<Option<TokenOwner>, TokenError> {
        let mut refusals = Vec::new();
        for authenticator in &self.0 {
            match authenticator.authenticate_for(token, audiences).await {
                Ok(Some(owner)) => return Ok(Some(owner)),
                Ok(None) => {}
                Err(refusal) => refusals.push(refusal.0),
            }
        }
        if refusals.is_empty() { Ok(None) } else { Err(TokenError(refusals.join(", "))) }
    }
}

#[cfg(test)]
mod tests;
