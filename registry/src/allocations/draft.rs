//! What several decisions write together: one transaction, in which the later ones see what the earlier ones did.

use std::collections::BTreeMap;

use bailiwick_storage::cache::Snapshot;
use bailiwick_storage::{Key, Txn};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ledger::{read, unreadable};
use crate::error::Result;

/// How many rows one transaction writes; storage takes a few more.
pub(super) const MAX_ROWS: usize = 96;
/// How many bytes they have together; storage takes some more.
const MAX_BYTES: usize = 1 << 20;

/// A state, and what is to change of it.
pub(super) struct Draft<'s> {
    pub(super) state: &'s Snapshot,
    changed: BTreeMap<Key, Option<Bytes>>,
    bytes: usize,
}

// === impl Draft ===

impl<'s> Draft<'s> {
    pub(super) fn of(state: &'s Snapshot) -> Self {
        Self { state, changed: BTreeMap::new(), bytes: 0 }
    }

    /// Whether so many more rows may not fit. The first decision always does.
    pub(super) fn is_too_full_for(&self, rows: usize) -> bool {
        !self.changed.is_empty() && (self.changed.len() + rows > MAX_ROWS || self.bytes > MAX_BYTES / 2)
    }

    pub(super) fn read<T: DeserializeOwned>(&self, key: &Key) -> Result<Option<T>> {
        match self.changed.get(key) {
            None => read(self.state.get(key)),
            Some(None) => Ok(None),
            Some(Some(bytes)) => {
                serde_json::from_slice(bytes).map(Some).map_err(|error| unreadable(key, error.to_string()))
            }
        }
    }

    pub(super) fn write(&mut self, key: Key, row: &impl Serialize) -> Result<()> {
        let bytes = serde_json::to_vec(row).map_err(|error| unreadable(&key, error.to_string()))?;
        self.bytes += bytes.len();
        self.changed.insert(key, Some(bytes.into()));
        Ok(())
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.changed.insert(key, None);
    }

    /// What was changed of the rows below a prefix, as it is now.
    pub(super) fn changed(&self) -> &BTreeMap<Key, Option<Bytes>> {
        &self.changed
    }

    /// The transaction, which takes place only if nobody has written these rows since; none if there is nothing to write.
    pub(super) fn into_txn(self) -> Option<Txn> {
        let mut txn = Txn::new();
        let mut writes = false;
        for (key, row) in self.changed {
            let seen = self.state.get(&key).map(|row| row.revision());
            txn = match (row, seen) {
                (Some(row), Some(seen)) => txn.update(key, row, seen),
                (Some(row), None) => txn.create(key, row),
                (None, Some(seen)) => txn.delete(key, seen),
                (None, None) => continue,
            };
            writes = true;
        }
        writes.then_some(txn)
    }
}
