//! How much history to keep: which revision was the newest one so long ago.

use std::collections::VecDeque;
use std::time::Duration;

use crate::revision::Revision;

/// Samples of the revision over time, no denser than needed to forget what is older than an age.
#[derive(Debug)]
pub(crate) struct Retention {
    age: Duration,
    samples: VecDeque<(Duration, Revision)>,
}

impl Retention {
    /// History younger than `age` is kept.
    pub(crate) fn new(age: Duration) -> Self {
        Self { age, samples: VecDeque::new() }
    }

    /// How often to look: often enough to be at most a tenth late.
    pub(crate) fn interval(&self) -> Duration {
        (self.age / 10).max(Duration::from_millis(10))
    }

    /// Notes the newest revision, and says which one history may begin at now.
    pub(crate) fn observe(&mut self, now: Duration, newest: Revision) -> Option<Revision> {
        self.samples.push_back((now, newest));
        let mut oldest = None;
        while let Some((at, revision)) = self.samples.front().copied() {
            if now.saturating_sub(at) < self.age {
                break;
            }
            oldest = Some(revision);
            self.samples.pop_front();
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn history_begins_where_the_store_was_one_age_ago() {
        let mut retention = Retention::new(seconds(300));
        assert_eq!(retention.observe(seconds(0), Revision::new(10)), None);
        assert_eq!(retention.observe(seconds(100), Revision::new(20)), None);
        assert_eq!(retention.observe(seconds(299), Revision::new(30)), None);
        assert_eq!(retention.observe(seconds(300), Revision::new(40)), Some(Revision::new(10)));
        assert_eq!(retention.observe(seconds(600), Revision::new(50)), Some(Revision::new(40)));
    }

    #[test]
    fn a_clock_that_stands_still_forgets_nothing() {
        let mut retention = Retention::new(seconds(1));
        for revision in 0..100 {
            assert_eq!(retention.observe(seconds(7), Revision::new(revision)), None);
        }
    }
}
