//! What can go wrong with an operation on a store. Each variant is something a caller acts on differently.

use std::sync::Arc;

use crate::envelope::EnvelopeError;
use crate::key::Key;
use crate::revision::Revision;
use crate::txn::{Expected, InvalidTxn};

/// The result of a storage operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a storage operation failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A key was not as the transaction expected; nothing was written.
    #[error(transparent)]
    Conflict(Conflict),
    /// The transaction breaks a rule; nothing was written.
    #[error(transparent)]
    Invalid(#[from] InvalidTxn),
    /// The revision is older than what is kept.
    #[error("revision {requested} is no longer kept, the oldest is {oldest}: list again and watch from there")]
    Expired {
        /// The revision that was asked for.
        requested: Revision,
        /// The oldest that can be asked for.
        oldest: Revision,
    },
    /// The revision has not been reached.
    #[error("revision {requested} has not been reached, the newest is {current}")]
    FutureRevision {
        /// The revision that was asked for.
        requested: Revision,
        /// The newest one.
        current: Revision,
    },
    /// A stored value is damaged. Other keys are not affected.
    #[error("the value stored for {key} is damaged: {fault}; restore it from a snapshot or delete it")]
    Corrupt {
        /// The key, or where the value lies if its key cannot be read.
        key: String,
        /// What is wrong with it.
        fault: CorruptFault,
    },
    /// The engine cannot be reached or did not answer in time. Nothing was written; trying again is safe.
    #[error("the store cannot be reached: {reason}")]
    Unavailable {
        /// What happened.
        reason: Arc<str>,
    },
    /// The connection was lost while a write was under way: it may have happened, or not, or may still happen. Read
    /// before trying again, and do not take what was not found for what will never be there.
    #[error("the outcome of the write is not known: {reason}")]
    OutcomeUnknown {
        /// What happened.
        reason: Arc<str>,
    },
    /// The engine takes no writes for now; reads go on.
    #[error("the store is read-only: {reason}")]
    ReadOnly {
        /// Why, and what to do.
        reason: Arc<str>,
    },
    /// What answers is not the store that was opened. Going on would make objects seem to have vanished.
    #[error("the store was replaced by another: {reason}")]
    Replaced {
        /// How that shows, and what to do.
        reason: Arc<str>,
    },
    /// The store was shut down.
    #[error("the store is closed")]
    Closed,
}

/// A key that was not as expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} was expected to be {expected}, but it is {}", .actual.map_or(Expected::Absent, Expected::At))]
pub struct Conflict {
    /// The key.
    pub key: Key,
    /// What the transaction expected.
    pub expected: Expected,
    /// When it was last written; `None` if it does not exist.
    pub actual: Option<Revision>,
}

/// What is wrong with a stored value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CorruptFault {
    /// The envelope does not open.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The index names a record that is not there.
    #[error("it is missing")]
    Missing,
    /// It lies under a key that is not its own.
    #[error("it belongs to {0}")]
    WrongKey(Key),
    /// The bytes are whole but are no object.
    #[error("it cannot be decoded: {0}")]
    Undecodable(Arc<str>),
}
