//! A watch on the embedded engine: a cursor into the log. It holds no queue, so it cannot overflow; a watcher that is
//! slow reads older records, until they are forgotten.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;

use super::{Engine, Progress};
use crate::error::{Error, Result};
use crate::fault::Fault;
use crate::key::Prefix;
use crate::revision::Revision;
use crate::store::{Batch, Watch};

/// With [`Fault::DropEvent`], every event of a revision divisible by this is left out.
const DROPPED: u64 = 5;

pub(super) struct LogWatch {
    engine: Arc<Engine>,
    prefix: Prefix,
    /// Everything up to here has been delivered.
    cursor: Revision,
    /// writer --how far the store has come--> watch
    progress: watch::Receiver<Progress>,
    progress_requested: bool,
    /// Only with [`Fault::RepeatEvent`].
    repeat: bool,
}

impl LogWatch {
    pub(super) fn new(engine: Arc<Engine>, prefix: Prefix, after: Revision) -> Self {
        let progress = engine.progress.subscribe();
        let repeat = engine.faults.is_set(Fault::RepeatEvent);
        Self { engine, prefix, cursor: after, progress, progress_requested: false, repeat }
    }

    /// What has happened since the cursor, if anything.
    fn advance(&mut self) -> Result<Option<Batch>> {
        let view = self.engine.view.load();
        if self.cursor >= view.state.revision {
            return Ok(None);
        }
        view.check_kept(self.cursor)?;
        let mut after = self.cursor;
        if std::mem::take(&mut self.repeat) {
            after = Revision::new(after.get().saturating_sub(1)).max(view.state.compacted);
        }
        let mut batch = view.changes(&self.prefix, after)?;
        if self.engine.faults.is_set(Fault::DropEvent) {
            batch.events.retain(|event| event.revision.get() % DROPPED != 0);
        }
        self.cursor = batch.through;
        Ok(Some(batch))
    }
}

#[async_trait]
impl Watch for LogWatch {
    async fn next(&mut self) -> Result<Batch> {
        loop {
            // Marked as seen before looking: a commit after this line is noticed below.
            let closed = self.progress.borrow_and_update().closed;
            match self.advance()? {
                Some(batch) if !batch.events.is_empty() => return Ok(batch),
                Some(_) => continue,
                None if std::mem::take(&mut self.progress_requested) => {
                    return Ok(Batch { through: self.cursor, events: Vec::new() });
                }
                None if closed => return Err(Error::Closed),
                None => self.progress.changed().await.map_err(|_| Error::Closed)?,
            }
        }
    }

    fn request_progress(&mut self) {
        self.progress_requested = true;
    }
}
