//! What a store should hold: every write that was acknowledged, by revision.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::store::{Change, Event, Record};
use crate::txn::Txn;

/// The history of a store, from which its state at any revision follows.
#[derive(Clone, Debug, Default)]
pub struct Model {
    log: BTreeMap<Revision, BTreeMap<Key, Option<Bytes>>>,
}

impl Model {
    /// Adds a transaction that was acknowledged with `revision`. Panics if another one was, too.
    pub fn record(&mut self, revision: Revision, txn: &Txn) {
        let writes = txn.writes.iter().map(|write| (write.key.clone(), write.value.clone())).collect();
        assert!(self.log.insert(revision, writes).is_none(), "revision {revision} was given out twice");
    }

    /// The revisions of all writes, in order.
    pub fn revisions(&self) -> Vec<Revision> {
        self.log.keys().copied().collect()
    }

    /// The revision of the last write; zero if there was none.
    pub fn newest(&self) -> Revision {
        self.log.keys().next_back().copied().unwrap_or_default()
    }

    /// What a list of `prefix` shows as of `at`.
    pub fn state(&self, prefix: &Prefix, at: Revision) -> Vec<Record> {
        let mut state = BTreeMap::new();
        for (revision, key, value) in self.writes(prefix).filter(|(revision, ..)| *revision <= at) {
            match value {
                Some(value) => state.insert(key, Record { key: key.clone(), revision, value: value.clone() }),
                None => state.remove(key),
            };
        }
        state.into_values().collect()
    }

    /// What a get of `key` shows as of `at`.
    pub fn get(&self, key: &Key, at: Revision) -> Option<Record> {
        self.state(&Prefix::everything(), at).into_iter().find(|record| record.key == *key)
    }

    /// When `key` was last written; none if it does not exist.
    pub fn written(&self, key: &Key) -> Option<Revision> {
        let last = self.log.iter().rev().find_map(|(revision, writes)| Some((*revision, writes.get(key)?)));
        last.and_then(|(revision, value)| value.as_ref().map(|_| revision))
    }

    /// What a watch of `prefix` after `after` delivers, each revision's changes in the order of their keys.
    pub fn events(&self, prefix: &Prefix, after: Revision) -> Vec<Event> {
        self.writes(prefix)
            .filter(|(revision, ..)| *revision > after)
            .map(|(revision, key, value)| Event {
                revision,
                key: key.clone(),
                change: value.clone().map_or(Change::Delete, Change::Put),
            })
            .collect()
    }

    fn writes(&self, prefix: &Prefix) -> impl Iterator<Item = (Revision, &Key, &Option<Bytes>)> {
        self.log
            .iter()
            .flat_map(|(revision, writes)| writes.iter().map(|(key, value)| (*revision, key, value)))
            .filter(move |(_, key, _)| prefix.contains(key))
    }
}
