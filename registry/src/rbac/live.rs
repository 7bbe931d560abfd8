//! The policy as it is now.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use super::policy::{Policy, PolicyChange, RoleSource};

/// The policy as it is now. Readers take the newest picture and never wait; changes are made one after the other.
#[derive(Debug, Default)]
pub struct LivePolicy {
    newest: ArcSwap<Policy>,
    /// Held while a picture is made from the newest one, so that no change is lost.
    changing: Mutex<()>,
}

// === impl LivePolicy ===

impl LivePolicy {
    /// Makes changes. Readers see all of them, or none yet; they are effective when this returns.
    pub fn apply(&self, changes: impl IntoIterator<Item = PolicyChange>) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut policy = Policy::clone(&self.newest.load());
        changes.into_iter().for_each(|change| policy.apply(change));
        self.newest.store(Arc::new(policy));
    }

    /// Takes another policy, whatever there was before.
    pub fn replace(&self, policy: Policy) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.newest.store(Arc::new(policy));
    }
}

impl RoleSource for LivePolicy {
    fn policy(&self) -> Arc<Policy> {
        self.newest.load_full()
    }
}
