//! A map from names whose copies share what has not changed.
//!
//! Copying one is a reference count for each shard, and a change copies the one shard that its name falls into. Shards stay
//! small, because there are more of them as there are more names.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// With more names than this to a shard, on average, there are to be more shards.
const FULL: usize = 64;
/// How many times as many.
const GROWTH: usize = 4;

type Shard<V> = Arc<HashMap<Arc<str>, V>>;

/// A map whose copies share what has not changed.
#[derive(Clone, Debug)]
pub(super) struct SharedMap<V> {
    /// As many as a power of two.
    shards: Vec<Shard<V>>,
    hasher: RandomState,
    len: usize,
}

// === impl SharedMap ===

impl<V> Default for SharedMap<V> {
    fn default() -> Self {
        Self { shards: vec![Arc::default()], hasher: RandomState::new(), len: 0 }
    }
}

impl<V: Clone> SharedMap<V> {
    pub(super) fn get(&self, name: &str) -> Option<&V> {
        self.shards.get(self.place(name))?.get(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn insert(&mut self, name: &str, value: V) -> Option<V> {
        let old = self.shard(name)?.insert(name.into(), value);
        if old.is_none() {
            self.len += 1;
            self.grow();
        }
        old
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<V> {
        self.get(name)?;
        let old = self.shard(name)?.remove(name);
        self.len -= usize::from(old.is_some());
        old
    }

    /// Changes the value of a name; an absent one is made first, and one that is empty afterwards goes.
    pub(super) fn edit(&mut self, name: &str, change: impl FnOnce(&mut V), is_empty: impl FnOnce(&V) -> bool)
    where
        V: Default,
    {
        let mut value = self.remove(name).unwrap_or_default();
        change(&mut value);
        if !is_empty(&value) {
            self.insert(name, value);
        }
    }

    fn place(&self, name: &str) -> usize {
        // The map inside a shard hashes anew, with keys of its own.
        usize::try_from(self.hasher.hash_one(name) % self.shards.len() as u64).unwrap_or_default()
    }

    fn shard(&mut self, name: &str) -> Option<&mut HashMap<Arc<str>, V>> {
        let place = self.place(name);
        self.shards.get_mut(place).map(Arc::make_mut)
    }

    fn grow(&mut self) {
        if self.len <= self.shards.len() * FULL {
            return;
        }
        let old = std::mem::take(&mut self.shards);
        self.shards = (0..old.len() * GROWTH).map(|_| Arc::default()).collect();
        for (name, value) in old.iter().flat_map(|shard| shard.iter()) {
            if let Some(shard) = self.shard(name) {
                shard.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
