//! The watch cache: everything in the store, in memory, ready to serve.
//!
//! ```text
//! store ──watch──▶ feed (one task) ──▶ ring of events ──cursors──▶ watchers
//!                                 └──▶ snapshot ──────────────────▶ get, list
//! ```
//!
//! * Each object is encoded once, by the function the cache is handed, and shared by all who read it.
//! * Readers take the current [`Snapshot`] and never lock. A consistent read asks the store for its revision, together
//!   with all who ask at that moment, and waits until the cache has reached it.
//! * Watchers hold cursors into one ring. The ring is bounded; a watcher it has left behind is told that it expired.
//! * A list at an exact revision is served from memory as far as the ring reaches back, otherwise by the store.

mod audit;
mod core;
mod exact;
mod feed;
mod freshness;
mod object;
mod ring;
mod snapshot;
mod term;
mod watcher;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

pub use self::audit::{AuditOptions, OnDifference};
pub use self::object::{AsStored, Extract, Object, Undecodable};
pub use self::ring::{ObjectEvent, RingBound};
pub use self::snapshot::Snapshot;
pub use self::term::{Term, TermClass, Terms};
pub use self::watcher::{Delivery, Watcher};

use self::core::{Core, Maker};
use self::exact::PastStates;
use self::feed::{Feed, Remake};
use self::freshness::Freshness;
use self::term::Interner;
use crate::error::{CorruptFault, Error, Result};
use crate::fault::{Fault, Faults};
use crate::key::{Key, Prefix};
use crate::metrics::Metrics;
use crate::revision::Revision;
use crate::store::{At, Damaged, ListOptions, Lookup, Page, Record, Store, Values, Watch};
use crate::txn::Txn;

/// How many keys a walk over the whole store reads at once.
const PAGE: NonZeroUsize = NonZeroUsize::new(1_000).expect("1,000 is not zero");
/// How long a read waits for the cache to reach a revision.
const REACH_WAIT: Duration = Duration::from_secs(3);
/// How many ranges wait at most to be made again before whoever wants more has to wait.
const REMAKES: usize = 16;
/// How often the store is asked again how far it has come while someone waits.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// How a cache is set up.
#[derive(Clone)]
pub struct CacheOptions {
    /// What makes objects of stored bytes.
    pub extract: Arc<dyn Extract>,
    /// How much of the past is kept for watchers.
    pub ring: RingBound,
    /// How it is compared with the store.
    pub audit: AuditOptions,
    /// Receives measurements.
    pub metrics: Metrics,
    /// Mistakes to make, in tests.
    pub faults: Faults,
}

/// A store with everything in memory. Its values are what the extractor made of the stored ones.
pub struct Cache {
    inner: Arc<Inner>,
    tasks: [JoinHandle<()>; 2],
}

/// The states of a cache, for those who do not hold it.
#[derive(Clone)]
pub struct States(Arc<Inner>);

/// Objects of a list.
#[derive(Clone, Debug)]
pub struct ObjectPage {
    /// The revision the answer is true for. To go on, list with [`At::Exact`] of it, after the last object's key.
    pub revision: Revision,
    /// The objects, in key order.
    pub objects: Vec<Arc<Object>>,
    /// How many objects of the range follow.
    pub remaining: usize,
}

/// What the cache, its watchers and its tasks share.
struct Inner {
    store: Arc<dyn Store>,
    extract: Arc<dyn Extract>,
    core: Arc<Core>,
    freshness: Arc<Freshness>,
    past: PastStates,
    progress_wanted: Arc<Notify>,
    /// cache --what is to be made again--> feed
    remake_tx: mpsc::Sender<Remake>,
    faults: Faults,
}

// === impl CacheOptions ===

impl CacheOptions {
    /// The defaults, with the given extractor.
    pub fn new(extract: Arc<dyn Extract>) -> Self {
        Self {
            extract,
            ring: RingBound { events: 50_000, bytes: 64 << 20 },
            audit: AuditOptions::default(),
            metrics: Metrics::default(),
            faults: Faults::default(),
        }
    }
}

// === impl Cache ===

impl Cache {
    /// Fills a cache from the store and keeps it up to date from then on.
    pub async fn start(store: Arc<dyn Store>, options: CacheOptions) -> Result<Self> {
        let progress_wanted = Arc::<Notify>::default();
        let maker = Maker::new(options.extract.clone(), options.faults.clone());
        let (remake_tx, remake_rx) = mpsc::channel(REMAKES);
        let (bound, wanted) = (options.ring, progress_wanted.clone());
        let mut feed = Feed { store: store.clone(), maker, bound, progress_wanted: wanted, remake_rx };
        let (draft, watch) = feed.fill(Revision::ZERO).await?;
        let core = Arc::new(Core::new(draft, options.ring, options.metrics.cache));
        let feeding = tokio::spawn(feed.run(core.clone(), watch));
        let inner = Arc::new(Inner {
            freshness: Freshness::new(store.clone()),
            store,
            extract: options.extract,
            core,
            past: PastStates::default(),
            progress_wanted,
            remake_tx,
            faults: options.faults,
        });
        let auditing = tokio::spawn(audit::run(inner.clone(), options.audit));
        Ok(Self { inner, tasks: [feeding, auditing] })
    }

    /// The state of all objects. [`At::Exact`] works as far as the ring reaches back; beyond that it is
    /// [`Error::Expired`], and [`Cache::list_objects`] asks the store.
    pub async fn snapshot(&self, at: At) -> Result<Arc<Snapshot>> {
        self.inner.snapshot(at).await
    }

    /// The states of this cache.
    pub fn states(&self) -> States {
        States(self.inner.clone())
    }

    /// One object, and the revision for which the answer is true.
    pub async fn get_object(&self, key: &Key, at: At) -> Result<(Revision, Option<Arc<Object>>)> {
        match self.snapshot(at).await {
            Ok(snapshot) => Ok((snapshot.revision(), snapshot.get(key).cloned())),
            Err(Error::Expired { .. }) => {
                let found = self.inner.store.get(key, at).await?;
                let object = |record: Record| self.inner.object(record.key, record.revision, Ok(record.value));
                Ok((found.revision, found.record.map(object)))
            }
            Err(error) => Err(error),
        }
    }

    /// The newest value of a key as it is stored, which is not what the extractor makes of it.
    pub async fn get_stored(&self, key: &Key) -> Result<Option<Record>> {
        Ok(self.inner.store.get(key, At::Latest).await?.record)
    }

    /// The objects of a range. A damaged one is among them and tells so when its body is asked for.
    pub async fn list_objects(&self, prefix: &Prefix, options: &ListOptions) -> Result<ObjectPage> {
        match self.snapshot(options.at).await {
            Ok(snapshot) => Ok(page(&snapshot, prefix, options)),
            Err(Error::Expired { .. }) => self.inner.list_stored(prefix, options).await,
            Err(error) => Err(error),
        }
    }

    /// Follows the objects of a range after a revision.
    pub fn watch_objects(&self, prefix: &Prefix, after: Revision) -> Result<Watcher> {
        Watcher::new(self.inner.clone(), prefix.clone(), after)
    }

    /// Makes the objects of a range again of what is stored, after what the extractor does with them has changed. Done when it
    /// returns; after an error they are as they were.
    pub async fn remake(&self, range: &Prefix) -> Result<()> {
        let (done_tx, done_rx) = oneshot::channel();
        let remake = Remake { range: range.clone(), done_tx };
        self.inner.remake_tx.send(remake).await.map_err(|_| Error::Closed)?;
        done_rx.await.map_err(|_| Error::Closed)?
    }

    /// Compares the cache with the store now, and says how they differ.
    pub async fn audit(&self) -> Result<Option<String>> {
        audit::compare(&self.inner).await
    }
}

// === impl States ===

impl States {
    /// As [`Cache::snapshot`].
    pub async fn snapshot(&self, at: At) -> Result<Arc<Snapshot>> {
        self.0.snapshot(at).await
    }
}

#[async_trait]
impl Store for Cache {
    async fn revision(&self) -> Result<Revision> {
        self.inner.freshness.check().await
    }

    fn known_revision(&self) -> Option<Revision> {
        self.inner.store.known_revision()
    }

    async fn get(&self, key: &Key, at: At) -> Result<Lookup> {
        let (revision, object) = self.get_object(key, at).await?;
        Ok(Lookup { revision, record: object.map(|object| record(&object)).transpose()? })
    }

    async fn list(&self, prefix: &Prefix, options: ListOptions) -> Result<Page> {
        let found = self.list_objects(prefix, &options).await?;
        let (revision, remaining) = (found.revision, found.remaining);
        let mut page =
            Page { revision, records: Vec::with_capacity(found.objects.len()), remaining, damaged: Vec::new() };
        for object in found.objects {
            match object.fault() {
                _ if options.values == Values::Omitted => page.records.push(Record {
                    key: object.key().clone(),
                    revision: object.revision(),
                    value: Bytes::new(),
                }),
                Some(fault) if options.values == Values::Whole => page.damaged.push(Damaged {
                    key: object.key().clone(),
                    revision: object.revision(),
                    fault: fault.clone(),
                }),
                _ => page.records.push(record(&object)?),
            }
        }
        Ok(page)
    }

    async fn commit(&self, txn: Txn) -> Result<Revision> {
        self.inner.store.commit(txn).await
    }

    async fn watch(&self, prefix: &Prefix, after: Revision) -> Result<Box<dyn Watch>> {
        Ok(Box::new(self.watch_objects(prefix, after)?))
    }

    async fn compact(&self, oldest: Revision) -> Result<()> {
        self.inner.store.compact(oldest).await?;
        self.inner.core.forget(oldest);
        Ok(())
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.inner.core.close();
    }
}

// === impl Inner ===

impl Inner {
    async fn snapshot(&self, at: At) -> Result<Arc<Snapshot>> {
        match at {
            At::Any => Ok(self.core.snapshot()),
            At::Latest => self.reach_latest().await,
            At::NotOlderThan(revision) => self.reach(revision).await,
            At::Exact(revision) => {
                self.reach(revision).await?;
                let oldest = || self.core.ring().floor();
                let past = self.past.at(&self.core, revision);
                past.ok_or_else(|| Error::Expired { requested: revision, oldest: oldest() })
            }
        }
    }

    /// The state once it shows every write that was acknowledged before this was called.
    async fn reach_latest(&self) -> Result<Arc<Snapshot>> {
        if self.faults.is_set(Fault::StaleRead) {
            return Ok(self.core.snapshot());
        }
        let newest = self.freshness.check().await?;
        self.reach(newest).await.map_err(|error| match error {
            Error::FutureRevision { requested, current } => Error::Unavailable {
                reason: format!("the cache is at revision {current} and the store at {requested}; try again").into(),
            },
            other => other,
        })
    }

    /// The state once it is at least as new as `revision`.
    async fn reach(&self, revision: Revision) -> Result<Arc<Snapshot>> {
        let snapshot = self.core.snapshot();
        if snapshot.revision() >= revision {
            return Ok(snapshot);
        }
        let mut reached = self.core.reached();
        let waiting = async {
            loop {
                self.progress_wanted.notify_one();
                let arrived = reached.wait_for(|reached| reached.revision >= revision || reached.closed);
                if tokio::time::timeout(ASK_AGAIN, arrived).await.is_ok() {
                    return;
                }
            }
        };
        // Whether it was reached is seen below: a time-out and a closed cache look alike.
        let _ = tokio::time::timeout(REACH_WAIT, waiting).await;
        let snapshot = self.core.snapshot();
        if snapshot.revision() >= revision {
            Ok(snapshot)
        } else if self.core.reached().borrow().closed {
            Err(Error::Closed)
        } else {
            Err(Error::FutureRevision { requested: revision, current: snapshot.revision() })
        }
    }

    async fn list_stored(&self, prefix: &Prefix, options: &ListOptions) -> Result<ObjectPage> {
        let page = self.store.list(prefix, ListOptions { values: Values::Whole, ..options.clone() }).await?;
        let records = page.records.into_iter().map(|record| self.object(record.key, record.revision, Ok(record.value)));
        let damaged =
            page.damaged.into_iter().map(|damaged| self.object(damaged.key, damaged.revision, Err(damaged.fault)));
        let mut objects: Vec<_> = records.chain(damaged).collect();
        objects.sort_unstable_by(|a, b| a.key().cmp(b.key()));
        Ok(ObjectPage { revision: page.revision, objects, remaining: page.remaining })
    }

    /// An object that is not part of the cached state.
    fn object(&self, key: Key, revision: Revision, stored: Result<Bytes, CorruptFault>) -> Arc<Object> {
        Arc::new(Object::new(&*self.extract, &mut Interner::default(), key, revision, stored))
    }
}

fn page(snapshot: &Snapshot, prefix: &Prefix, options: &ListOptions) -> ObjectPage {
    let after = options.after.as_ref();
    let limit = options.limit.map_or(usize::MAX, NonZeroUsize::get);
    let objects: Vec<_> = snapshot.range(prefix, after).take(limit).cloned().collect();
    let remaining = match objects.last() {
        Some(last) if objects.len() == limit => snapshot.count(prefix, Some(last.key())),
        _ => 0,
    };
    ObjectPage { revision: snapshot.revision(), objects, remaining }
}

fn record(object: &Object) -> Result<Record> {
    Ok(Record { key: object.key().clone(), revision: object.revision(), value: object.body()?.clone() })
}
