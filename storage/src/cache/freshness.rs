//! How new must a consistent read be? As new as the store is now; and however many readers ask at once, the store is
//! asked once.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::error::{Error, Result};
use crate::revision::Revision;
use crate::store::Store;

/// Shares revision checks between readers. A reader is only answered by a check that began after it asked, because a
/// write may have been acknowledged just before.
pub(super) struct Freshness {
    store: Arc<dyn Store>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// Whether a task is answering.
    answering: bool,
    readers: Vec<oneshot::Sender<Result<Revision>>>,
}

impl Freshness {
    pub(super) fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { store, waiting: Mutex::default() })
    }

    /// The store's revision, at some time after this was called.
    pub(super) async fn check(self: &Arc<Self>) -> Result<Revision> {
        if let Some(revision) = self.store.known_revision() {
            return Ok(revision);
        }
        let (tell, told) = oneshot::channel();
        let must_answer = {
            let mut waiting = self.lock();
            waiting.readers.push(tell);
            !std::mem::replace(&mut waiting.answering, true)
        };
        if must_answer {
            // A task of its own, so that a reader that gives up does not take the others with it.
            tokio::spawn(self.clone().answer());
        }
        told.await.map_err(|_| Error::Closed)?
    }

    /// Asks the store for as long as anyone waits.
    async fn answer(self: Arc<Self>) {
        loop {
            let readers = {
                let mut waiting = self.lock();
                if waiting.readers.is_empty() {
                    waiting.answering = false;
                    return;
                }
                std::mem::take(&mut waiting.readers)
            };
            let answer = self.store.revision().await;
            for reader in readers {
                // A reader that has gone does not matter.
                let _ = reader.send(answer.clone());
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
