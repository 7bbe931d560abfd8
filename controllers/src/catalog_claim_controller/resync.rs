//! Looks again at claims that follow their entries: when a source has changed, and now and then, in case a change went unnoticed.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::Shared;

/// How often everything is looked at again.
const PERIOD: Duration = Duration::from_secs(3_600);

// === impl Shared ===

impl Shared {
    /// Looks again at what has to be, for as long as it is polled.
    pub(super) async fn resync(&self) {
        let mut ticks = interval_at(Instant::now() + PERIOD, PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                entries = self.sources.changed() => {
                    let index = self.index();
                    entries.iter().for_each(|entry| self.queue.extend(index.followers(entry)));
                }
                _ = ticks.tick() => self.queue.extend(self.index().all_followers()),
            }
        }
    }
}
