//! Whether what is known here is what is stored: asked of the store when it matters, and remembered for a moment.
//!
//! A server that is cut off from its store goes on with what it knows. Whoever gives something away by that asks here first.
//! While many ask, nobody waits: the store is asked again before the last answer is too old. What is known of a cluster is asked
//! in the same way ([`Answers`]).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_storage::At;
use tokio::time::{Instant, timeout};

use crate::registry::Registry;

/// For how long an answer counts. It is the longest time for which something may be given that was taken away elsewhere.
const COUNTS: Duration = Duration::from_millis(700);
/// After which time the store is asked again, without anyone waiting.
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// How long someone waits for an answer, if there is none that counts.
const PATIENCE: Duration = Duration::from_millis(400);

/// What is stored, and may not be known here.
#[async_trait]
pub(super) trait Stored: Send + Sync + 'static {
    /// Whether everything is known here that was stored before this was called.
    async fn is_known(&self) -> bool;
}

/// Whether what is known here is what is stored.
#[derive(Default)]
pub(super) struct Currency {
    stored: OnceLock<Arc<dyn Stored>>,
    answers: Arc<Answers>,
    /// How many of those who follow what is stored have lost it.
    lost: AtomicUsize,
}

/// Whether something is so, as it was answered a moment ago.
#[derive(Default)]
pub(super) struct Answers {
    last: Mutex<Last>,
    is_asking: AtomicBool,
}

#[derive(Clone, Copy, Default)]
struct Last {
    /// When it was asked what was answered last.
    known: Option<Instant>,
    /// When there was no answer last.
    missed: Option<Instant>,
}

/// What one who follows says of itself.
#[derive(Default)]
pub(super) struct Standing {
    is_lost: bool,
}

// === impl Currency ===

impl Currency {
    /// Says who is to be asked. Who was said first stays.
    pub(super) fn set_stored(&self, stored: Arc<dyn Stored>) {
        let _ = self.stored.set(stored);
    }

    /// Whether nothing was stored that is not known here, except for a moment.
    pub(super) async fn is_current(&self) -> bool {
        let Some(stored) = self.stored.get() else { return false };
        if self.lost.load(Ordering::Relaxed) > 0 {
            return false;
        }
        let stored = stored.clone();
        self.answers.hold(|| async move { stored.is_known().await }).await
    }

    /// Takes note that one who follows has lost what is stored.
    pub(super) fn lose(&self, standing: &mut Standing) {
        if !std::mem::replace(&mut standing.is_lost, true) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes note that it has found it again.
    pub(super) fn find(&self, standing: &mut Standing) {
        if std::mem::take(&mut standing.is_lost) {
            self.lost.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl std::fmt::Debug for Currency {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Currency").finish_non_exhaustive()
    }
}

// === impl Answers ===

impl Answers {
    /// Whether it is so, by an answer that counts. The question is asked only if there is none, or soon will be none.
    pub(super) async fn hold<F>(self: &Arc<Self>, question: impl FnOnce() -> F) -> bool
    where
        F: Future<Output = bool> + Send + 'static,
    {
        let Last { known, missed } = self.last();
        let is_within = |time: Option<Instant>, limit| time.is_some_and(|time| time.elapsed() < limit);
        if is_within(known, ASK_AGAIN) {
            return true;
        }
        if is_within(known, COUNTS) {
            if !self.is_asking.swap(true, Ordering::Relaxed) {
                let (answers, question) = (self.clone(), question());
                tokio::spawn(async move {
                    answers.ask(question).await;
                    answers.is_asking.store(false, Ordering::Relaxed);
                });
            }
            return true;
        }
        // Whoever asks while nobody answers does not wait for what others have waited for in vain.
        !is_within(missed, ASK_AGAIN) && self.ask(question()).await
    }

    fn last(&self) -> Last {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, question: impl Future<Output = bool>) -> bool {
        let asked = Instant::now();
        let is_known = timeout(PATIENCE, question).await.unwrap_or(false);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match is_known {
            true => last.known = last.known.max(Some(asked)),
            false => last.missed = Some(Instant::now()),
        }
        is_known
    }
}

#[async_trait]
impl Stored for Registry {
    async fn is_known(&self) -> bool {
        self.cache().snapshot(At::Latest).await.is_ok()
    }
}

#[cfg(test)]
mod tests;
