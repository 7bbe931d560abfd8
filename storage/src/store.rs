//! The contract: what every engine promises, and what the cache promises on top of either.
//!
//! * **Durable**: when [`Store::commit`] returns, the write survives a crash or a loss of power.
//! * **Linearizable**: a read at [`At::Latest`] sees every write that returned before the read began.
//! * **Ordered**: a [`Watch`] delivers every change after its start exactly once, in revision order, all changes of one
//!   revision together, and can be resumed from any revision it reported.
//! * **Honest**: what is no longer kept is [`Error::Expired`], never a gap.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use bytes::Bytes;

use crate::error::{CorruptFault, Result};
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::txn::Txn;

/// A versioned, watchable map from keys to bytes.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// The newest revision: everything committed before this call began is at or below it.
    async fn revision(&self) -> Result<Revision>;

    /// The newest revision, where the engine knows it without asking anyone.
    fn known_revision(&self) -> Option<Revision> {
        None
    }

    /// Reads one key.
    async fn get(&self, key: &Key, at: At) -> Result<Lookup>;

    /// Reads the keys of a range in their order.
    async fn list(&self, prefix: &Prefix, options: ListOptions) -> Result<Page>;

    /// Writes, if every expectation holds, and returns the revision of the writes.
    async fn commit(&self, txn: Txn) -> Result<Revision>;

    /// Follows a range: every change after the revision `after`. A revision that is still to come is waited for.
    async fn watch(&self, prefix: &Prefix, after: Revision) -> Result<Box<dyn Watch>>;

    /// Forgets history: afterwards nothing older than `oldest` can be read or watched from.
    async fn compact(&self, oldest: Revision) -> Result<()>;
}

/// A running watch.
#[async_trait]
pub trait Watch: Send {
    /// The next changes. May be dropped and called again without losing any. After an error the watch is over.
    async fn next(&mut self) -> Result<Batch>;

    /// Asks for a batch soon, without events if there are none, so that the caller learns how far it has come: at least
    /// as far as the store was when this was called.
    fn request_progress(&mut self);
}

/// Which state a read wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Whatever is at hand, however old.
    Any,
    /// The newest state.
    Latest,
    /// The newest state at hand, if it is at least this new; otherwise wait for it a little while.
    NotOlderThan(Revision),
    /// The state as of this revision.
    Exact(Revision),
}

/// How to list.
#[derive(Clone, Debug)]
pub struct ListOptions {
    /// Which state.
    pub at: At,
    /// Begin behind this key.
    pub after: Option<Key>,
    /// The most records to return.
    pub limit: Option<NonZeroUsize>,
    /// Which values it returns.
    pub values: Values,
}

/// Which values a list returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// All. If one is damaged the list fails: one that leaves something out without a word is worse than none.
    #[default]
    All,
    /// Those that are whole. The others are told apart in [`Page::damaged`].
    Whole,
    /// None: only keys and revisions. Damage is not looked for.
    Omitted,
}

/// A stored value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its key.
    pub key: Key,
    /// When it was last written.
    pub revision: Revision,
    /// The bytes.
    pub value: Bytes,
}

/// The answer to a get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The revision the answer is true for.
    pub revision: Revision,
    /// What was found.
    pub record: Option<Record>,
}

/// The answer to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The revision the answer is true for. To go on, list with [`At::Exact`] of it, after the last record's key.
    pub revision: Revision,
    /// What was found.
    pub records: Vec<Record>,
    /// How many records of the range follow those returned.
    pub remaining: usize,
    /// Keys whose values are damaged; only with [`Values::Whole`].
    pub damaged: Vec<Damaged>,
}

/// A key whose value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The key.
    pub key: Key,
    /// When it was last written.
    pub revision: Revision,
    /// What is wrong with the value.
    pub fault: CorruptFault,
}

/// Changes, in order. Afterwards every change up to and including `through` has been delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// How far the watch has come.
    pub through: Revision,
    /// The changes; none if this only tells how far the watch has come.
    pub events: Vec<Event>,
}

/// A change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub revision: Revision,
    /// Where.
    pub key: Key,
    /// What was written.
    pub change: Change,
}

/// What an event did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The key has this value now.
    Put(Bytes),
    /// The key is gone.
    Delete,
    /// The key was written, but what was written is damaged.
    Corrupt(CorruptFault),
}

// === impl ListOptions ===

impl ListOptions {
    /// Everything in the range, in the newest state.
    pub fn latest() -> Self {
        Self::at(At::Latest)
    }

    /// Everything in the range, in the state `at`.
    pub fn at(at: At) -> Self {
        Self { at, after: None, limit: None, values: Values::All }
    }

    /// No more than `limit` records.
    #[must_use]
    pub fn limit(mut self, limit: NonZeroUsize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Only what lies behind `key`.
    #[must_use]
    pub fn after(mut self, key: Key) -> Self {
        self.after = Some(key);
        self
    }
}
