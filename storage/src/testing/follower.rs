//! A watch whose every batch is checked: ordered, unique, whole revisions, nothing behind what was reported.

use super::fixtures::soon;
use crate::error::Result;
use crate::key::Prefix;
use crate::revision::Revision;
use crate::store::{Batch, Event, Store, Watch};

/// Reads a watch and keeps what it delivered.
pub struct Follower {
    /// What was delivered so far, each revision's events in the order of their keys.
    pub events: Vec<Event>,
    /// How far the watch says it has come; at first, where it was opened.
    pub through: Revision,
    watch: Box<dyn Watch>,
    prefix: Prefix,
}

impl Follower {
    /// Opens a watch that must open.
    pub async fn open(store: &dyn Store, prefix: &Prefix, after: Revision) -> Self {
        let watch = soon("opening a watch", store.watch(prefix, after)).await.unwrap();
        Self { events: Vec::new(), through: after, watch, prefix: prefix.clone() }
    }

    /// Reads one batch. The future may be dropped, as that of a watch may.
    pub async fn next(&mut self) -> Result<()> {
        let batch = self.watch.next().await?;
        self.take(batch);
        Ok(())
    }

    /// Asks the watch for its progress.
    pub fn request_progress(&mut self) {
        self.watch.request_progress();
    }

    /// Reads until the watch says it has come to `revision`, for which it is asked once.
    pub async fn until(&mut self, revision: Revision) {
        if self.through < revision {
            self.request_progress();
        }
        while self.through < revision {
            let what = format!("the watch of {:?} coming from {} to {revision}", self.prefix, self.through);
            soon(&what, self.next()).await.unwrap();
        }
    }

    /// Reads until there are `count` events in all, without asking for progress.
    pub async fn collect(&mut self, count: usize) {
        while self.events.len() < count {
            let what = format!("event {} of {count}", self.events.len() + 1);
            soon(&what, self.next()).await.unwrap();
        }
    }

    /// Takes note of a batch.
    fn take(&mut self, mut batch: Batch) {
        let (prefix, through) = (&self.prefix, self.through);
        assert!(batch.through >= through, "a watch that had come to {through} went back: {batch:?}");
        assert!(batch.events.is_sorted_by_key(|event| event.revision), "events are out of order: {batch:?}");
        for event in &batch.events {
            assert!(event.revision > through, "{event:?} was delivered after the watch had come to {through}");
            assert!(event.revision <= batch.through, "{event:?} is behind the batch's own end: {batch:?}");
            assert!(prefix.contains(&event.key), "{event:?} does not belong to {prefix:?}");
        }
        batch.events.sort_by(|a, b| (a.revision, &a.key).cmp(&(b.revision, &b.key)));
        let same = |pair: &[Event]| (pair[0].revision, &pair[0].key) == (pair[1].revision, &pair[1].key);
        assert!(!batch.events.windows(2).any(same), "an event came twice: {batch:?}");
        self.through = batch.through;
        self.events.append(&mut batch.events);
    }
}
