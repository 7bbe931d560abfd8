//! Time, as an argument. Only differences matter here, so that a clock that is set does not matter.

use std::time::{Duration, Instant};

/// A source of time that never goes back.
pub trait Clock: Send + Sync + 'static {
    /// The time since some fixed point.
    fn now(&self) -> Duration;
}

/// The machine's own monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock(Instant);

impl Default for MonotonicClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}
