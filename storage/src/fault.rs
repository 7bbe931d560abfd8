//! Seeded bugs. A test suite that has never failed has not been tested: each fault is a mistake a store could have, and
//! `tests/seeded_bugs.rs` shows the suite finding it. Without the feature `testing` no fault can be set, and the checks
//! for them compile to nothing.

/// A mistake that can be switched on in a running store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A commit does not wait for the disk.
    SkipSync,
    /// A write is acknowledged before it is committed.
    AcknowledgeBeforeCommit,
    /// Opening a store takes back the newest revision, which is then given out again.
    ReuseRevision,
    /// A watch leaves out an event.
    DropEvent,
    /// A watch delivers an event twice.
    RepeatEvent,
    /// The cache does not see a deletion.
    MissDelete,
    /// A consistent read does not wait for the cache to catch up.
    StaleRead,
}

/// The faults of one store. Clones share their switches.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    #[cfg(feature = "testing")]
    switches: std::sync::Arc<std::sync::atomic::AtomicU32>,
}

#[cfg(feature = "testing")]
impl Faults {
    /// Switches a fault on.
    pub fn set(&self, fault: Fault) {
        self.switches.fetch_or(1 << fault as u32, std::sync::atomic::Ordering::SeqCst);
    }

    pub(crate) fn is_set(&self, fault: Fault) -> bool {
        self.switches.load(std::sync::atomic::Ordering::SeqCst) & (1 << fault as u32) != 0
    }
}

#[cfg(not(feature = "testing"))]
impl Faults {
    #[inline(always)]
    pub(crate) fn is_set(&self, _fault: Fault) -> bool {
        false
    }
}
