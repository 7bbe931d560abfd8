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

use std::collections::VecDeque;
use std::sync::Arc;

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
}

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
        Self { bound, events: VecDeque::new(), bytes: 0, first: 0, floor, through: floor }
    }

    /// Adds all events up to `through`.
    pub(super) fn extend(&mut self, events: impl IntoIterator<Item = Arc<ObjectEvent>>, through: Revision) {
        for event in events {
            self.bytes += event.bytes();
            self.events.push_back(event);
            while self.events.len() > self.bound.events || self.bytes > self.bound.bytes {
                self.drop_first();
            }
        }
        self.through = self.through.max(through);
    }

    /// Replaces everything by another ring. Every cursor into the old one has fallen off.
    pub(super) fn replace(&mut self, mut by: Self) {
        by.first += self.end() + 1;
        *self = by;
    }

    /// Forgets the events up to `oldest`.
    pub(super) fn forget(&mut self, oldest: Revision) {
        while self.events.front().is_some_and(|event| event.revision <= oldest) {
            self.drop_first();
        }
        self.floor = self.floor.max(oldest);
    }

    /// The cursor for what follows `after`.
    pub(super) fn cursor(&self, after: Revision) -> Result<u64, FellOff> {
        if after < self.floor {
            return Err(FellOff { oldest: self.floor });
        }
        let passed = self.events.partition_point(|event| event.revision <= after);
        Ok(self.first + passed as u64)
    }

    /// The events of a range from a cursor on: a bounded number, whole revisions only.
    pub(super) fn read(&self, cursor: u64, prefix: &Prefix) -> Result<Step, FellOff> {
        let Some(start) = cursor.checked_sub(self.first) else {
            return Err(FellOff { oldest: self.floor });
        };
        let start = usize::try_from(start).map_or(self.events.len(), |start| start.min(self.events.len()));
        let mut end = (start + MAX_STEP).min(self.events.len());
        while end > start && end < self.events.len() && self.events[end].revision == self.events[end - 1].revision {
            end += 1;
        }
        let within = |event: &&Arc<ObjectEvent>| event.key().is_some_and(|key| prefix.contains(key));
        let events = self.events.range(start..end).filter(within).cloned().collect();
        let through = match self.events.get(end) {
            Some(_) => self.events[end - 1].revision,
            None => self.through,
        };
        Ok(Step { events, next: self.first + end as u64, through })
    }

    /// The events after `revision`, newest first: in the order in which they are undone.
    pub(super) fn newest_down_to(&self, revision: Revision) -> Result<Vec<Arc<ObjectEvent>>, FellOff> {
        let start = usize::try_from(self.cursor(revision)? - self.first).unwrap_or(usize::MAX);
        Ok(self.events.range(start.min(self.events.len())..).rev().cloned().collect())
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

#[cfg(test)]
mod tests;
