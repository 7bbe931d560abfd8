//! Where entries are written: one thread holds the file, and whoever has an entry hands it over. Another looks after old
//! files.
//!
//! What cannot be written is counted and told in the server's log, entry by entry. In the blocking modes a request is not
//! answered before its entry is handed to the system; in the batch mode it does not wait, and what comes while the queue is
//! full is lost with a word.

mod clearing;
mod file;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bailiwick_registry::Clock;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use self::file::Output;
use super::trail::Unwritten;
use crate::metrics::Metrics;

/// How many entries may wait to be written.
const MAX_WAITING: usize = 10_000;
/// How many entries are written at once.
const MAX_BATCH: usize = 1_024;
/// How long entries gather that nobody waits for, so that the thread is not woken for each. Far less than `MAX_WAITING` come
/// meanwhile.
const GATHERING: Duration = Duration::from_millis(5);

/// A log.
pub struct AuditLog {
    /// requests --entries--> thread; gone when the log is being closed
    entries_tx: Option<mpsc::Sender<Entry>>,
    mode: AuditMode,
    metrics: Arc<Metrics>,
    thread: Option<JoinHandle<()>>,
}

/// How a log is kept.
#[derive(Clone, Debug)]
pub struct AuditLogOptions {
    /// Where.
    pub target: LogTarget,
    /// Who waits for it.
    pub mode: AuditMode,
    /// Of how many bytes a file is before the next one begins; none is no bound.
    pub max_bytes: Option<u64>,
    /// How many old files are kept; none is all.
    pub max_backups: Option<usize>,
    /// For how long old files are kept; none is for ever.
    pub max_age: Option<Duration>,
    /// Whether old files are compressed.
    pub compress: bool,
}

/// Where a log is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// In a file.
    File(PathBuf),
    /// On the standard output.
    Stdout,
}

/// Who waits for a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditMode {
    /// Nobody.
    Batch,
    /// Every request, but it goes on if its entry cannot be written.
    Blocking,
    /// Every request, and it is refused if the entry that it has come cannot be written.
    BlockingStrict,
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum AuditLogError {
    /// The file cannot be opened.
    #[error("the audit log {} cannot be opened: {source}; check that its folder exists and that you may write there", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no thread for it.
    #[error("the audit log's thread cannot be started: {0}")]
    Thread(std::io::Error),
}

/// For a line that was handed over.
#[must_use]
pub(super) struct Receipt {
    /// thread --written?--> request; none where nobody waits
    written_rx: Option<oneshot::Receiver<bool>>,
    mode: AuditMode,
}

/// A line to write, and whom to tell.
struct Entry {
    line: Vec<u8>,
    /// thread --written?--> request
    written_tx: Option<oneshot::Sender<bool>>,
}

// === impl AuditLog ===

impl AuditLog {
    /// Opens a log, and starts its thread.
    pub fn open(options: AuditLogOptions, metrics: Arc<Metrics>, clock: Arc<dyn Clock>) -> Result<Self, AuditLogError> {
        let mode = options.mode;
        let output = Output::open(options, clock)?;
        let (entries_tx, entries_rx) = mpsc::channel(MAX_WAITING);
        let counted = metrics.clone();
        let thread = std::thread::Builder::new().name("audit-log".to_owned());
        let thread = thread.spawn(move || keep(output, mode, entries_rx, &counted)).map_err(AuditLogError::Thread)?;
        Ok(Self { entries_tx: Some(entries_tx), mode, metrics, thread: Some(thread) })
    }

    /// Hands a line over. Once it is, it is written or told of, whatever becomes of who handed it over.
    pub(super) async fn hand_over(&self, line: Vec<u8>) -> Receipt {
        if self.mode == AuditMode::Batch {
            self.write_later(line);
            return Receipt { written_rx: None, mode: self.mode };
        }
        let (written_tx, written_rx) = oneshot::channel();
        let entry = Entry { line, written_tx: Some(written_tx) };
        if let Some(entries_tx) = &self.entries_tx
            && let Err(mpsc::error::SendError(entry)) = entries_tx.send(entry).await
        {
            lost(&self.metrics, "the audit log's thread has ended", &[entry]);
        }
        Receipt { written_rx: Some(written_rx), mode: self.mode }
    }

    /// Writes a line, and waits for nothing.
    pub(super) fn write_later(&self, line: Vec<u8>) {
        let Some(entries_tx) = &self.entries_tx else { return };
        let full = match entries_tx.try_send(Entry { line, written_tx: None }) {
            Ok(()) => return,
            Err(mpsc::error::TrySendError::Full(entry)) => entry,
            Err(mpsc::error::TrySendError::Closed(entry)) => {
                return lost(&self.metrics, "the audit log's thread has ended", &[entry]);
            }
        };
        match Handle::try_current() {
            // The end of a watch, or of a client: its entry waits for its turn.
            Ok(runtime) if self.mode != AuditMode::Batch => {
                let (entries_tx, metrics) = (entries_tx.clone(), self.metrics.clone());
                runtime.spawn(async move {
                    if let Err(mpsc::error::SendError(entry)) = entries_tx.send(full).await {
                        lost(&metrics, "the audit log's thread has ended", &[entry]);
                    }
                });
            }
            _ => lost(&self.metrics, "the audit log's queue is full", &[full]),
        }
    }
}

impl Drop for AuditLog {
    /// Waits until everything is written.
    fn drop(&mut self) {
        drop(self.entries_tx.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the audit log was not closed well");
        }
    }
}

// === impl Receipt ===

impl Receipt {
    /// Waits until the line is written, if that is the mode.
    pub(super) async fn written(self) -> Result<(), Unwritten> {
        let Some(written_rx) = self.written_rx else { return Ok(()) };
        let is_written = written_rx.await.unwrap_or(false);
        if is_written || self.mode == AuditMode::Blocking { Ok(()) } else { Err(Unwritten) }
    }
}

/// Writes entries until nobody has any left.
fn keep(mut output: Output, mode: AuditMode, mut entries_rx: mpsc::Receiver<Entry>, metrics: &Metrics) {
    let mut entries = Vec::with_capacity(MAX_BATCH);
    while entries_rx.blocking_recv_many(&mut entries, MAX_BATCH) > 0 {
        let is_all = entries.len() < MAX_BATCH;
        let outcome = output.write(entries.iter().map(|entry| entry.line.as_slice()));
        if let Err(error) = &outcome {
            lost(metrics, &error.to_string(), &entries);
        }
        for entry in entries.drain(..) {
            if let Some(written_tx) = entry.written_tx {
                // Whoever has gone away does not want to know.
                let _ = written_tx.send(outcome.is_ok());
            }
        }
        if is_all && mode == AuditMode::Batch {
            std::thread::sleep(GATHERING);
        }
    }
}

/// Tells of entries that were not written: who did what, not what it contained.
fn lost(metrics: &Metrics, why: &str, entries: &[Entry]) {
    metrics.audit.errors.add(entries.len() as u64);
    for entry in entries {
        let event: Value = serde_json::from_slice(&entry.line).unwrap_or_default();
        let text = |place: &str| event.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned();
        tracing::error!(
            why,
            audit_id = text("/auditID"),
            stage = text("/stage"),
            user = text("/user/username"),
            impersonated = text("/impersonatedUser/username"),
            verb = text("/verb"),
            uri = text("/requestURI"),
            "an entry of the audit log could not be written"
        );
    }
}

#[cfg(test)]
mod tests;
