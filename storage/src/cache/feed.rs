//! The task that keeps the cache up to date: it fills a state from the store, follows the store from there, and fills
//! it anew should the store have forgotten what comes next.
//!
//! A fill starts some way back in history and replays it, so that the ring already reaches back when the cache opens:
//! after a restart, clients resume their watches instead of listing everything again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use super::PAGE;
use super::core::{Core, Draft, Maker};
use super::object::Object;
use super::ring::{News, Ring, RingBound};
use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::key::Prefix;
use crate::revision::Revision;
use crate::store::{At, ListOptions, Store, Values, Watch};

/// How often a fill starts over because history was forgotten under it.
const FILL_ATTEMPTS: usize = 5;
/// How long to wait after a failure, at first and at most.
const BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// How long watchers are left alone for each that was just woken, and for all together at most. Waking one takes some
/// microseconds of its own and of whatever sends its events on, so this keeps it to a tenth of a processor or so.
const REST_FOR_EACH: Duration = Duration::from_micros(50);
const LONGEST_REST: Duration = Duration::from_millis(10);

/// What feeds a cache.
pub(super) struct Feed {
    pub(super) store: Arc<dyn Store>,
    pub(super) maker: Maker,
    pub(super) bound: RingBound,
    /// readers --someone waits for a revision--> feed
    pub(super) progress_wanted: Arc<Notify>,
    /// cache --what is to be made again--> feed
    pub(super) remake_rx: mpsc::Receiver<Remake>,
}

/// A range whose objects are to be made again, and whom to tell that they are.
pub(super) struct Remake {
    pub(super) range: Prefix,
    pub(super) done_tx: oneshot::Sender<Result<()>>,
}

impl Feed {
    /// A state that has caught up with the store, and the watch that goes on from there.
    pub(super) async fn fill(&mut self, at_least: Revision) -> Result<(Draft, Box<dyn Watch>)> {
        let mut attempt = 0;
        loop {
            match self.try_fill(at_least).await {
                Err(Error::Expired { .. }) if attempt < FILL_ATTEMPTS => attempt += 1,
                filled => return filled,
            }
        }
    }

    /// Follows the store until it is closed.
    pub(super) async fn run(mut self, core: Arc<Core>, mut watch: Box<dyn Watch>) {
        let mut backoff = BACKOFF;
        loop {
            let ended = self.follow(&core, &mut *watch, &mut backoff).await;
            let resumed = match ended {
                Error::Closed => break,
                Error::Expired { .. } => {
                    tracing::warn!("the store has forgotten what the cache needs next: filling it anew");
                    self.refill(&core).await
                }
                error => {
                    tracing::warn!(%error, "the cache lost its watch");
                    tokio::time::sleep(backoff).await;
                    backoff = (backoff * 2).min(MAX_BACKOFF);
                    self.store.watch(&Prefix::everything(), core.revision()).await
                }
            };
            match resumed {
                Ok(resumed) => watch = resumed,
                // The old watch is over: its next error leads here again.
                Err(Error::Closed) => break,
                Err(error) => watch = Box::new(Ended(error)),
            }
        }
        core.close();
    }

    async fn refill(&mut self, core: &Core) -> Result<Box<dyn Watch>> {
        // Never back in time: what has been shown stays shown.
        let (draft, watch) = self.fill(core.revision()).await?;
        core.replace(draft);
        Ok(watch)
    }

    async fn follow(&mut self, core: &Core, watch: &mut dyn Watch, backoff: &mut Duration) -> Error {
        let progress_wanted = self.progress_wanted.clone();
        let mut herald = Herald::new();
        loop {
            let batch = tokio::select! {
                batch = watch.next() => batch,
                () = progress_wanted.notified() => {
                    watch.request_progress();
                    continue;
                }
                () = herald.rest() => {
                    herald.tell();
                    continue;
                }
                Some(Remake { range, done_tx }) = self.remake_rx.recv() => {
                    let remade = self.remake(core, &range).await;
                    // Who does not wait any more need not be told.
                    let _ = done_tx.send(remade);
                    continue;
                }
            };
            match batch {
                Ok(batch) => {
                    *backoff = BACKOFF;
                    herald.hear(core.apply(&mut self.maker, batch));
                }
                Err(error) => {
                    herald.tell();
                    return error;
                }
            }
        }
    }

    /// Makes the objects of a range again, of what is stored: what is served has lost what was not served. Nothing else is taken
    /// over meanwhile, so the state stays the one whose objects are read.
    async fn remake(&mut self, core: &Core, range: &Prefix) -> Result<()> {
        let (_, objects) = self.read(range, At::Exact(core.revision())).await?;
        core.remake(objects);
        Ok(())
    }

    async fn try_fill(&mut self, at_least: Revision) -> Result<(Draft, Box<dyn Watch>)> {
        let newest = self.store.revision().await?.max(at_least);
        let mut draft = self.list_back_from(newest).await?;
        let mut watch = self.store.watch(&Prefix::everything(), draft.snapshot.revision()).await?;
        while draft.snapshot.revision() < newest {
            watch.request_progress();
            let batch = watch.next().await?;
            draft.apply(&mut self.maker, batch);
        }
        Ok((draft, watch))
    }

    /// The state as many revisions ago as the ring can hold, or as far back as the store remembers.
    async fn list_back_from(&mut self, newest: Revision) -> Result<Draft> {
        let reach = self.bound.events as u64;
        let start = Revision::new(newest.get().saturating_sub(reach));
        match self.list(At::Exact(start)).await {
            Err(Error::Expired { oldest, .. }) => self.list(At::Exact(oldest)).await,
            listed => listed,
        }
    }

    async fn list(&mut self, at: At) -> Result<Draft> {
        let (revision, objects) = self.read(&Prefix::everything(), at).await?;
        Ok(Draft { snapshot: Snapshot::new(revision, objects), ring: Ring::new(self.bound, revision) })
    }

    /// The objects of a range in key order, and the revision they are of.
    async fn read(&mut self, range: &Prefix, at: At) -> Result<(Revision, Vec<Arc<Object>>)> {
        let mut options = ListOptions::at(at).limit(PAGE);
        options.values = Values::Whole;
        let mut objects = Vec::new();
        loop {
            let page = self.store.list(range, options.clone()).await?;
            let last =
                page.records.last().map(|record| &record.key).max(page.damaged.last().map(|damaged| &damaged.key));
            let last = last.cloned();
            for record in page.records {
                objects.push(self.maker.object(record.key, record.revision, Ok(record.value)));
            }
            for damaged in page.damaged {
                objects.push(self.maker.object(damaged.key, damaged.revision, Err(damaged.fault)));
            }
            match last {
                Some(last) if page.remaining > 0 => {
                    options.at = At::Exact(page.revision);
                    options.after = Some(last);
                }
                _ => {
                    objects.sort_unstable_by(|a, b| a.key().cmp(b.key()));
                    return Ok((page.revision, objects));
                }
            }
        }
    }
}

/// Tells watchers what is new: at once, if it has not told any a moment ago. Waking a watcher costs more than an event does,
/// so when events follow one another closely, each is woken once for several of them.
struct Herald {
    news: News,
    /// Until when it rests.
    until: Instant,
}

// === impl Herald ===

impl Herald {
    fn new() -> Self {
        Self { news: News::default(), until: Instant::now() }
    }

    /// Takes in what is new.
    fn hear(&mut self, news: News) {
        self.news.merge(news);
        if !self.news.is_empty() && Instant::now() >= self.until {
            self.tell();
        }
    }

    /// Tells all it has heard, and rests in proportion to how many had to be told.
    fn tell(&mut self) {
        let news = std::mem::take(&mut self.news);
        let watchers = u32::try_from(news.watchers()).unwrap_or(u32::MAX);
        news.spread();
        self.until = Instant::now() + REST_FOR_EACH.saturating_mul(watchers).min(LONGEST_REST);
    }

    /// Waits until there is something to tell, and it may be told.
    async fn rest(&self) {
        match self.news.is_empty() {
            true => std::future::pending().await,
            false => tokio::time::sleep_until(self.until).await,
        }
    }
}

/// A watch that could not be opened.
struct Ended(Error);

#[async_trait::async_trait]
impl Watch for Ended {
    async fn next(&mut self) -> Result<crate::store::Batch> {
        Err(self.0.clone())
    }

    fn request_progress(&mut self) {}
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;
    use tokio::time::advance;

    use super::*;
    use crate::cache::ring::News;

    /// News for so many watchers, and one of them.
    fn news(watchers: usize) -> (News, Vec<watch::Receiver<()>>) {
        let sender = Arc::new(watch::Sender::new(()));
        let receivers = (0..watchers).map(|_| sender.subscribe()).collect();
        (News::of(sender), receivers)
    }

    fn told(receivers: &mut [watch::Receiver<()>]) -> bool {
        let told = receivers.iter().all(|receiver| receiver.has_changed().unwrap_or(true));
        receivers.iter_mut().for_each(watch::Receiver::mark_unchanged);
        told
    }

    /// Waking watchers costs more than events do: a single event is told at once, and who has just been woken gets what
    /// follows closely together, after a rest that is short and shorter for few.
    #[tokio::test(start_paused = true)]
    async fn a_single_event_is_told_at_once_and_a_row_of_them_together() {
        for (watchers, rest) in [(1, REST_FOR_EACH), (20, 20 * REST_FOR_EACH), (100_000, LONGEST_REST)] {
            let mut herald = Herald::new();
            let (first, mut ones) = news(watchers);
            let (second, mut others) = news(1);
            herald.hear(first);
            assert!(told(&mut ones), "the first");
            herald.hear(second);
            assert!(!told(&mut others), "one that follows closely");
            let began = Instant::now();
            herald.rest().await;
            // The clock of the runtime counts whole milliseconds.
            assert!(began.elapsed() >= rest && began.elapsed() <= rest + Duration::from_millis(1), "{rest:?}");
            herald.tell();
            assert!(told(&mut others));
            advance(LONGEST_REST).await;
            let (late, mut ones) = news(watchers);
            herald.hear(late);
            assert!(told(&mut ones), "one that comes after a pause");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_heard_nothing_has_nothing_to_tell() {
        let herald = Herald::new();
        assert!(tokio::time::timeout(Duration::from_secs(60), herald.rest()).await.is_err());
    }
}
