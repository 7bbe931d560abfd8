//! Where Bailiwick keeps its objects: one contract ([`Store`]), engines that fulfil it, and a cache in front of either.
//!
//! This crate moves bytes under keys. It knows no kinds and no JSON, and nothing of HTTP; what a cache should index is
//! told to it by a function it is handed.
//!
//! ```
//! use std::sync::Arc;
//!
//! use bailiwick_storage::cache::{AsStored, Cache, CacheOptions};
//! use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
//! use bailiwick_storage::{At, Resource, Store, Txn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let temporary = tempfile::tempdir()?;
//! # let path = temporary.path();
//! let folder = Folder::take(path)?; // refuses a folder that is in use
//! let store = Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(folder))).await?);
//! let cache = Cache::start(store, CacheOptions::new(Arc::new(AsStored))).await?;
//!
//! let widgets = Resource::new("example.dev", "widgets")?;
//! let key = widgets.namespaced("default", "first")?;
//! let created = cache.commit(Txn::new().create(key.clone(), "hello")).await?; // durable when it returns
//! let snapshot = cache.snapshot(At::Latest).await?; // sees every acknowledged write
//! assert_eq!(snapshot.count(widgets.all(), None), 1);
//!
//! let mut watcher = cache.watch_objects(widgets.all(), created)?; // everything after, nothing twice
//! let deleted = cache.commit(Txn::new().delete(key, created)).await?;
//! assert_eq!(watcher.next().await?.events[0].revision, deleted);
//! # Ok(())
//! # }
//! ```

pub mod cache;
mod clock;
pub mod embedded;
mod envelope;
mod error;
pub mod etcd;
mod fault;
mod key;
mod limits;
mod measured;
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
pub use measured::Measured;
pub use metrics::Metrics;
pub use revision::Revision;
pub use store::{At, Batch, Change, Damaged, Event, ListOptions, Lookup, Page, Record, Store, Values, Watch};
pub use txn::{Expected, Guard, InvalidTxn, Txn};
