//! A bounded map that forgets what was not asked for lately.
//!
//! There are two generations. New entries go into the young one; when that is half of what may be kept, it becomes the old
//! one, and the old one is dropped. What is found in the old one moves to the young one, so that an entry in use survives:
//!
//! ```text
//! most 4     a b | -        two entries: the young generation is full
//! insert c   c   | a b
//! get a      c a | b        a was asked for, and moves
//! insert d   d   | c a      b is forgotten
//! ```

use std::collections::HashMap;

use tokio::time::Instant;

/// A map of at most so many entries, each with an end.
pub(crate) struct Generations<V> {
    young: HashMap<[u8; 32], (V, Instant)>,
    old: HashMap<[u8; 32], (V, Instant)>,
    /// How many entries a generation may have.
    most: usize,
}

// === impl Generations ===

impl<V: Clone> Generations<V> {
    pub(crate) fn new(most: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), most: (most / 2).max(1) }
    }

    pub(crate) fn get(&mut self, key: &[u8; 32], now: Instant) -> Option<V> {
        if let Some((value, until)) = self.young.get(key) {
            return (now < *until).then(|| value.clone());
        }
        let (value, until) = self.old.remove(key)?;
        if now >= until {
            return None;
        }
        self.insert(*key, value.clone(), until);
        Some(value)
    }

    pub(crate) fn insert(&mut self, key: [u8; 32], value: V, until: Instant) {
        if self.young.len() >= self.most && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, (value, until));
    }

    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}
