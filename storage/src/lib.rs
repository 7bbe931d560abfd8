//! Where Bailiwick keeps its objects: one contract ([`Store`]), engines that fulfil it, and a cache in front of either.
//!
//! This crate moves bytes under keys. It knows no kinds and no JSON, and nothing of HTTP; what a cache should index is
//! told to it by a function it is handed.

pub mod cache;
mod clock;
pub mod embedded;
mod envelope;
mod error;
pub mod etcd;
mod fault;
mod key;
mod limits;
mod metrics;
mod retention;
mod revision;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod tree;
mod txn;

pub use clock::{Clock, MonotonicClock};
pub use envelope::EnvelopeError;
pub use error::{Conflict, CorruptFault, Error, Result};
pub use fault::{Fault, Faults};
pub use key::{Key, KeyError, Ledger, MAX_KEY_BYTES, MAX_SEGMENT_BYTES, MAX_SEGMENTS, Prefix, Resource, SegmentFault};
pub use limits::{MAX_TXN_BYTES, MAX_TXN_OPERATIONS, MAX_VALUE_BYTES};
pub use metrics::Metrics;
pub use revision::Revision;
pub use store::{At, Batch, Change, Damaged, Event, ListOptions, Lookup, Page, Record, Store, Values, Watch};
pub use txn::{Expected, Guard, InvalidTxn, Txn};
