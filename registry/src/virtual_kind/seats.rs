//! Which watches a change concerns: those of the namespace it is in, or those that know an object of its name. Pure
//! bookkeeping, which is never held while anything is waited for.
//!
//! A watch that is told of a change of a name is not told again before it has looked. So however often something changes that
//! many watches know, each of them costs work as often as it looks, and no more.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use bailiwick_storage::Revision;
use tokio::sync::Notify;

/// Which objects a change of what is stored may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched<'k> {
    /// None.
    Nothing,
    /// One object, which may come or go by that.
    One {
        /// Its namespace.
        namespace: &'k str,
        /// Its name.
        name: &'k str,
    },
    /// All objects of a name, wherever there is one. None comes by that.
    Named(&'k str),
}

/// The number of a watch.
pub(super) type Seat = u64;

/// All watches of a kind, and what they have not looked at yet.
#[derive(Debug, Default)]
pub(super) struct Seats {
    /// Every change up to here is noted.
    through: Revision,
    last: Seat,
    all: HashMap<Seat, Unseen>,
    by_namespace: HashMap<String, BTreeSet<Seat>>,
    /// Which watches are to be told when something of a name changes.
    by_name: HashMap<String, HashSet<Seat>>,
}

/// What a watch has not looked at yet.
#[derive(Debug)]
struct Unseen {
    namespace: String,
    changes: Changes,
    news: Arc<Notify>,
}

/// What is to be made anew.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// The objects of these names.
    pub(super) names: BTreeSet<String>,
    /// Everything: it is not known what has changed.
    pub(super) all: bool,
}

// === impl Seats ===

impl Seats {
    /// Where nothing was noted before.
    pub(super) fn from(through: Revision) -> Self {
        Self { through, ..Self::default() }
    }

    /// Every change up to here is noted.
    pub(super) fn through(&self) -> Revision {
        self.through
    }

    /// Takes in a watch that knows the objects of a namespace as they were in a state.
    pub(super) fn join<'n>(
        &mut self,
        namespace: &str,
        known: impl Iterator<Item = &'n str>,
        state: Revision,
    ) -> (Seat, Arc<Notify>) {
        self.last += 1;
        let (seat, news) = (self.last, Arc::new(Notify::new()));
        // What was noted after that state was not noted for this one.
        let changes = Changes { names: BTreeSet::new(), all: self.through > state };
        let unseen = Unseen { namespace: namespace.to_owned(), changes, news: news.clone() };
        self.all.insert(seat, unseen);
        self.by_namespace.entry(namespace.to_owned()).or_default().insert(seat);
        self.tell_of(seat, known);
        (seat, news)
    }

    pub(super) fn leave(&mut self, seat: Seat) {
        let Some(Unseen { namespace, .. }) = self.all.remove(&seat) else { return };
        if let Some(seats) = self.by_namespace.get_mut(&namespace) {
            seats.remove(&seat);
            if seats.is_empty() {
                self.by_namespace.remove(&namespace);
            }
        }
        self.by_name.retain(|_, seats| {
            seats.remove(&seat);
            !seats.is_empty()
        });
    }

    /// Notes a change for those it concerns.
    pub(super) fn note(&mut self, touched: Touched<'_>) {
        match touched {
            Touched::Nothing => {}
            Touched::One { namespace, name } => {
                for seat in self.by_namespace.get(namespace).into_iter().flatten() {
                    if let Some(unseen) = self.all.get_mut(seat) {
                        unseen.note(name);
                    }
                }
            }
            Touched::Named(name) => {
                for seat in self.by_name.remove(name).into_iter().flatten() {
                    if let Some(unseen) = self.all.get_mut(&seat) {
                        unseen.note(name);
                    }
                }
            }
        }
    }

    /// All that changed up to here is noted.
    pub(super) fn reach(&mut self, through: Revision) {
        self.through = self.through.max(through);
    }

    /// Whether there is something that a watch has not looked at.
    pub(super) fn has_changed(&self, seat: Seat) -> bool {
        self.all.get(&seat).is_some_and(|unseen| !unseen.changes.is_empty())
    }

    /// What a watch has to look at, in a state that is at least as new as what is noted. It is told of whatever changes of the
    /// names from now on.
    pub(super) fn take(&mut self, seat: Seat) -> Changes {
        let Some(unseen) = self.all.get_mut(&seat) else { return Changes::default() };
        let taken = std::mem::take(&mut unseen.changes);
        self.tell_of(seat, taken.names.iter().map(String::as_str));
        taken
    }

    /// A watch that has looked at everything has found these objects in a state: it is told of what changes of them, also of
    /// what has changed since that state.
    pub(super) fn found<'n>(&mut self, seat: Seat, names: impl Iterator<Item = &'n str> + Clone, state: Revision) {
        self.tell_of(seat, names.clone());
        if self.through > state
            && let Some(unseen) = self.all.get_mut(&seat)
        {
            names.for_each(|name| unseen.note(name));
        }
    }

    /// A watch has found that there is no object of that name. Should one come, it is told.
    pub(super) fn missed(&mut self, seat: Seat, name: &str) {
        if let Some(seats) = self.by_name.get_mut(name) {
            seats.remove(&seat);
            if seats.is_empty() {
                self.by_name.remove(name);
            }
        }
    }

    /// Wakes all of them.
    pub(super) fn wake(&self) {
        self.all.values().for_each(|unseen| unseen.news.notify_one());
    }

    fn tell_of<'n>(&mut self, seat: Seat, names: impl Iterator<Item = &'n str>) {
        for name in names {
            match self.by_name.get_mut(name) {
                Some(seats) => drop(seats.insert(seat)),
                None => drop(self.by_name.insert(name.to_owned(), HashSet::from([seat]))),
            }
        }
    }
}

// === impl Unseen ===

impl Unseen {
    fn note(&mut self, name: &str) {
        if !self.changes.all && self.changes.names.insert(name.to_owned()) {
            self.news.notify_one();
        }
    }
}

// === impl Changes ===

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.all
    }

    /// Adds what else there is.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.names.append(&mut other.names);
        self.all |= other.all;
    }
}

#[cfg(test)]
mod tests;
