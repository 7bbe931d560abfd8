//! An issuer's keys, kept as they are published.
//!
//! One task fetches them: at once, then every half a minute or so, and sooner when a token names a key that is not known,
//! though not for each of them. If the issuer cannot be reached, the keys that are known stay in use.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::JwtOptions;
use super::compact::Compact;
use super::fetch::Fetcher;
use super::key_set::{KeySet, Match};

/// The keys of one issuer. Cheap to clone; the last one takes the task with it.
#[derive(Clone)]
pub(super) struct KeySource {
    keys: Arc<ArcSwapOption<KeySet>>,
    refresh: Option<Arc<Refresh>>,
}

/// Why a signature is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeySourceError {
    #[error("authenticator not initialized: the issuer's keys have not been fetched yet")]
    NotReady,
    #[error("failed to verify signature: the issuer publishes no such key")]
    UnknownKey,
    #[error("failed to verify signature: the key that it names did not make it")]
    Forged,
}

/// How keys are asked for out of turn.
struct Refresh {
    wanted: Arc<Notify>,
    /// When the task last asked, and how often it has.
    asked: watch::Receiver<Option<Instant>>,
    options: JwtOptions,
    _task: AbortOnDropHandle<()>,
}

// === impl KeySource ===

impl KeySource {
    /// Keys that never change.
    pub(super) fn fixed(keys: KeySet) -> Self {
        Self { keys: Arc::new(ArcSwapOption::from_pointee(keys)), refresh: None }
    }

    /// The keys that the issuer publishes; until it has been reached, those that are known of it.
    pub(super) fn follow(fetcher: Fetcher, known: Option<Arc<KeySet>>, options: JwtOptions) -> Self {
        let keys = Arc::new(ArcSwapOption::new(known));
        let wanted = Arc::new(Notify::new());
        // keys' task --when it last asked--> those who wait for a key
        let (asked_tx, asked_rx) = watch::channel(None);
        let task = tokio::spawn(follow(fetcher, keys.clone(), wanted.clone(), asked_tx, options));
        let refresh = Refresh { wanted, asked: asked_rx, options, _task: AbortOnDropHandle::new(task) };
        Self { keys, refresh: Some(Arc::new(refresh)) }
    }

    /// The keys as they are now, if there are any.
    pub(super) fn known(&self) -> Option<Arc<KeySet>> {
        self.keys.load_full()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.keys.load().is_some()
    }

    /// Checks who signed a token. Waits for the issuer if the token names a key that may be new.
    pub(super) async fn verify(&self, token: &Compact<'_>) -> Result<(), KeySourceError> {
        if let Some(decided) = self.verify_at_once(token) {
            return decided;
        }
        if let Some(refresh) = &self.refresh {
            refresh.ask().await;
        }
        self.check(token)
    }

    /// The same by the keys that are known; `None` if the issuer may have others.
    pub(super) fn verify_at_once(&self, token: &Compact<'_>) -> Option<Result<(), KeySourceError>> {
        match self.check(token) {
            Err(KeySourceError::NotReady | KeySourceError::UnknownKey) if self.refresh.is_some() => None,
            decided => Some(decided),
        }
    }

    fn check(&self, token: &Compact<'_>) -> Result<(), KeySourceError> {
        match self.keys.load().as_ref().map(|keys| keys.check(token)) {
            None => Err(KeySourceError::NotReady),
            Some(Match::Signed) => Ok(()),
            Some(Match::Forged) => Err(KeySourceError::Forged),
            Some(Match::Unknown) => Err(KeySourceError::UnknownKey),
        }
    }
}

// === impl Refresh ===

impl Refresh {
    /// Has the issuer asked, and waits for its answer; not if it was asked a moment ago.
    async fn ask(&self) {
        let mut asked = self.asked.clone();
        let last = *asked.borrow_and_update();
        self.wanted.notify_one();
        if last.is_some_and(|last| last.elapsed() < self.options.unknown_key_every) {
            return;
        }
        // Two answers, where the keys are and the keys, and a moment for the task to notice.
        let limit = 2 * self.options.fetch_timeout + Duration::from_secs(1);
        let _ = timeout(limit, asked.changed()).await;
    }
}

async fn follow(
    mut fetcher: Fetcher,
    keys: Arc<ArcSwapOption<KeySet>>,
    wanted: Arc<Notify>,
    asked: watch::Sender<Option<Instant>>,
    options: JwtOptions,
) {
    let mut was_reached = false;
    loop {
        match fetcher.fetch().await {
            Ok(found) => {
                if !std::mem::replace(&mut was_reached, true) {
                    tracing::info!(issuer = fetcher.issuer(), keys = found.len(), "fetched the keys of an issuer");
                }
                keys.store(Some(Arc::new(found)));
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(issuer = fetcher.issuer(), error, "cannot fetch the keys of an issuer: known ones stay");
            }
        }
        let now = Instant::now();
        let _ = asked.send(Some(now));
        let pause = if was_reached { options.refresh_every } else { options.retry_every };
        sleep_until(now + options.unknown_key_every.min(pause)).await;
        tokio::select! {
            () = sleep_until(now + pause) => {}
            () = wanted.notified() => {}
        }
    }
}
