//! Numbers that many hands change at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

/// A number that goes up and down, and how high it was.
#[derive(Debug, Default)]
pub(crate) struct HighWater {
    now: AtomicI64,
    most: AtomicI64,
}

/// One more of something, until it is dropped.
pub(crate) struct Raised(Arc<HighWater>);

// === impl Count ===

impl Count {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

// === impl HighWater ===

impl HighWater {
    pub(crate) fn raise(self: &Arc<Self>) -> Raised {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        if now > self.most.load(Ordering::Relaxed) {
            self.most.fetch_max(now, Ordering::Relaxed);
        }
        Raised(self.clone())
    }

    /// How high it is.
    pub(crate) fn now(&self) -> i64 {
        self.now.load(Ordering::Relaxed)
    }

    /// How high it was since this was last asked.
    pub(crate) fn take_most(&self) -> i64 {
        let now = self.now.load(Ordering::Relaxed);
        self.most.swap(now, Ordering::Relaxed).max(now)
    }
}

// === impl Raised ===

impl Drop for Raised {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}
