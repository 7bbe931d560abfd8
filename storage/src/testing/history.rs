//! Whether revisions follow real time. A revision is never given out twice, and one that was seen anywhere is never
//! undercut by a call that began later, by whichever client.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::revision::Revision;

/// A record of calls made by many tasks, each with the revision it came back with.
#[derive(Debug, Default)]
pub struct History {
    ticks: AtomicU64,
    spans: Mutex<Vec<Span>>,
}

/// A call that was begun.
#[derive(Debug)]
#[must_use]
pub struct Call(u64);

#[derive(Clone, Copy, Debug)]
struct Span {
    began: u64,
    ended: u64,
    revision: Revision,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Commit,
    Read,
}

impl History {
    /// Before a call.
    pub fn begin(&self) -> Call {
        Call(self.ticks.fetch_add(1, Ordering::SeqCst))
    }

    /// After a commit that succeeded.
    pub fn committed(&self, call: Call, revision: Revision) {
        self.end(call, revision, Kind::Commit);
    }

    /// After a read of the newest state.
    pub fn read(&self, call: Call, revision: Revision) {
        self.end(call, revision, Kind::Read);
    }

    /// Panics if the calls could not have happened on a store with one counter that only grows.
    pub fn check(&self) {
        let mut spans = self.spans.lock().unwrap().clone();
        spans.sort_by_key(|span| span.ended);
        let by_end = spans.clone();
        spans.sort_by_key(|span| span.began);

        let mut ended = by_end.iter().peekable();
        let mut seen = Revision::ZERO;
        for span in &spans {
            while let Some(earlier) = ended.next_if(|earlier| earlier.ended < span.began) {
                seen = seen.max(earlier.revision);
            }
            let follows = if span.kind == Kind::Commit { span.revision > seen } else { span.revision >= seen };
            assert!(follows, "revision {seen} had been seen when this call began: {span:?}");
        }

        let mut commits: Vec<_> = spans.into_iter().filter(|span| span.kind == Kind::Commit).collect();
        commits.sort_by_key(|span| span.revision);
        let repeated = commits.windows(2).find(|pair| pair[0].revision == pair[1].revision);
        assert!(repeated.is_none(), "a revision was given out twice: {repeated:?}");
    }

    fn end(&self, call: Call, revision: Revision, kind: Kind) {
        let ended = self.ticks.fetch_add(1, Ordering::SeqCst);
        self.spans.lock().unwrap().push(Span { began: call.0, ended, revision, kind });
    }
}
