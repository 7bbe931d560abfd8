//! Projects that are looked at one after the other, though nothing is known to have changed: each once, in the order in which
//! they came.

use std::collections::{BTreeSet, VecDeque};

/// The place of a project in the order.
pub(super) type Ticket = u64;

/// The place of those that are in no order: nothing waits for them.
pub(super) const NO_TICKET: Ticket = Ticket::MAX;

/// Projects that are to be looked at.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    queue: VecDeque<(Ticket, String)>,
    queued: BTreeSet<String>,
    last: Ticket,
}

// === impl Sweep ===

impl Sweep {
    pub(super) fn add(&mut self, namespace: String) {
        if self.queued.insert(namespace.clone()) {
            self.last += 1;
            self.queue.push_back((self.last, namespace));
        }
    }

    /// Adds one that was taken and could not be looked at, before all others. Its place in the order is what it was.
    pub(super) fn put_back(&mut self, namespace: String, ticket: Ticket) {
        if self.queued.insert(namespace.clone()) {
            self.queue.push_front((ticket, namespace));
        } else if let Some(queued) = self.queue.iter_mut().find(|(_, queued)| *queued == namespace) {
            queued.0 = queued.0.min(ticket);
        }
    }

    /// The next ones.
    pub(super) fn take(&mut self, most: usize) -> Vec<(Ticket, String)> {
        let taken: Vec<_> = self.queue.drain(..self.queue.len().min(most)).collect();
        for (_, namespace) in &taken {
            self.queued.remove(namespace);
        }
        taken
    }

    /// The place of the last one that came.
    pub(super) fn last(&self) -> Ticket {
        self.last
    }

    /// The first place of those that have not been taken.
    pub(super) fn first(&self) -> Option<Ticket> {
        self.queue.iter().map(|(ticket, _)| *ticket).min()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.queued.clear();
    }
}

#[cfg(test)]
mod tests;
