//! What can be taken, by the namespace that it is of. They take turns, and one that has as many workers as are free takes no
//! more: alone it has half of them, each of three has a quarter, and it takes as many namespaces as there are workers to keep all
//! of them busy.
//!
//! ```text
//! of 16 workers    a has 8, 8 are free                   a waits; what comes of b is begun at once
//!                  a has 8, b has 4, 4 are free          both wait; what comes of c is begun at once
//! ```

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// What can be taken, and how much of it is under way.
pub(super) struct Lanes<T> {
    namespace: fn(&T) -> &str,
    /// Those in which something waits or is under way.
    lanes: HashMap<Arc<str>, Lane<T>>,
    /// Those in which something waits; the first is the next.
    turns: VecDeque<Arc<str>>,
    free: usize,
}

/// What there is to do in a namespace.
struct Lane<T> {
    waiting: VecDeque<T>,
    under_way: usize,
}

// === impl Lanes ===

impl<T> Lanes<T> {
    /// Ones that workers without number share.
    pub(super) fn new(namespace: fn(&T) -> &str) -> Self {
        Self { namespace, lanes: HashMap::new(), turns: VecDeque::new(), free: usize::MAX }
    }

    /// From now on so many workers share them, who all are free.
    pub(super) fn shared_by(&mut self, workers: usize) {
        self.free = workers;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Puts it behind what waits in its namespace.
    pub(super) fn push(&mut self, item: T) {
        let namespace: Arc<str> = (self.namespace)(&item).into();
        let lane = self.lanes.entry(namespace.clone()).or_default();
        lane.waiting.push_back(item);
        if lane.waiting.len() == 1 {
            self.turns.push_back(namespace);
        }
    }

    /// What is to be begun next, if anything may be.
    pub(super) fn take(&mut self) -> Option<T> {
        let free = self.free;
        let may_begin = |namespace: &Arc<str>| {
            namespace.is_empty() || self.lanes.get(namespace).is_some_and(|lane| lane.under_way < free)
        };
        // Whoever has nothing under way may begin, so not more are passed over than there are workers.
        let turn = self.turns.iter().position(may_begin)?;
        let namespace = self.turns.remove(turn)?;
        let lane = self.lanes.get_mut(&namespace)?;
        let item = lane.waiting.pop_front()?;
        lane.under_way += 1;
        self.free = self.free.saturating_sub(1);
        if !lane.waiting.is_empty() {
            self.turns.push_back(namespace);
        }
        Some(item)
    }

    /// What was taken is not under way any more.
    pub(super) fn end(&mut self, item: &T) {
        let namespace = (self.namespace)(item);
        let Some(lane) = self.lanes.get_mut(namespace) else { return };
        lane.under_way -= 1;
        self.free = self.free.saturating_add(1);
        if lane.under_way == 0 && lane.waiting.is_empty() {
            self.lanes.remove(namespace);
        }
    }
}

// === impl Lane ===

impl<T> Default for Lane<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), under_way: 0 }
    }
}
