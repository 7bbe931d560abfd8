//! What tokens were found to be worth, remembered for a little while.
//!
//! Tokens are remembered under a keyed hash: whoever reads this memory finds no token, and whoever chooses tokens cannot
//! choose where they land. Known tokens and unknown ones are remembered apart, so that a flood of invented tokens displaces
//! only other invented ones. Refusals are not remembered: a key that was not there a moment ago may be there now.
//!
//! Look-ups have seats in a [`Room`], on account of where a token comes from: nobody is known yet. So whoever invents tokens,
//! while it takes long to find out that nobody knows them, leaves seats for others.

pub(crate) mod generations;

use std::any::Any;
use std::collections::HashMap;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bailiwick_registry::User;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use self::generations::Generations;
use super::identity;
use super::token::{MAX_TOKEN_BYTES, Token, TokenAuthenticator, TokenError};
use crate::limits::{Room, Seat, TooMany, network};
use crate::metrics::{Memory, TokenCacheMetrics};

/// How a cache behaves.
#[derive(Clone, Copy, Debug)]
pub struct TokenCacheOptions {
    /// How long it is remembered whose a token is.
    pub known_for: Duration,
    /// How long it is remembered that nobody knows a token.
    pub unknown_for: Duration,
    /// How many tokens of each kind are remembered.
    pub max_tokens: usize,
    /// How many tokens are looked up at a time, of those about which nothing can be said at once.
    pub max_lookups: usize,
    /// How long a token waits to be looked up.
    pub patience: Duration,
    /// How long a look-up may take. It goes on when the client that began it has gone: others may wait for it.
    pub lookup_timeout: Duration,
}

/// Remembers what tokens are worth.
pub struct TokenCache {
    authenticator: Arc<dyn TokenAuthenticator>,
    options: TokenCacheOptions,
    salt: [u8; 32],
    state: Arc<Mutex<State>>,
    room: Arc<Room>,
    metrics: Arc<TokenCacheMetrics>,
}

/// Why it is not known whose a token is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenCacheError {
    /// It was not looked up. That says nothing about it.
    #[error("too many tokens are being looked up")]
    TooMany,
    /// It is refused.
    #[error(transparent)]
    Refused(#[from] TokenError),
}

type Key = [u8; 32];
type Outcome = Result<Option<Arc<User>>, TokenError>;
type Lookup = Shared<BoxFuture<'static, Outcome>>;
/// What an authenticator says, unless it panics.
type Asked = Result<Result<Option<User>, TokenError>, Box<dyn Any + Send>>;

struct State {
    known: Generations<Arc<User>>,
    unknown: Generations<()>,
    under_way: HashMap<Key, Lookup>,
}

/// What there is about a token.
enum Found {
    Remembered(Option<Arc<User>>),
    UnderWay(Lookup),
}

// === impl TokenCacheOptions ===

impl Default for TokenCacheOptions {
    fn default() -> Self {
        Self {
            known_for: Duration::from_secs(10),
            unknown_for: Duration::from_secs(10),
            max_tokens: 8_192,
            max_lookups: 1_000,
            patience: Duration::from_millis(500),
            lookup_timeout: Duration::from_secs(30),
        }
    }
}

// === impl TokenCache ===

impl TokenCache {
    /// Remembers what `authenticator` says.
    pub fn new(authenticator: Arc<dyn TokenAuthenticator>, options: TokenCacheOptions) -> Self {
        let mut salt = [0; 32];
        salt[..16].copy_from_slice(Uuid::new_v4().as_bytes());
        salt[16..].copy_from_slice(Uuid::new_v4().as_bytes());
        let state = State {
            known: Generations::new(options.max_tokens),
            unknown: Generations::new(options.max_tokens),
            under_way: HashMap::new(),
        };
        let room = Arc::new(Room::new(options.max_lookups, options.patience));
        Self { authenticator, options, salt, state: Arc::new(Mutex::new(state)), room, metrics: Arc::default() }
    }

    /// Whose token it is that came `from` there, with the groups that every user has; `None` if nobody knows it.
    pub async fn authenticate(&self, token: &Token, from: IpAddr) -> Result<Option<Arc<User>>, TokenCacheError> {
        if token.expose().len() > MAX_TOKEN_BYTES {
            return Err(TokenError(format!("the token is longer than {MAX_TOKEN_BYTES} bytes")).into());
        }
        let (key, begun) = (self.key(token), Instant::now());
        let found = lock(&self.state).find(&key, begun);
        let lookup = match found {
            Some(Found::Remembered(outcome)) => {
                self.metrics.answered(Memory::Hit, begun.elapsed());
                return Ok(outcome);
            }
            Some(Found::UnderWay(lookup)) => Some(lookup),
            None => None,
        };
        let _blocked = self.metrics.blocked.raise();
        let outcome = match lookup {
            Some(lookup) => lookup.await.map_err(TokenCacheError::from),
            None => self.look_up(key, token, from).await,
        };
        self.metrics.answered(Memory::Miss, begun.elapsed());
        outcome
    }

    /// Where it is counted.
    pub(super) fn metrics(&self) -> &Arc<TokenCacheMetrics> {
        &self.metrics
    }

    /// Who is asked about tokens that are not remembered.
    pub(super) fn authenticator(&self) -> &dyn TokenAuthenticator {
        &*self.authenticator
    }

    /// How many tokens are remembered.
    pub fn remembered(&self) -> usize {
        let state = lock(&self.state);
        state.known.len() + state.unknown.len()
    }

    fn key(&self, token: &Token) -> Key {
        Sha256::new().chain_update(self.salt).chain_update(token.expose()).finalize().into()
    }

    /// Looks a token up. What can be said at once, by a key that is known, needs no place among those who wait: while an
    /// issuer cannot be reached, whoever shows tokens of unknown keys would keep everyone out.
    async fn look_up(&self, key: Key, token: &Token, from: IpAddr) -> Result<Option<Arc<User>>, TokenCacheError> {
        let asking = AssertUnwindSafe(|| self.authenticator.authenticate_at_once(token));
        if let Some(asked) = catch_unwind(asking).transpose() {
            let outcome = judge(asked);
            self.metrics.fetched(outcome.is_ok());
            lock(&self.state).remember(key, &outcome, &self.options);
            return Ok(outcome?);
        }
        let lookup = {
            // Given back at once by who only waits for somebody else's look-up.
            let seat = self.room.enter(&network(from).to_string()).await;
            let seat = seat.map_err(|TooMany| TokenCacheError::TooMany)?;
            let mut state = lock(&self.state);
            // Someone else may have been faster.
            match state.find(&key, Instant::now()) {
                Some(Found::Remembered(user)) => return Ok(user),
                Some(Found::UnderWay(lookup)) => lookup,
                None => {
                    let lookup = self.begin(key, token.clone(), seat);
                    state.under_way.insert(key, lookup.clone());
                    lookup
                }
            }
        };
        Ok(lookup.await?)
    }

    /// Begins a look-up that does not depend on who waits for it.
    fn begin(&self, key: Key, token: Token, seat: Seat) -> Lookup {
        let (authenticator, state, options) = (self.authenticator.clone(), self.state.clone(), self.options);
        let metrics = self.metrics.clone();
        let task = tokio::spawn(async move {
            let _seat = seat;
            let _in_flight = metrics.in_flight.raise();
            let asking = AssertUnwindSafe(authenticator.authenticate(&token)).catch_unwind();
            let outcome = match timeout(options.lookup_timeout, asking).await {
                Ok(asked) => judge(asked),
                Err(_elapsed) => Err(TokenError(format!("looking up a token took over {:?}", options.lookup_timeout))),
            };
            metrics.fetched(outcome.is_ok());
            let mut state = lock(&state);
            state.under_way.remove(&key);
            state.remember(key, &outcome, &options);
            outcome
        });
        let ended = |_| Err(TokenError("looking up a token was ended".to_owned()));
        task.map(move |outcome| outcome.unwrap_or_else(ended)).boxed().shared()
    }
}

// === impl State ===

impl State {
    fn find(&mut self, key: &Key, now: Instant) -> Option<Found> {
        if let Some(user) = self.known.get(key, now) {
            return Some(Found::Remembered(Some(user)));
        }
        if self.unknown.get(key, now).is_some() {
            return Some(Found::Remembered(None));
        }
        self.under_way.get(key).cloned().map(Found::UnderWay)
    }

    fn remember(&mut self, key: Key, outcome: &Outcome, options: &TokenCacheOptions) {
        let now = Instant::now();
        match outcome {
            Ok(Some(user)) => self.known.insert(key, user.clone(), now + options.known_for),
            Ok(None) => self.unknown.insert(key, (), now + options.unknown_for),
            Err(_) => {}
        }
    }
}

/// What came of asking, with the groups that every user has.
fn judge(asked: Asked) -> Outcome {
    match asked {
        Ok(asked) => asked.map(|user| user.map(|user| Arc::new(identity::known(user)))),
        Err(_panic) => Err(TokenError("looking up a token panicked".to_owned())),
    }
}

/// The lock is held for a few look-ups in maps, never while waiting.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
