//! What a connection is doing, and until when it may go on so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::options::ListenerOptions;

/// The requests of one connection, and the time between them.
pub(super) struct Activity {
    options: ListenerOptions,
    state: Mutex<State>,
}

/// A request that is under way: from its head until the last of its answer is on its way, or it is given up.
pub(super) struct InFlight(Arc<Activity>);

/// When a connection without requests is over, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    pub(super) then: Then,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// With a good-bye: it did nothing wrong.
    Close,
    /// At once.
    Drop,
}

struct State {
    in_flight: usize,
    served: bool,
    quiet_since: Instant,
    /// When the first bytes of a head came whose end has not.
    head_since: Option<Instant>,
    closing: bool,
}

// === impl Activity ===

impl Activity {
    pub(super) fn new(options: ListenerOptions) -> Arc<Self> {
        let state =
            State { in_flight: 0, served: false, quiet_since: Instant::now(), head_since: None, closing: false };
        Arc::new(Self { options, state: Mutex::new(state) })
    }

    /// A request's head is complete.
    pub(super) fn begin(self: &Arc<Self>) -> InFlight {
        let mut state = self.lock();
        state.in_flight += 1;
        state.served = true;
        state.head_since = None;
        InFlight(self.clone())
    }

    /// Bytes came. Those that come while no request is under way begin the next one.
    pub(super) fn received(&self) {
        let mut state = self.lock();
        if state.in_flight == 0 {
            state.head_since.get_or_insert_with(Instant::now);
        }
    }

    /// The client was told that the connection ends.
    pub(super) fn closing(&self) {
        let mut state = self.lock();
        state.closing = true;
        state.quiet_since = Instant::now();
    }

    /// Until when the connection may stay as it is.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        let state = self.lock();
        if state.in_flight > 0 {
            return None;
        }
        let head = self.options.header_read_timeout;
        Some(match state.head_since {
            Some(since) => Deadline { at: since + head, then: Then::Drop },
            None if state.closing || !state.served => Deadline { at: state.quiet_since + head, then: Then::Drop },
            None => Deadline { at: state.quiet_since + self.options.idle_timeout, then: Then::Close },
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl InFlight ===

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.in_flight -= 1;
        if state.in_flight == 0 {
            state.quiet_since = Instant::now();
        }
    }
}
