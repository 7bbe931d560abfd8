//! States of the recent past, made by undoing what has happened since.
//!
//! The pages of one long list all want the same past state, so a few of them are kept. They hold nothing alive that the
//! ring does not hold as well: a state older than the ring's floor is let go.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::core::Core;
use super::snapshot::Snapshot;
use crate::revision::Revision;

/// How many past states are kept.
const KEPT: usize = 16;

/// Past states that were asked for lately, the latest last.
#[derive(Default)]
pub(super) struct PastStates(Mutex<VecDeque<Arc<Snapshot>>>);

impl PastStates {
    /// The state at `revision`, if the cache has passed it and the ring reaches back so far.
    pub(super) fn at(&self, core: &Core, revision: Revision) -> Option<Arc<Snapshot>> {
        let current = core.snapshot();
        if current.revision() == revision {
            return Some(current);
        }
        if current.revision() < revision {
            return None;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let floor = core.ring().floor();
        kept.retain(|past| past.revision() >= floor);
        if let Some(past) = kept.iter().find(|past| past.revision() == revision) {
            return Some(past.clone());
        }
        let since = core.ring().newest_down_to(revision).ok()?;
        let mut past = Snapshot::clone(&current);
        // The ring may already be ahead of the state that is undone here.
        since.iter().filter(|event| event.revision <= current.revision()).for_each(|event| past.undo(event));
        past.rewind(revision);
        let past = Arc::new(past);
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back(past.clone());
        Some(past)
    }
}
