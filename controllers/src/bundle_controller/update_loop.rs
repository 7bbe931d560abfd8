//! What was written lately. It tells that somebody else keeps changing or deleting what a Bundle says, so that the two do not
//! write for ever.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

/// How often what others have changed or deleted is put right within [`WINDOW`]. After that it is left to people.
const MAX_CORRECTIONS: usize = 5;
const WINDOW: Duration = Duration::from_secs(600);

/// What was written of one resource. It is kept whether or not the object is looked at meanwhile: whoever forgets it takes the
/// next change of somebody else for a wish of the Bundle's, and does not count it.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// What was applied last.
    pub(super) applied: Option<Value>,
    pub(super) corrections: Corrections,
}

/// What has been put right lately in one object.
#[derive(Clone, Debug, Default)]
pub(super) struct Corrections {
    when: VecDeque<Instant>,
    /// Who had changed it, and which fields.
    who: BTreeSet<String>,
}

// === impl Corrections ===

impl Corrections {
    /// Whether what somebody has changed should not be put right any more. It says who has changed it.
    pub(super) fn are_too_many(&mut self, now: Instant) -> Option<String> {
        while self.when.front().is_some_and(|then| now.duration_since(*then) > WINDOW) {
            self.when.pop_front();
        }
        if self.when.len() < MAX_CORRECTIONS {
            return None;
        }
        let who = self.who.iter().cloned().collect::<Vec<_>>().join("; ");
        let who = if who.is_empty() { "another client keeps changing the object".to_owned() } else { who };
        Some(format!(
            "{who}; it was put right {MAX_CORRECTIONS} times within {} minutes, and is now left as it is. \
             Take the fields or the object out of the Bundle, or stop the other client; the next change of the Bundle tries again",
            WINDOW.as_secs() / 60
        ))
    }

    /// Notes that it was put right.
    pub(super) fn note(&mut self, now: Instant, who: impl IntoIterator<Item = String>) {
        self.when.push_back(now);
        self.who.extend(who);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P-8: it ends after some corrections, says with whom, and begins again when time has passed.
    #[tokio::test(start_paused = true)]
    async fn corrections_have_an_end() {
        let mut corrections = Corrections::default();
        for _ in 0..MAX_CORRECTIONS {
            assert_eq!(corrections.are_too_many(Instant::now()), None);
            corrections.note(Instant::now(), ["\"scaler\" sets .spec.replicas".to_owned()]);
            tokio::time::advance(Duration::from_secs(10)).await;
        }
        let told = corrections.are_too_many(Instant::now()).unwrap();
        assert!(told.contains("\"scaler\" sets .spec.replicas"), "{told}");
        tokio::time::advance(WINDOW).await;
        assert_eq!(corrections.are_too_many(Instant::now()), None);
    }
}
