//! Compare and write: several keys at once, all or nothing.

use std::fmt;

use bytes::Bytes;

use crate::key::Key;
use crate::limits::{MAX_TXN_BYTES, MAX_TXN_OPERATIONS, MAX_VALUE_BYTES};
use crate::revision::Revision;

/// Writes that happen together, if every key still is as its writer saw it. Each write names what it expects, so that
/// a lost update cannot be written down.
///
/// A transaction writes at most one object of each resource: all its writes share one revision, and a watcher that
/// resumes after the first of two would never see the second. Ledger rows are not watched by clients and may be many.
#[derive(Clone, Debug, Default)]
pub struct Txn {
    pub(crate) guards: Vec<Guard>,
    pub(crate) writes: Vec<Write>,
}

/// A condition on one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The key.
    pub key: Key,
    /// What it must be like.
    pub expected: Expected,
}

/// What a key is expected to be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expected {
    /// It does not exist.
    Absent,
    /// It was last written at this revision.
    At(Revision),
}

/// A change of one key.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) key: Key,
    /// `None` deletes.
    pub(crate) value: Option<Bytes>,
}

/// Why a transaction is not even tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTxn {
    /// It would change nothing.
    #[error("the transaction writes nothing")]
    Empty,
    /// More than [`MAX_TXN_OPERATIONS`].
    #[error("the transaction has {operations} operations, more than the {MAX_TXN_OPERATIONS} allowed: split it")]
    TooManyOperations {
        /// How many it has.
        operations: usize,
    },
    /// Larger than [`MAX_TXN_BYTES`] in all.
    #[error("the transaction has {bytes} bytes, more than the {MAX_TXN_BYTES} allowed: split it")]
    TooManyBytes {
        /// How many it has.
        bytes: usize,
    },
    /// A value larger than [`MAX_VALUE_BYTES`].
    #[error("the value for {key} has {bytes} bytes, more than the {MAX_VALUE_BYTES} allowed: make it smaller")]
    ValueTooLarge {
        /// Where it was to go.
        key: Key,
        /// How large it is.
        bytes: usize,
    },
    /// One key written or checked twice.
    #[error("the transaction names {key} twice")]
    RepeatedKey {
        /// The key.
        key: Key,
    },
    /// Two objects of one resource written.
    #[error("the transaction writes two objects of one resource, {first} and {second}: use one transaction for each")]
    TwoObjectsOfOneResource {
        /// One of them.
        first: Key,
        /// The other.
        second: Key,
    },
}

// === impl Txn ===

impl Txn {
    /// A transaction that does nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a key that does not exist.
    #[must_use]
    pub fn create(self, key: Key, value: impl Into<Bytes>) -> Self {
        self.guarded(key, Expected::Absent, Some(value.into()))
    }

    /// Overwrites a key last written at `seen`.
    #[must_use]
    pub fn update(self, key: Key, value: impl Into<Bytes>, seen: Revision) -> Self {
        self.guarded(key, Expected::At(seen), Some(value.into()))
    }

    /// Deletes a key last written at `seen`.
    #[must_use]
    pub fn delete(self, key: Key, seen: Revision) -> Self {
        self.guarded(key, Expected::At(seen), None)
    }

    /// Checks a key without writing it.
    #[must_use]
    pub fn require(mut self, key: Key, expected: Expected) -> Self {
        self.guards.push(Guard { key, expected });
        self
    }

    /// The keys that it writes, which only one of several transactions at once can do.
    pub fn written(&self) -> impl Iterator<Item = &Key> {
        self.writes.iter().map(|write| &write.key)
    }

    /// Whether nothing but deletions is asked for: such a transaction is let through when space runs out.
    pub(crate) fn only_deletes(&self) -> bool {
        self.writes.iter().all(|write| write.value.is_none())
    }

    /// How many bytes of keys and values it carries.
    pub(crate) fn bytes(&self) -> usize {
        let guards: usize = self.guards.iter().map(|guard| guard.key.as_str().len()).sum();
        let writes: usize =
            self.writes.iter().map(|w| w.key.as_str().len() + w.value.as_ref().map_or(0, Bytes::len)).sum();
        guards + writes
    }

    /// Checks everything that does not depend on what is stored. Every engine calls it first.
    pub(crate) fn validate(&self) -> Result<(), InvalidTxn> {
        if self.writes.is_empty() {
            return Err(InvalidTxn::Empty);
        }
        if self.guards.len() > MAX_TXN_OPERATIONS {
            return Err(InvalidTxn::TooManyOperations { operations: self.guards.len() });
        }
        for write in &self.writes {
            let bytes = write.value.as_ref().map_or(0, Bytes::len);
            if bytes > MAX_VALUE_BYTES {
                return Err(InvalidTxn::ValueTooLarge { key: write.key.clone(), bytes });
            }
        }
        let bytes = self.bytes();
        if bytes > MAX_TXN_BYTES {
            return Err(InvalidTxn::TooManyBytes { bytes });
        }
        if let Some(key) = repeated(self.guards.iter().map(|guard| &guard.key)) {
            return Err(InvalidTxn::RepeatedKey { key: key.clone() });
        }
        self.check_one_object_per_resource()
    }

    fn check_one_object_per_resource(&self) -> Result<(), InvalidTxn> {
        let mut objects: Vec<(&str, &Key)> =
            self.writes.iter().filter_map(|w| Some((w.key.resource()?, &w.key))).collect();
        objects.sort_unstable();
        match objects.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            None => Ok(()),
            Some(pair) => {
                Err(InvalidTxn::TwoObjectsOfOneResource { first: pair[0].1.clone(), second: pair[1].1.clone() })
            }
        }
    }

    fn guarded(mut self, key: Key, expected: Expected, value: Option<Bytes>) -> Self {
        self.guards.push(Guard { key: key.clone(), expected });
        self.writes.push(Write { key, value });
        self
    }
}

// === impl Expected ===

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::At(revision) => write!(f, "at revision {revision}"),
        }
    }
}

fn repeated<'k>(keys: impl Iterator<Item = &'k Key>) -> Option<&'k Key> {
    let mut keys: Vec<_> = keys.collect();
    keys.sort_unstable();
    keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

#[cfg(test)]
mod tests;
