//! Those who were seen to go: once their kind is gone, too, nobody can be asked about them any more.

use std::collections::{HashMap, VecDeque};

use super::graph::{Place, Uid};

/// How many are remembered. What they owned is looked at as soon as they are gone, so that it need not be for long.
const MOST: usize = 10_000;

/// Objects that have been deleted, and where they were; of too many, the last.
#[derive(Default)]
pub(super) struct Departed {
    places: HashMap<Uid, Place>,
    /// In the order in which they went.
    order: VecDeque<Uid>,
}

// === impl Departed ===

impl Departed {
    /// Remembers one.
    pub(super) fn add(&mut self, uid: Uid, place: Place) {
        if self.places.insert(uid.clone(), place).is_some() {
            return;
        }
        self.order.push_back(uid);
        if self.order.len() > MOST
            && let Some(first) = self.order.pop_front()
        {
            self.places.remove(&first);
        }
    }

    /// Remembers one no longer, because it was seen after all.
    pub(super) fn take_back(&mut self, uid: &str) {
        if self.places.remove(uid).is_some() {
            self.order.retain(|departed| **departed != *uid);
        }
    }

    /// Where an object was, if it is remembered.
    pub(super) fn place_of(&self, uid: &str) -> Option<&Place> {
        self.places.get(uid)
    }
}

#[cfg(test)]
mod tests;
