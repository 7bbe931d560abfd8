//! The cache's state and the one place where it changes. No I/O and no waiting: a task feeds it.
//!
//! A change goes into the ring first and is then published in a snapshot. A watcher that starts from a snapshot
//! therefore finds every event after it in the ring, and none before it.

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::object::{Extract, Object};
use super::ring::{News, ObjectEvent, Ring, RingBound};
use super::snapshot::Snapshot;
use super::term::Interner;
use crate::fault::{Fault, Faults};
use crate::key::Key;
use crate::metrics::CacheMetrics;
use crate::revision::Revision;
use crate::store::{Batch, Change};

/// What readers see.
pub(super) struct Core {
    snapshot: ArcSwap<Snapshot>,
    ring: RwLock<Ring>,
    /// core --revision reached--> readers that wait
    reached: watch::Sender<Reached>,
    metrics: CacheMetrics,
    /// In tests: what the cache and the store differ in.
    poison: OnceLock<String>,
}

/// How far the cache has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub(super) revision: Revision,
    pub(super) closed: bool,
}

/// A state in the making: the feeding task's own until it is published.
pub(super) struct Draft {
    pub(super) snapshot: Snapshot,
    pub(super) ring: Ring,
}

/// Makes events and objects of what the store tells. Held by the feeding task.
pub(super) struct Maker {
    extract: Arc<dyn Extract>,
    interner: Interner,
    faults: Faults,
}

// === impl Core ===

impl Core {
    pub(super) fn new(draft: Draft, bound: RingBound, metrics: CacheMetrics) -> Self {
        metrics.ring_events_bound.set(bound.events as u64);
        metrics.ring_bytes_bound.set(bound.bytes as u64);
        let reached = Reached { revision: draft.snapshot.revision(), closed: false };
        let core = Self {
            snapshot: ArcSwap::from_pointee(draft.snapshot),
            ring: RwLock::new(draft.ring),
            reached: watch::Sender::new(reached),
            metrics,
            poison: OnceLock::new(),
        };
        core.measure_all();
        core
    }

    #[allow(clippy::panic, reason = "only tests poison a cache, to fail at the first use after a difference was found")]
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        if let Some(difference) = self.poison.get() {
            panic!("{difference}");
        }
        self.snapshot.load_full()
    }

    pub(super) fn revision(&self) -> Revision {
        self.snapshot.load().revision()
    }

    pub(super) fn ring(&self) -> RwLockReadGuard<'_, Ring> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn reached(&self) -> watch::Receiver<Reached> {
        self.reached.subscribe()
    }

    pub(super) fn metrics(&self) -> &CacheMetrics {
        &self.metrics
    }

    /// Takes over what the store did next. Gives the news, for whoever tells it to the watchers.
    pub(super) fn apply(&self, maker: &mut Maker, batch: Batch) -> News {
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        let through = batch.through;
        let events = maker.apply(&mut snapshot, batch);
        for event in &events {
            self.measure(event);
        }
        let news = self.ring_mut().extend(events, through);
        self.publish(snapshot);
        news
    }

    /// Puts objects in the place of the same versions of them. Nothing has happened to them, so nobody is told.
    pub(super) fn remake(&self, objects: Vec<Arc<Object>>) {
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        for object in objects {
            if snapshot.get(object.key()).is_some_and(|found| found.revision() == object.revision()) {
                snapshot.put(object);
            }
        }
        self.publish(snapshot);
        self.measure_all();
    }

    /// Replaces everything. Watchers that were open have fallen off.
    pub(super) fn replace(&self, draft: Draft) {
        let news = self.ring_mut().replace(draft.ring);
        self.publish(draft.snapshot);
        news.spread();
        self.metrics.resets.inc();
        self.measure_all();
    }

    /// Forgets the events up to `oldest`.
    pub(super) fn forget(&self, oldest: Revision) {
        self.ring_mut().forget(oldest);
    }

    pub(super) fn poison(&self, difference: String) {
        // Only the first difference counts: later ones follow from it.
        let _ = self.poison.set(difference);
        let news = self.ring().everyone();
        news.spread();
    }

    /// Ends all waiting.
    pub(super) fn close(&self) {
        self.reached.send_modify(|reached| reached.closed = true);
        let news = self.ring().everyone();
        news.spread();
    }

    fn publish(&self, snapshot: Snapshot) {
        let revision = snapshot.revision();
        self.snapshot.store(Arc::new(snapshot));
        self.reached.send_modify(|reached| reached.revision = revision);
        self.metrics.revision.set(revision.get());
        let ring = self.ring();
        self.metrics.ring_events.set(ring.len() as u64);
        self.metrics.ring_bytes.set(ring.bytes() as u64);
    }

    pub(super) fn ring_mut(&self) -> RwLockWriteGuard<'_, Ring> {
        self.ring.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn measure(&self, event: &ObjectEvent) {
        if let Some(object) = &event.object {
            self.metrics.objects.inc();
            self.metrics.object_bytes.inc_by(object.body_bytes() as u64);
            self.metrics.damaged.inc_by(u64::from(object.fault().is_some()));
        }
        if let Some(previous) = &event.previous {
            self.metrics.objects.dec();
            self.metrics.object_bytes.dec_by(previous.body_bytes() as u64);
            self.metrics.damaged.dec_by(u64::from(previous.fault().is_some()));
        }
    }

    fn measure_all(&self) {
        let snapshot = self.snapshot.load();
        let damaged = snapshot.objects().filter(|object| object.fault().is_some()).count();
        let bytes: usize = snapshot.objects().map(|object| object.body_bytes()).sum();
        self.metrics.objects.set(snapshot.len() as u64);
        self.metrics.object_bytes.set(bytes as u64);
        self.metrics.damaged.set(damaged as u64);
    }
}

// === impl Draft ===

impl Draft {
    pub(super) fn apply(&mut self, maker: &mut Maker, batch: Batch) {
        let through = batch.through;
        let events = maker.apply(&mut self.snapshot, batch);
        // Nobody follows a ring that is not published.
        self.ring.extend(events, through).spread();
    }
}

// === impl Maker ===

impl Maker {
    pub(super) fn new(extract: Arc<dyn Extract>, faults: Faults) -> Self {
        Self { extract, interner: Interner::default(), faults }
    }

    pub(super) fn object(
        &mut self,
        key: Key,
        revision: Revision,
        stored: Result<bytes::Bytes, crate::error::CorruptFault>,
    ) -> Arc<Object> {
        Arc::new(Object::new(&*self.extract, &mut self.interner, key, revision, stored))
    }

    /// Brings a snapshot forward and says what that changed.
    fn apply(&mut self, snapshot: &mut Snapshot, batch: Batch) -> Vec<Arc<ObjectEvent>> {
        let mut events = Vec::with_capacity(batch.events.len());
        for event in batch.events {
            let (revision, stored) = match event.change {
                Change::Put(value) => (event.revision, Some(Ok(value))),
                Change::Corrupt(fault) => (event.revision, Some(Err(fault))),
                Change::Delete if self.faults.is_set(Fault::MissDelete) => continue,
                Change::Delete => (event.revision, None),
            };
            let (object, previous) = match stored {
                Some(stored) => {
                    let object = self.object(event.key, revision, stored);
                    let previous = snapshot.put(object.clone());
                    (Some(object), previous)
                }
                None => (None, snapshot.delete(&event.key)),
            };
            if object.is_some() || previous.is_some() {
                events.push(Arc::new(ObjectEvent { revision, object, previous }));
            }
        }
        snapshot.advance(batch.through);
        events
    }
}
