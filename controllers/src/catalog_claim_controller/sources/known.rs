//! What is known of a published resource, and whether whoever made copies of it has to look again.
//!
//! It is read by many, at their own time, and followed by one. Whoever read a state that was not the last one must hear of it,
//! and whoever read the last one need not. So it is noted which states were read, and a reading during which something
//! happened counts as none.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::catalog_claim_controller::rights::REMEMBERED;

#[cfg(test)]
mod tests;

/// A resource, as it is written.
pub(super) type Fields = Arc<Map<String, Value>>;

/// What is known of a published resource.
#[derive(Default)]
pub(super) struct Known {
    /// As it is. Only whoever follows it knows: what was read elsewhere may be older.
    current: Option<Fields>,
    copied: Copied,
    /// Until when it counts that whoever publishes it could read it.
    readable_until: Option<Instant>,
    /// How often something has happened to it.
    events: u64,
}

/// The states that copies were made of since everyone was told to look again.
#[derive(Default)]
enum Copied {
    #[default]
    Nothing,
    /// All are of the state with this version.
    One(Value),
    Several,
}

/// A reading that has begun.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    events: u64,
    began: Instant,
}

/// Whether everyone who made copies has to look again.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    Yes,
    No,
}

// === impl Known ===

impl Known {
    /// The resource as it is, of which copies are made now. Whoever follows it was asked for their rights when they began, and
    /// may have lost them since: it is told only for a moment after it was read.
    pub(super) fn current(&mut self, now: Instant) -> Option<Fields> {
        let current = self.current.clone().filter(|_| self.readable_until.is_some_and(|until| now < until))?;
        self.copied.also_of(version(&current));
        Some(current)
    }

    /// Someone begins to read it elsewhere.
    pub(super) fn begin_reading(&self, now: Instant) -> Reading {
        Reading { events: self.events, began: now }
    }

    /// Copies are made of what someone has read elsewhere.
    pub(super) fn was_read(&mut self, reading: Reading, found: &Fields) -> News {
        self.readable_until = self.readable_until.max(Some(reading.began + REMEMBERED));
        if reading.events != self.events {
            return News::Yes;
        }
        self.copied.also_of(version(found));
        News::No
    }

    /// It is like this now.
    pub(super) fn appeared(&mut self, now: Fields) -> News {
        self.events += 1;
        let is_copied = matches!((&self.copied, version(&now)), (Copied::One(copied), Some(now)) if copied == now);
        self.current = Some(now);
        if is_copied { News::No } else { self.told() }
    }

    /// It is gone.
    pub(super) fn went(&mut self) -> News {
        self.events += 1;
        let was_there = self.current.take().is_some() || !matches!(self.copied, Copied::Nothing);
        if was_there { self.told() } else { News::No }
    }

    /// It cannot be followed at present: whoever needs it has to read it.
    pub(super) fn is_out_of_sight(&mut self) -> News {
        if self.current.take().is_some() { News::Yes } else { News::No }
    }

    fn told(&mut self) -> News {
        self.copied = Copied::Nothing;
        News::Yes
    }
}

// === impl Copied ===

impl Copied {
    fn also_of(&mut self, version: Option<&Value>) {
        *self = match (std::mem::take(self), version) {
            (Self::Nothing, Some(version)) => Self::One(version.clone()),
            (Self::One(one), Some(version)) if one == *version => Self::One(one),
            _ => Self::Several,
        };
    }
}

fn version(object: &Map<String, Value>) -> Option<&Value> {
    object.get("metadata").and_then(|metadata| metadata.get("resourceVersion"))
}
