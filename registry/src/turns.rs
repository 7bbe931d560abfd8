//! Who writes next, where many write the same key at once.
//!
//! A transaction that loses a race is tried again; of hundreds that race for one row, each round only one wins, and the
//! unlucky would lose for ever. So whoever has lost waits in line for that key, and whoever comes while there is a line
//! stands at its end. Where nobody has lost there is no line, and nobody waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bailiwick_storage::Key;
use tokio::sync::{Mutex as Line, OwnedMutexGuard};

/// The lines there are.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    lines: Mutex<HashMap<Key, Waiting>>,
}

/// A line, and how many stand in it.
#[derive(Debug, Default)]
struct Waiting {
    line: Arc<Line<()>>,
    count: usize,
}

/// The right to write a key before all others in its line. It ends when this is dropped.
pub(crate) struct Turn<'t> {
    /// Before the place is given up, so that the line is not forgotten while someone holds its head.
    _held: OwnedMutexGuard<()>,
    place: Place<'t>,
}

/// A place in a line, also while it is waited in.
struct Place<'t> {
    turns: &'t Turns,
    key: Key,
}

// === impl Turns ===

impl Turns {
    /// The first of some keys for which there is a line.
    pub(crate) fn line_for<'k>(&self, mut keys: impl Iterator<Item = &'k Key>) -> Option<&'k Key> {
        let lines = self.lines();
        if lines.is_empty() { None } else { keys.find(|key| lines.contains_key(*key)) }
    }

    /// Waits in line for a key, if there is one.
    pub(crate) async fn join(&self, key: &Key) -> Option<Turn<'_>> {
        match self.line_for(std::iter::once(key)) {
            Some(key) => Some(self.wait(key.clone()).await),
            None => None,
        }
    }

    /// Waits in line for a key.
    pub(crate) async fn wait(&self, key: Key) -> Turn<'_> {
        let line = {
            let mut lines = self.lines();
            let waiting = lines.entry(key.clone()).or_default();
            waiting.count += 1;
            waiting.line.clone()
        };
        let place = Place { turns: self, key };
        Turn { _held: line.lock_owned().await, place }
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<Key, Waiting>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Turn ===

impl Turn<'_> {
    /// Whether it is the turn for a key.
    pub(crate) fn is_for(&self, key: &Key) -> bool {
        self.place.key == *key
    }
}

// === impl Place ===

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut lines = self.turns.lines();
        if let Some(waiting) = lines.get_mut(&self.key) {
            waiting.count -= 1;
            if waiting.count == 0 {
                lines.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
