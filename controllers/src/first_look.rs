//! The first look at everything: who does not know all there is must not act on what seems to be missing.

use tokio::sync::watch;

/// How many kinds have not been seen yet.
pub(crate) struct FirstLook(watch::Sender<usize>);

// === impl FirstLook ===

impl FirstLook {
    /// So many kinds are to be seen.
    pub(crate) fn at(kinds: usize) -> Self {
        Self(watch::Sender::new(kinds))
    }

    /// Some objects of a kind were seen; all of them, if that `is_complete`, which is said once of each kind.
    pub(crate) fn saw(&self, is_complete: bool) {
        if is_complete {
            self.0.send_modify(|unseen| *unseen = unseen.saturating_sub(1));
        }
    }

    /// Waits until everything was seen.
    pub(crate) async fn is_over(&self) {
        // Fails only if nobody is left who sees something, and this is one who is.
        let _ = self.0.subscribe().wait_for(|unseen| *unseen == 0).await;
    }
}
