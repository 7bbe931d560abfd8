//! What several decisions write together: one transaction, in which the later ones see what the earlier ones did.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_storage::cache::Snapshot;
use bailiwick_storage::{Expected, Key, Txn};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ledger::{expected, read, unreadable};
use crate::error::Result;

/// How many rows one transaction writes or relies on; storage takes a few more.
pub(super) const MAX_ROWS: usize = 96;
/// How many bytes they have together; storage takes some more.
const MAX_BYTES: usize = 1 << 20;

/// A state, and what is to change of it.
pub(super) struct Draft<'s> {
    pub(super) state: &'s Snapshot,
    changed: BTreeMap<Key, Option<Bytes>>,
    /// Which rows of the state must still be the same when it is written, whether they are there or not, and those that are.
    relied_on: BTreeSet<Key>,
    bytes: usize,
}

// === impl Draft ===

impl<'s> Draft<'s> {
    pub(super) fn of(state: &'s Snapshot) -> Self {
        Self { state, changed: BTreeMap::new(), relied_on: BTreeSet::new(), bytes: 0 }
    }

    /// Whether so many more rows may not fit. The first decision always does.
    pub(super) fn is_too_full_for(&self, rows: usize) -> bool {
        let count = self.relied_on.len();
        count > 0 && (count + rows > MAX_ROWS || self.bytes > MAX_BYTES / 2)
    }

    /// A row, where it does no harm if it is changed by others at the same time: they will be heard of.
    pub(super) fn read<T: DeserializeOwned>(&self, key: &Key) -> Result<Option<T>> {
        match self.changed.get(key) {
            None => read(self.state.get(key)),
            Some(None) => Ok(None),
            Some(Some(bytes)) => {
                serde_json::from_slice(bytes).map(Some).map_err(|error| unreadable(key, error.to_string()))
            }
        }
    }

    /// On the ground of this row something is decided: nothing is written if it is another one by then.
    pub(super) fn rely_on(&mut self, key: Key) {
        self.relied_on.insert(key);
    }

    pub(super) fn write(&mut self, key: Key, row: &impl Serialize) -> Result<()> {
        let bytes = serde_json::to_vec(row).map_err(|error| unreadable(&key, error.to_string()))?;
        self.bytes += bytes.len();
        self.relied_on.insert(key.clone());
        self.changed.insert(key, Some(bytes.into()));
        Ok(())
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.relied_on.insert(key.clone());
        self.changed.insert(key, None);
    }

    /// What was changed of the rows below a prefix, as it is now.
    pub(super) fn changed(&self) -> &BTreeMap<Key, Option<Bytes>> {
        &self.changed
    }

    /// Whether there is something to write.
    pub(super) fn writes(&self) -> bool {
        self.changed.iter().any(|(key, row)| row.is_some() || self.state.get(key).is_some())
    }

    /// Whether all that was relied on is the same in another state.
    pub(super) fn holds_in(&self, other: &Snapshot) -> bool {
        self.relied_on.iter().all(|key| expected(self.state, key) == expected(other, key))
    }

    /// The transaction, which takes place only if nobody has written what was relied on since; none if there is nothing to
    /// write.
    pub(super) fn into_txn(mut self) -> Option<Txn> {
        if !self.writes() {
            return None;
        }
        let mut txn = Txn::new();
        for key in self.relied_on {
            let (row, expected) = (self.changed.remove(&key), expected(self.state, &key));
            txn = match (row, expected) {
                (Some(Some(row)), Expected::At(seen)) => txn.update(key, row, seen),
                (Some(Some(row)), Expected::Absent) => txn.create(key, row),
                (Some(None), Expected::At(seen)) => txn.delete(key, seen),
                (Some(None), Expected::Absent) | (None, _) => txn.require(key, expected),
            };
        }
        Some(txn)
    }
}
