//! Who follows what the objects of a kind are made of: one for all watches of it, so that each change is looked at once, and
//! wakes only those whom it concerns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bailiwick_machinery::GroupKind;
use bailiwick_storage::cache::Watcher;
use bailiwick_storage::{self as storage, At, Revision};
use tokio::sync::{Notify, watch};

use super::maker_of;
use super::seats::{Changes, Seat, Seats};
use crate::error::Result;
use crate::read::failed;
use crate::registry::Registry;
use crate::served_kind::ServedKind;

/// Those who follow, by the kind whose objects are made of it.
#[derive(Default)]
pub(crate) struct Followers(Mutex<HashMap<GroupKind, Arc<Follower>>>);

/// Follows what the objects of a kind are made of.
pub(super) struct Follower {
    seats: Mutex<Seats>,
    /// follower --how far everything is noted, or why it is over--> watches that want to know
    through_tx: watch::Sender<storage::Result<Revision>>,
    /// watches --how far they want to know--> follower
    wanted_tx: watch::Sender<Revision>,
}

/// One watch's place: it is given up when this is dropped.
pub(super) struct Place {
    follower: Arc<Follower>,
    seat: Seat,
    news: Arc<Notify>,
}

// === impl Registry ===

impl Registry {
    /// Who follows what the objects of a kind are made of, from now on if nobody did.
    pub(super) async fn follower(&self, kind: &ServedKind) -> Result<Arc<Follower>> {
        let error = |error| failed("watch", kind, error);
        let state = self.cache().snapshot(At::Any).await.map_err(error)?;
        let mut followers = self.made_followers().0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(follower) = followers.get(&kind.group_kind()).filter(|follower| !follower.is_over()) {
            return Ok(follower.clone());
        }
        let from = state.revision();
        let watcher = self.cache().watch_objects(&maker_of(kind)?.made_of()?, from).map_err(error)?;
        let follower = Arc::new(Follower {
            seats: Mutex::new(Seats::from(from)),
            through_tx: watch::Sender::new(Ok(from)),
            wanted_tx: watch::Sender::new(from),
        });
        followers.insert(kind.group_kind(), follower.clone());
        self.spawn(follower.clone().run(kind.clone(), watcher));
        Ok(follower)
    }
}

// === impl Follower ===

impl Follower {
    /// Takes in a watch that knows the objects of a namespace as they were in a state.
    pub(super) fn join<'n>(
        self: Arc<Self>,
        namespace: &str,
        known: impl Iterator<Item = &'n str>,
        state: Revision,
    ) -> Place {
        let (seat, news) = self.seats().join(namespace, known, state);
        Place { follower: self, seat, news }
    }

    async fn run(self: Arc<Self>, kind: ServedKind, mut watcher: Watcher) {
        let why = loop {
            if let Err(why) = self.step(&kind, &mut watcher).await {
                break why;
            }
        };
        drop(self.through_tx.send_replace(Err(why)));
        self.seats().wake();
    }

    /// Takes over what has changed, or finds out how far everything is noted.
    async fn step(&self, kind: &ServedKind, watcher: &mut Watcher) -> storage::Result<()> {
        let mut wanted_rx = self.wanted_tx.subscribe();
        let position = watcher.position();
        let wanted = async { drop(wanted_rx.wait_for(|wanted| *wanted > position).await) };
        let delivery = tokio::select! {
            delivery = watcher.next() => Some(delivery?),
            () = wanted => None,
        };
        let delivery = match delivery {
            Some(delivery) => delivery,
            None => {
                watcher.request_progress();
                watcher.next().await?
            }
        };
        {
            let mut seats = self.seats();
            if let Ok(maker) = maker_of(kind) {
                let keys = delivery.events.iter().filter_map(|event| event.key());
                keys.for_each(|key| seats.note(maker.touched(key)));
            }
            seats.reach(delivery.through);
        }
        drop(self.through_tx.send_replace(Ok(delivery.through)));
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.through_tx.borrow().is_err()
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Place ===

impl Place {
    /// Waits until there is something to look at, or everything up to a revision is noted and there is nothing. May be
    /// dropped and called again.
    pub(super) async fn changed(&self, until: Option<Revision>) -> storage::Result<()> {
        let mut through_rx = self.follower.through_tx.subscribe();
        let reached = async {
            let Some(until) = until else { return std::future::pending().await };
            self.follower.wanted_tx.send_if_modified(|wanted| {
                let is_more = *wanted < until;
                *wanted = until.max(*wanted);
                is_more
            });
            let is_there = |through: &storage::Result<Revision>| through.as_ref().map_or(true, |at| *at >= until);
            // The sender is in `self`.
            drop(through_rx.wait_for(is_there).await);
        };
        tokio::pin!(reached);
        loop {
            if let Err(why) = &*self.follower.through_tx.borrow() {
                return Err(why.clone());
            }
            if self.follower.seats().has_changed(self.seat) {
                return Ok(());
            }
            tokio::select! {
                () = self.news.notified() => {}
                () = &mut reached => return Ok(()),
            }
        }
    }

    /// How far everything has been looked at, if there is nothing to look at now.
    pub(super) fn is_through(&self) -> Option<Revision> {
        let seats = self.follower.seats();
        (!seats.has_changed(self.seat)).then(|| seats.through())
    }

    /// What is to be looked at, in a state that is at least as new as the revision.
    pub(super) fn take(&self) -> (Changes, Revision) {
        let mut seats = self.follower.seats();
        (seats.take(self.seat), seats.through())
    }

    /// What was found where everything was looked at, in a state.
    pub(super) fn found<'n>(&self, names: impl Iterator<Item = &'n str> + Clone, state: Revision) {
        self.follower.seats().found(self.seat, names, state);
    }

    /// What was not found.
    pub(super) fn missed<'n>(&self, names: impl Iterator<Item = &'n str>) {
        let mut seats = self.follower.seats();
        names.for_each(|name| seats.missed(self.seat, name));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.follower.seats().leave(self.seat);
    }
}
