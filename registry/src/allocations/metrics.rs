//! What operators can see of decisions about quotas. Numbers only: how they are called is a matter of whoever tells them.

use std::sync::atomic::{AtomicU64, Ordering};

/// What came of a decision about a ResourceQuota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It fits, or no allocation applies.
    Allowed,
    /// There is not enough left of an allocation.
    Exceeded,
    /// It would leave a resource unlimited that an allocation limits.
    Uncovered,
    /// Projects are being counted.
    Counting,
    /// What there is has not been seen yet.
    NotReady,
    /// More allocations apply than can be written together.
    TooMany,
    /// More is to be written down about a project than fits.
    TooLarge,
    /// Nothing could be decided.
    Failed,
}

/// Counts decisions, and what was reserved by them.
#[derive(Debug, Default)]
pub struct QuotaMetrics {
    decisions: [AtomicU64; Outcome::ALL.len()],
    reservations: AtomicU64,
    released: AtomicU64,
    conflicts: AtomicU64,
    restarts: AtomicU64,
}

// === impl Outcome ===

impl Outcome {
    /// All there are.
    pub const ALL: [Self; 8] = [
        Self::Allowed,
        Self::Exceeded,
        Self::Uncovered,
        Self::Counting,
        Self::NotReady,
        Self::TooMany,
        Self::TooLarge,
        Self::Failed,
    ];

    /// As labels of metrics have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Exceeded => "exceeded",
            Self::Uncovered => "uncovered",
            Self::Counting => "counting",
            Self::NotReady => "not_ready",
            Self::TooMany => "too_many",
            Self::TooLarge => "too_large",
            Self::Failed => "error",
        }
    }
}

// === impl QuotaMetrics ===

impl QuotaMetrics {
    /// How many decisions came to this.
    pub fn decisions(&self, outcome: Outcome) -> u64 {
        self.decisions[outcome as usize].load(Ordering::Relaxed)
    }

    /// How many reservations there are of which is not known yet what became of them.
    pub fn reservations(&self) -> u64 {
        self.reservations.load(Ordering::Relaxed)
    }

    /// How many reservations have ended because their write did not happen.
    pub fn released(&self) -> u64 {
        self.released.load(Ordering::Relaxed)
    }

    /// How often decisions were made anew because another server was faster.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.load(Ordering::Relaxed)
    }

    /// How often all projects were counted anew because something failed.
    pub fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    pub(super) fn decided(&self, outcome: Outcome) {
        self.decisions[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn set_reservations(&self, count: usize) {
        self.reservations.store(count as u64, Ordering::Relaxed);
    }

    pub(super) fn add_released(&self, count: usize) {
        self.released.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(super) fn restarted(&self) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn conflicted(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
    }
}
