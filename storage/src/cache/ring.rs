//! The recent past: events in order, up to a bound, read by watchers through cursors of their own.
//!
//! Events are numbered one by one. With room for three, after the events of revisions 5, 7, 7 and 9:
//!
//! ```text
//! number      0     1     2     3
//! revision   (5)    7     7     9         floor 5: every event after revision 5 is here
//!          dropped  first             end 4
//! ```
//!
//! A watcher after revision 7 starts at number 3. One whose next number is 0 has fallen off and is told so.
//!
//! For every range that someone watches, the ring also keeps the numbers of its events. So an event costs work only for
//! those whose range it lies in, and a watcher of a quiet range does not fall off because others are busy.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::watch;

use super::object::Object;
use crate::key::{Key, Prefix};
use crate::revision::Revision;

/// The most events a watcher takes in one step, so that the ring is not held for long.
const MAX_STEP: usize = 512;
/// What an event takes up beside the object it replaced.
const EVENT_BYTES: usize = 160;

/// A change of one object.
#[derive(Debug)]
pub struct ObjectEvent {
    /// When.
    pub revision: Revision,
    /// The object now; none if it was deleted.
    pub object: Option<Arc<Object>>,
    /// The object before; none if it was created.
    pub previous: Option<Arc<Object>>,
}

/// The bound on what the ring holds.
#[derive(Clone, Copy, Debug)]
pub struct RingBound {
    /// The most events.
    pub events: usize,
    /// The most bytes of objects that are kept only because an event speaks of them.
    pub bytes: usize,
}

/// The events.
#[derive(Debug)]
pub(super) struct Ring {
    bound: RingBound,
    events: VecDeque<Arc<ObjectEvent>>,
    bytes: usize,
    /// The number of the first event here.
    first: u64,
    /// Every event after this revision is here.
    floor: Revision,
    /// Every event up to this revision is or was here.
    through: Revision,
    /// The ranges that someone watches.
    ranges: HashMap<Prefix, WatchedRange>,
}

/// A range that someone watches.
#[derive(Debug)]
struct WatchedRange {
    /// The numbers of its events that are here, and perhaps of some that are no longer.
    numbers: VecDeque<u64>,
    /// Of the events before this number, some of the range may be missing above.
    complete_from: u64,
    /// ring --there is something new--> watchers of the range
    news: Arc<watch::Sender<()>>,
}

/// Tells the watchers of some ranges that there is something new. Done once the ring is no longer held.
#[derive(Default)]
#[must_use]
pub(super) struct News(Vec<Arc<watch::Sender<()>>>);

/// What a watcher got from the ring.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) events: Vec<Arc<ObjectEvent>>,
    /// The number to go on from.
    pub(super) next: u64,
    /// Everything up to this revision has been read.
    pub(super) through: Revision,
}

/// The cursor is older than the ring reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FellOff {
    pub(super) oldest: Revision,
}

// === impl ObjectEvent ===

impl ObjectEvent {
    /// Where.
    pub fn key(&self) -> Option<&Key> {
        self.object.as_ref().or(self.previous.as_ref()).map(|object| object.key())
    }

    fn bytes(&self) -> usize {
        EVENT_BYTES + self.previous.as_ref().map_or(0, |previous| previous.body_bytes())
    }
}

// === impl Ring ===

impl Ring {
    /// A ring whose first event follows `floor`.
    pub(super) fn new(bound: RingBound, floor: Revision) -> Self {
        let (events, ranges) = Default::default();
        Self { bound, events, bytes: 0, first: 0, floor, through: floor, ranges }
    }

    /// Adds all events up to `through`.
    pub(super) fn extend(&mut self, events: impl IntoIterator<Item = Arc<ObjectEvent>>, through: Revision) -> News {
        let mut news = News::default();
        for event in events {
            self.bytes += event.bytes();
            let number = self.end();
            for range in event.key().into_iter().flat_map(Key::prefixes) {
                if let Some(watched) = self.ranges.get_mut(range) {
                    watched.push(number, self.first);
                    news.add(&watched.news);
                }
            }
            self.events.push_back(event);
            while self.events.len() > self.bound.events || self.bytes > self.bound.bytes {
                self.drop_first();
            }
        }
        self.through = self.through.max(through);
        news
    }

    /// Replaces everything by another ring. Every cursor into the old one has fallen off.
    pub(super) fn replace(&mut self, mut by: Self) -> News {
        by.first += self.end() + 1;
        by.ranges = std::mem::take(&mut self.ranges);
        *self = by;
        let ranges = self.ranges.keys().cloned().collect::<Vec<_>>();
        for range in ranges {
            let numbers = self.numbers_in(&range);
            if let Some(watched) = self.ranges.get_mut(&range) {
                (watched.numbers, watched.complete_from) = (numbers, self.first);
            }
        }
        self.everyone()
    }

    /// Forgets the events up to `oldest`.
    pub(super) fn forget(&mut self, oldest: Revision) {
        while self.events.front().is_some_and(|event| event.revision <= oldest) {
            self.drop_first();
        }
        self.floor = self.floor.max(oldest);
    }

    /// Begins to follow a range: the cursor for what follows `after`, and what tells of news.
    pub(super) fn follow(&mut self, prefix: &Prefix, after: Revision) -> Result<(u64, watch::Receiver<()>), FellOff> {
        let cursor = self.cursor(after)?;
        if let Some(watched) = self.ranges.get(prefix) {
            return Ok((cursor, watched.news.subscribe()));
        }
        let (sender, receiver) = watch::channel(());
        let watched =
            WatchedRange { numbers: self.numbers_in(prefix), complete_from: self.first, news: Arc::new(sender) };
        self.ranges.insert(prefix.clone(), watched);
        Ok((cursor, receiver))
    }

    /// Ends what [`Ring::follow`] began, once its receiver is gone.
    pub(super) fn unfollow(&mut self, prefix: &Prefix) {
        if self.ranges.get(prefix).is_some_and(|watched| watched.news.receiver_count() == 0) {
            self.ranges.remove(prefix);
        }
    }

    /// The events of a followed range from a cursor on: a bounded number, whole revisions only.
    pub(super) fn read(&self, cursor: u64, prefix: &Prefix) -> Result<Step, FellOff> {
        let fell_off = FellOff { oldest: self.floor };
        let watched = self.ranges.get(prefix).ok_or(fell_off)?;
        let start = watched.numbers.partition_point(|number| *number < cursor);
        let mut events: Vec<Arc<ObjectEvent>> = Vec::new();
        if cursor < watched.complete_from {
            return Err(fell_off);
        }
        for number in watched.numbers.range(start..).copied() {
            let event = number.checked_sub(self.first).and_then(|at| self.events.get(usize::try_from(at).ok()?));
            let event = event.ok_or(fell_off)?;
            if let Some(last) = events.last()
                && events.len() >= MAX_STEP
                && event.revision != last.revision
            {
                let through = last.revision;
                return Ok(Step { events, next: number, through });
            }
            events.push(event.clone());
        }
        Ok(Step { events, next: self.end(), through: self.through })
    }

    /// The events after `revision`, newest first: in the order in which they are undone.
    pub(super) fn newest_down_to(&self, revision: Revision) -> Result<Vec<Arc<ObjectEvent>>, FellOff> {
        let start = usize::try_from(self.cursor(revision)? - self.first).unwrap_or(usize::MAX);
        Ok(self.events.range(start.min(self.events.len())..).rev().cloned().collect())
    }

    /// News for every watcher.
    pub(super) fn everyone(&self) -> News {
        News(self.ranges.values().map(|watched| watched.news.clone()).collect())
    }

    /// Every event after this revision is here.
    pub(super) fn floor(&self) -> Revision {
        self.floor
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The cursor for what follows `after`.
    fn cursor(&self, after: Revision) -> Result<u64, FellOff> {
        if after < self.floor {
            return Err(FellOff { oldest: self.floor });
        }
        let passed = self.events.partition_point(|event| event.revision <= after);
        Ok(self.first + passed as u64)
    }

    fn numbers_in(&self, prefix: &Prefix) -> VecDeque<u64> {
        let within = |event: &ObjectEvent| event.key().is_some_and(|key| prefix.contains(key));
        (self.first..).zip(&self.events).filter(|(_, event)| within(event)).map(|(number, _)| number).collect()
    }

    fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    fn drop_first(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.bytes -= event.bytes();
            self.first += 1;
            self.floor = self.floor.max(event.revision);
        }
    }
}

// === impl WatchedRange ===

impl WatchedRange {
    /// Notes an event, and lets go of those that have left the ring.
    fn push(&mut self, number: u64, first: u64) {
        while let Some(gone) = self.numbers.pop_front_if(|number| *number < first) {
            self.complete_from = gone + 1;
        }
        self.numbers.push_back(number);
    }
}

// === impl News ===

impl News {
    /// For the watchers of one range.
    #[cfg(test)]
    pub(super) fn of(range: Arc<watch::Sender<()>>) -> Self {
        Self(vec![range])
    }

    /// Tells it.
    pub(super) fn spread(self) {
        self.0.iter().for_each(|news| news.send_modify(|()| ()));
    }

    /// How many watchers it is for.
    pub(super) fn watchers(&self) -> usize {
        self.0.iter().map(|news| news.receiver_count()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what else is new.
    pub(super) fn merge(&mut self, other: Self) {
        other.0.iter().for_each(|news| self.add(news));
    }

    fn add(&mut self, news: &Arc<watch::Sender<()>>) {
        if !self.0.iter().any(|known| Arc::ptr_eq(known, news)) {
            self.0.push(news.clone());
        }
    }
}

#[cfg(test)]
mod tests;
