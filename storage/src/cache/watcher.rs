//! A watch on the cache: a cursor into the ring. It queues nothing, so a slow watcher costs nobody anything; one that
//! the ring has left behind is told that it expired.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;

use super::Inner;
use super::core::Reached;
use super::ring::{ObjectEvent, Step};
use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::key::Prefix;
use crate::revision::Revision;
use crate::store::{Batch, Change, Event, Watch};

/// Follows the objects of a range.
pub struct Watcher {
    cache: Arc<Inner>,
    prefix: Prefix,
    /// The number of the next event to look at.
    cursor: u64,
    /// Events up to here are not delivered: the caller has them, or asked to start later.
    position: Revision,
    /// ring --there is something new in the range--> watcher; none once the watcher is being dropped
    news: Option<watch::Receiver<()>>,
    /// core --revision reached--> watcher, while it wants to know how far it has come
    reached: watch::Receiver<Reached>,
    progress_requested: bool,
}

/// What a watcher got: afterwards every event up to and including `through` has been delivered.
#[derive(Debug)]
pub struct Delivery {
    /// How far the watch has come.
    pub through: Revision,
    /// The events, in order; none if this only tells how far the watch has come.
    pub events: Vec<Arc<ObjectEvent>>,
}

// === impl Watcher ===

impl Watcher {
    pub(super) fn new(cache: Arc<Inner>, prefix: Prefix, after: Revision) -> Result<Self> {
        let followed = cache.core.ring_mut().follow(&prefix, after);
        let (cursor, news) =
            followed.map_err(|fell_off| Error::Expired { requested: after, oldest: fell_off.oldest })?;
        let reached = cache.core.reached();
        cache.core.metrics().watchers.inc();
        Ok(Self { cache, prefix, cursor, position: after, news: Some(news), reached, progress_requested: false })
    }

    /// Everything up to here has been delivered.
    pub fn position(&self) -> Revision {
        self.position
    }

    /// The next events. May be dropped and called again without losing any. After an error the watch is over.
    pub async fn next(&mut self) -> Result<Delivery> {
        // Events may be ready for long: without this, a task that reads nothing else would never give up its thread, and
        // could not be cancelled.
        tokio::task::coop::consume_budget().await;
        loop {
            // Marked as seen before looking: what comes after this line is noticed below.
            self.news.as_mut().ok_or(Error::Closed)?.mark_unchanged();
            let closed = self.reached.borrow().closed;
            let delivery = self.step()?;
            if !delivery.events.is_empty() {
                return Ok(delivery);
            }
            if self.progress_requested {
                let newest = self.cache.freshness.check().await?;
                if self.position >= newest {
                    self.progress_requested = false;
                    return Ok(delivery);
                }
                self.wait_for(newest).await?;
            } else if closed {
                return Err(Error::Closed);
            } else {
                self.news.as_mut().ok_or(Error::Closed)?.changed().await.map_err(|_| Error::Closed)?;
            }
        }
    }

    /// The state in which everything has happened that was delivered; perhaps a later one.
    pub async fn state(&self) -> Result<Arc<Snapshot>> {
        self.cache.reach(self.position).await
    }

    /// Asks for a delivery soon, also if nothing happens.
    pub fn request_progress(&mut self) {
        self.progress_requested = true;
    }

    /// Waits until the cache has come to `revision`.
    async fn wait_for(&mut self, revision: Revision) -> Result<()> {
        self.cache.progress_wanted.notify_one();
        let reached = self.reached.wait_for(|reached| reached.revision >= revision || reached.closed);
        let reached = reached.await.map_err(|_| Error::Closed)?;
        if reached.closed { Err(Error::Closed) } else { Ok(()) }
    }

    fn step(&mut self) -> Result<Delivery> {
        let Step { mut events, next, through } =
            self.cache.core.ring().read(self.cursor, &self.prefix).map_err(|fell_off| {
                self.cache.core.metrics().watchers_expired.inc();
                Error::Expired { requested: self.position, oldest: fell_off.oldest }
            })?;
        self.cursor = next;
        if events.first().is_some_and(|event| event.revision <= self.position) {
            events.retain(|event| event.revision > self.position);
        }
        self.position = self.position.max(through);
        Ok(Delivery { through: self.position, events })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.news = None;
        self.cache.core.ring_mut().unfollow(&self.prefix);
        self.cache.core.metrics().watchers.dec();
    }
}

#[async_trait]
impl Watch for Watcher {
    async fn next(&mut self) -> Result<Batch> {
        let delivery = Self::next(self).await?;
        Ok(Batch {
            through: delivery.through,
            events: delivery.events.iter().filter_map(|event| plain(event)).collect(),
        })
    }

    fn request_progress(&mut self) {
        Self::request_progress(self);
    }
}

fn plain(event: &ObjectEvent) -> Option<Event> {
    let change = match &event.object {
        None => Change::Delete,
        Some(object) => match object.fault() {
            None => Change::Put(object.body().ok()?.clone()),
            Some(fault) => Change::Corrupt(fault.clone()),
        },
    };
    Some(Event { revision: event.revision, key: event.key()?.clone(), change })
}
