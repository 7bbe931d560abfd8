//! Where things lie in etcd. Everything of one store is below its root, so that stores, and other programs, can share
//! an etcd:
//!
//! ```text
//! /<root>/meta         the store's identity
//! /<root>/compaction   whose turn it is to compact
//! /<root>/d/<key>      the data: objects and ledger rows
//! ```

use crate::key::{Key, KeyError, Prefix};

/// The longest root.
const MAX_ROOT_BYTES: usize = 256;

/// Why a text cannot be a store's root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the root {root:?} must be one or more names of ASCII letters, digits, '-', '_' and '.', with '/' between them, \
     no longer than {MAX_ROOT_BYTES} bytes, and none of them \"d\": choose another"
)]
pub struct InvalidRoot {
    /// The text.
    pub root: String,
}

/// The places of one store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// With the separator at its end.
    data: String,
    meta: String,
    compaction: String,
}

/// A range of etcd's keys; the end does not belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: Vec<u8>,
    pub(super) end: Vec<u8>,
}

// === impl Layout ===

impl Layout {
    pub(super) fn new(root: &str) -> Result<Self, InvalidRoot> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        // A root that ends in another's data would lie among its records.
        let is_name = |name: &str| !matches!(name, "" | "." | ".." | "d") && name.bytes().all(legal);
        if root.len() > MAX_ROOT_BYTES || !root.split('/').all(is_name) {
            return Err(InvalidRoot { root: root.to_owned() });
        }
        Ok(Self {
            data: format!("/{root}/d/"),
            meta: format!("/{root}/meta"),
            compaction: format!("/{root}/compaction"),
        })
    }

    /// Where the store's identity lies.
    pub(super) fn meta(&self) -> &str {
        &self.meta
    }

    /// Where the turns of compaction are counted.
    pub(super) fn compaction(&self) -> &str {
        &self.compaction
    }

    /// Where a key's value lies.
    pub(super) fn place(&self, key: &Key) -> String {
        format!("{}{key}", self.data)
    }

    /// Where the values of a range lie.
    pub(super) fn range(&self, prefix: &Prefix) -> Range {
        let start = format!("{}{prefix}", self.data).into_bytes();
        // The last byte is the separator, and `0` is the byte that follows it.
        let mut end = start.clone();
        end.pop();
        end.push(b'0');
        Range { start, end }
    }

    /// The key whose value lies at `place`.
    pub(super) fn key(&self, place: &[u8]) -> Result<Key, KeyError> {
        Key::from_stored(place.strip_prefix(self.data.as_bytes()).unwrap_or_default())
    }
}

// === impl Range ===

impl Range {
    /// Only what lies behind `place`.
    pub(super) fn behind(&mut self, place: &[u8]) {
        let mut next = place.to_vec();
        next.push(0);
        if next > self.start {
            self.start = next;
        }
    }
}

#[cfg(test)]
mod tests;
