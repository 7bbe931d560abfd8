//! The store's clock: one strictly increasing counter for all keys.

use std::fmt;

/// A point in the store's history. Each committed transaction gets the next one; none is ever used twice, also not
/// after a restart or a restore. It is what clients see as `resourceVersion`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(u64);

impl Revision {
    /// Before anything. No store is ever at it: to clients, version 0 means "any".
    pub const ZERO: Self = Self(0);

    /// Where a new store is before its first write.
    pub(crate) const FIRST: Self = Self(1);

    /// The revision with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The one that follows.
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
