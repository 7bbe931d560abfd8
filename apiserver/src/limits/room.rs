//! A room with a number of seats, of which one user has at most a share, and a short queue before it.
//!
//! Example: four seats, so a share of three. `a` sends five requests: three sit, two wait, and one seat stays free for
//! others. `b` sends one: it sits. When one of `a`'s seats gets free, the next of `a` sits, unless someone waits who holds
//! fewer: they come first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::TooMany;

/// Users without requests are forgotten once there are so many.
const MAX_IDLE_USERS: usize = 1_024;

/// A room.
pub(crate) struct Room {
    seats: usize,
    /// The most seats of one user, and the most of its requests that wait.
    share: usize,
    patience: Duration,
    state: Mutex<State>,
}

/// A seat, until it is dropped.
pub(crate) struct Seat {
    room: Arc<Room>,
    user: Arc<str>,
}

#[derive(Default)]
struct State {
    taken: usize,
    waiting: usize,
    arrivals: u64,
    users: HashMap<Arc<str>, Holder>,
}

/// What one user has.
#[derive(Default)]
struct Holder {
    taken: usize,
    /// In the order of their arrival.
    queue: VecDeque<Waiter>,
}

struct Waiter {
    arrival: u64,
    /// room --seat--> request
    seat_tx: oneshot::Sender<Seat>,
}

/// A place in the queue, until it is dropped.
struct Place<'r> {
    room: &'r Room,
    user: Arc<str>,
    arrival: u64,
}

// === impl Room ===

impl Room {
    /// A room with seats, for whose queue nobody waits longer than `patience`.
    pub(crate) fn new(seats: usize, patience: Duration) -> Self {
        Self { seats, share: (seats - seats / 4).max(1), patience, state: Mutex::default() }
    }

    /// Takes a seat, or waits for one.
    pub(crate) async fn enter(self: &Arc<Self>, user: &str) -> Result<Seat, TooMany> {
        let (place, seat_rx) = match self.arrive(user)? {
            Arrival::Seated(seat) => return Ok(seat),
            Arrival::Queued(place, seat_rx) => (place, seat_rx),
        };
        let outcome = timeout(self.patience, seat_rx).await;
        // Whatever came of it, the place is given up; a seat that comes too late is given back when it is dropped.
        drop(place);
        outcome.ok().and_then(Result::ok).ok_or(TooMany)
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    fn arrive(self: &Arc<Self>, user: &str) -> Result<Arrival<'_>, TooMany> {
        let mut state = self.lock();
        let state = &mut *state;
        let name = state.name(user);
        let holder = state.users.entry(name.clone()).or_default();
        if state.taken < self.seats && holder.taken < self.share && holder.queue.is_empty() {
            state.taken += 1;
            holder.taken += 1;
            return Ok(Arrival::Seated(Seat { room: self.clone(), user: name }));
        }
        if state.waiting >= self.seats || holder.queue.len() >= self.share {
            return Err(TooMany);
        }
        let (seat_tx, seat_rx) = oneshot::channel();
        state.arrivals += 1;
        state.waiting += 1;
        holder.queue.push_back(Waiter { arrival: state.arrivals, seat_tx });
        Ok(Arrival::Queued(Place { room: self, user: name, arrival: state.arrivals }, seat_rx))
    }

    /// Gives a seat back, and to whom it goes next.
    fn leave(self: &Arc<Self>, user: &str) {
        let next = {
            let mut state = self.lock();
            state.taken -= 1;
            if let Some(holder) = state.users.get_mut(user) {
                holder.taken -= 1;
            }
            state.next(self)
        };
        if let Some((waiter, seat)) = next {
            // Who does not wait any longer gives it back by dropping it, which comes here again.
            drop(waiter.seat_tx.send(seat));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Arrival<'r> {
    Seated(Seat),
    Queued(Place<'r>, oneshot::Receiver<Seat>),
}

// === impl State ===

impl State {
    /// The user's name, as it is kept here.
    fn name(&mut self, user: &str) -> Arc<str> {
        if let Some((name, _)) = self.users.get_key_value(user) {
            return name.clone();
        }
        if self.users.len() >= MAX_IDLE_USERS {
            self.users.retain(|_, holder| holder.taken > 0 || !holder.queue.is_empty());
        }
        user.into()
    }

    /// Seats whoever waits and holds least; of those, who has waited longest.
    fn next(&mut self, room: &Arc<Room>) -> Option<(Waiter, Seat)> {
        if self.waiting == 0 || self.taken >= room.seats {
            return None;
        }
        let may = self.users.iter_mut().filter(|(_, holder)| holder.taken < room.share);
        let waiting = may.filter_map(|(name, holder)| {
            let arrival = holder.queue.front()?.arrival;
            Some((holder.taken, arrival, name, holder))
        });
        let (_, _, name, holder) = waiting.min_by_key(|(taken, arrival, ..)| (*taken, *arrival))?;
        let waiter = holder.queue.pop_front()?;
        holder.taken += 1;
        self.taken += 1;
        self.waiting -= 1;
        Some((waiter, Seat { room: room.clone(), user: name.clone() }))
    }
}

// === impl Seat ===

impl Drop for Seat {
    fn drop(&mut self) {
        self.room.leave(&self.user);
    }
}

// === impl Place ===

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.room.lock();
        let state = &mut *state;
        let Some(holder) = state.users.get_mut(&self.user) else { return };
        let before = holder.queue.len();
        holder.queue.retain(|waiter| waiter.arrival != self.arrival);
        state.waiting -= before - holder.queue.len();
    }
}

#[cfg(test)]
mod tests;
