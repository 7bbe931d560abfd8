//! The embedded engine: one folder, one process, nothing else needed.
//!
//! ```text
//! commit ──▶ queue ──▶ writer thread ── one fsync for all that wait ──▶ log (redb)
//!                          │
//!                          └── publishes a view (index + log as of the commit) ──▶ get, list, watch
//! ```
//!
//! The log is the truth: a table from revision to record, written at its end. It is at once the objects' storage and
//! the history that watches read. The index (which record holds which key) lives in memory.

mod disk;
mod index;
mod log;
mod record;
mod snapshot;
mod state;
mod view;
mod watch;
mod writer;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

pub use self::disk::{Disk, DiskFile, Folder};
pub use self::snapshot::{SnapshotError, SnapshotSummary};

use self::index::{History, Index, Version};
use self::log::{Log, LogError};
use self::state::{Census, State};
use self::view::View;
use self::watch::LogWatch;
use self::writer::{Request, Writer};
use crate::clock::{Clock, MonotonicClock};
use crate::error::{Error, Result};
use crate::fault::{Fault, Faults};
use crate::key::{Key, Prefix};
use crate::metrics::Metrics;
use crate::retention::Retention;
use crate::revision::Revision;
use crate::store::{At, ListOptions, Lookup, Page, Store, Watch};
use crate::txn::Txn;

/// How many transactions may wait for the writer before the next has to wait for a place.
const QUEUE: usize = 4_096;

/// How long a read waits for a revision that has not been reached.
const FUTURE_WAIT: Duration = Duration::from_secs(3);

/// How the embedded engine is set up.
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// Where the data lies.
    pub disk: Arc<dyn Disk>,
    /// How much history is kept.
    pub history: HistoryOptions,
    /// Below so many free bytes only deletions are taken, so that there is always room for them.
    pub reserve_bytes: u64,
    /// Memory for parts of the file. Reads are served by the cache in front of the engine, so it can be small.
    pub page_cache_bytes: usize,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Receives measurements.
    pub metrics: Metrics,
    /// Mistakes to make, in tests.
    pub faults: Faults,
}

/// How much history is kept. What is older than `age` is forgotten, and so is the oldest beyond `bytes`.
#[derive(Clone, Copy, Debug)]
pub struct HistoryOptions {
    /// The age from which on history is forgotten.
    pub age: Duration,
    /// The most bytes of values kept only for history.
    pub bytes: u64,
}

/// An open store in one folder. Dropping it waits for the commit that is under way.
pub struct Embedded {
    engine: Arc<Engine>,
    /// Taken when the store is dropped, which ends the writer.
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
    compactor: AbortHandle,
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder itself is the problem.
    #[error("cannot {what} the data folder {}: check that its parent exists and that it is a folder you may write to", path.display())]
    Folder {
        /// What was tried.
        what: &'static str,
        /// The folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Another process has it open.
    #[error("the data folder {} is in use by process {holder}: stop that process, or choose another folder", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The other process.
        holder: String,
    },
    /// Written by another version.
    #[error(
        "the data was written by another version of Bailiwick (format {found}): use that version, or restore a snapshot"
    )]
    Version {
        /// The format found.
        found: u8,
    },
    /// Not a store, or one that is damaged beyond use.
    #[error("the data file cannot be used: {reason}; it was left as it is: restore a snapshot into another folder")]
    Unusable {
        /// What is wrong.
        reason: String,
    },
    /// The disk did not answer.
    #[error("the data file cannot be opened")]
    Io(#[source] io::Error),
}

/// What the writer, the readers and the watches share. Not the disk: that is the writer's, and free once it has ended.
struct Engine {
    view: ArcSwap<View>,
    progress: tokio::sync::watch::Sender<Progress>,
    trouble: Mutex<Option<Arc<str>>>,
    metrics: Metrics,
    faults: Faults,
}

/// How far the store has come.
#[derive(Clone, Copy, Debug)]
struct Progress {
    revision: Revision,
    closed: bool,
}

/// A store as it was found on the disk.
struct Loaded {
    log: Log,
    state: State,
    index: Index,
    history: History,
}

// === impl EmbeddedOptions ===

impl EmbeddedOptions {
    /// The defaults, on the given disk.
    pub fn new(disk: Arc<dyn Disk>) -> Self {
        Self {
            disk,
            history: HistoryOptions::default(),
            reserve_bytes: 64 << 20,
            page_cache_bytes: 2 << 20,
            clock: Arc::new(MonotonicClock::default()),
            metrics: Metrics::default(),
            faults: Faults::default(),
        }
    }
}

impl Default for HistoryOptions {
    fn default() -> Self {
        Self { age: Duration::from_secs(300), bytes: 256 << 20 }
    }
}

// === impl Embedded ===

impl Embedded {
    /// Opens the store on a disk, or starts one there.
    pub async fn open(options: EmbeddedOptions) -> Result<Self, OpenError> {
        let opening = tokio::task::spawn_blocking(move || {
            create_if_missing(&*options.disk)?;
            load(&options).map(|loaded| (loaded, options))
        });
        // redb panics on pages that are damaged inside.
        let damaged = |_| OpenError::Unusable { reason: "it is damaged inside".to_owned() };
        let (loaded, options) = opening.await.map_err(damaged)??;
        let (requests, queue) = mpsc::channel(QUEUE);
        let view = View { state: loaded.state, index: loaded.index.clone(), log: loaded.log.reader()? };
        let progress = Progress { revision: view.state.revision, closed: false };
        let engine = Arc::new(Engine {
            view: ArcSwap::from_pointee(view),
            progress: tokio::sync::watch::Sender::new(progress),
            trouble: Mutex::new(None),
            metrics: options.metrics.clone(),
            faults: options.faults.clone(),
        });
        let (clock, retention) = (options.clock.clone(), Retention::new(options.history.age));
        let compacting = compact_by_age(engine.clone(), requests.downgrade(), clock, retention);
        let writer = Writer::new(engine.clone(), options, queue, loaded);
        let writer = std::thread::Builder::new()
            .name("storage-writer".to_owned())
            .spawn(move || writer.run())
            .map_err(OpenError::Io)?;
        let compactor = tokio::spawn(compacting).abort_handle();
        Ok(Self { engine, requests: Some(requests), writer: Some(writer), compactor })
    }

    /// Why no writes are taken, while that is so.
    pub fn trouble(&self) -> Option<Arc<str>> {
        self.engine.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes the newest state to a file, while the store is in use.
    pub async fn save_snapshot(&self, path: impl Into<PathBuf>) -> Result<SnapshotSummary, SnapshotError> {
        let (view, path) = (self.engine.view.load_full(), path.into());
        tokio::task::spawn_blocking(move || snapshot::save(&view, &path)).await.map_err(SnapshotError::interrupted)?
    }

    /// Fills an empty folder from a snapshot. Its revisions continue far above those of the snapshot, so that none that
    /// was given out after the snapshot was saved is given out again.
    pub async fn restore_snapshot(
        path: impl Into<PathBuf>,
        folder: impl Into<PathBuf>,
    ) -> Result<SnapshotSummary, SnapshotError> {
        let (path, folder) = (path.into(), folder.into());
        let restoring = tokio::task::spawn_blocking(move || snapshot::restore(&path, folder));
        restoring.await.map_err(SnapshotError::interrupted)?
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<Result<T>>) -> Request) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let requests = self.requests.as_ref().ok_or(Error::Closed)?;
        requests.send(request(reply)).await.map_err(|_| Error::Closed)?;
        let lost = "the writer stopped before it answered; restart";
        answer.await.map_err(|_| Error::OutcomeUnknown { reason: lost.into() })?
    }
}

#[async_trait]
impl Store for Embedded {
    async fn revision(&self) -> Result<Revision> {
        Ok(self.engine.view.load().state.revision)
    }

    fn known_revision(&self) -> Option<Revision> {
        Some(self.engine.view.load().state.revision)
    }

    async fn get(&self, key: &Key, at: At) -> Result<Lookup> {
        let (view, revision) = self.engine.view_at(at).await?;
        view.get(key, revision)
    }

    async fn list(&self, prefix: &Prefix, options: ListOptions) -> Result<Page> {
        let (view, revision) = self.engine.view_at(options.at).await?;
        let prefix = prefix.clone();
        // A long list reads much of the file.
        let listing = tokio::task::spawn_blocking(move || view.list(&prefix, revision, &options));
        listing.await.map_err(|_| Error::Closed)?
    }

    async fn commit(&self, txn: Txn) -> Result<Revision> {
        txn.validate()?;
        self.ask(|reply| Request::Commit { txn, reply }).await
    }

    async fn watch(&self, prefix: &Prefix, after: Revision) -> Result<Box<dyn Watch>> {
        self.engine.view.load().check_kept(after)?;
        Ok(Box::new(LogWatch::new(self.engine.clone(), prefix.clone(), after)))
    }

    async fn compact(&self, oldest: Revision) -> Result<()> {
        self.ask(|reply| Request::Compact { oldest, reply }).await
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.compactor.abort();
        self.requests = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the storage writer ended by a panic");
        }
    }
}

// === impl Engine ===

impl Engine {
    fn publish(&self, view: View) {
        let revision = view.state.revision;
        self.view.store(Arc::new(view));
        self.progress.send_modify(|progress| progress.revision = revision);
    }

    fn close(&self) {
        self.progress.send_modify(|progress| progress.closed = true);
    }

    fn set_trouble(&self, trouble: Option<Arc<str>>) {
        self.metrics.engine.read_only.set(u64::from(trouble.is_some()));
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// A view that can show what is wanted, and the revision to show.
    async fn view_at(&self, at: At) -> Result<(Arc<View>, Revision)> {
        match at {
            At::Any | At::Latest => {
                let view = self.view.load_full();
                let revision = view.state.revision;
                Ok((view, revision))
            }
            At::NotOlderThan(wanted) => {
                let view = self.view_from(wanted).await?;
                let revision = view.state.revision;
                Ok((view, revision))
            }
            At::Exact(wanted) => {
                let view = self.view_from(wanted).await?;
                view.check_kept(wanted)?;
                Ok((view, wanted))
            }
        }
    }

    /// The newest view, once it has reached `wanted`.
    async fn view_from(&self, wanted: Revision) -> Result<Arc<View>> {
        let mut progress = self.progress.subscribe();
        let reached = progress.wait_for(|progress| progress.revision >= wanted || progress.closed);
        // Whether it was reached is seen below: a time-out and a closed store look alike.
        let _ = tokio::time::timeout(FUTURE_WAIT, reached).await;
        let view = self.view.load_full();
        if view.state.revision < wanted {
            return Err(Error::FutureRevision { requested: wanted, current: view.state.revision });
        }
        Ok(view)
    }
}

// === impl OpenError ===

impl From<LogError> for OpenError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Format(found) => Self::Version { found },
            other => Self::Unusable { reason: other.to_string() },
        }
    }
}

/// Makes an empty store if there is none. Only done when a store is opened: a file that vanishes later is an error.
fn create_if_missing(disk: &dyn Disk) -> Result<(), OpenError> {
    if disk.open().map_err(OpenError::Io)?.is_none() {
        drop(Log::create(disk.create().map_err(OpenError::Io)?, State::new(Revision::FIRST))?);
        disk.adopt().map_err(OpenError::Io)?;
    }
    Ok(())
}

/// Opens the file and rebuilds the index from it.
fn load(options: &EmbeddedOptions) -> Result<Loaded, OpenError> {
    let file = options.disk.open().map_err(OpenError::Io)?;
    let file = file.ok_or_else(|| OpenError::Io(io::ErrorKind::NotFound.into()))?;
    let (log, mut state) = Log::open(file, options.page_cache_bytes, options.faults.clone())?;
    let mut versions = scan(&log, &state)?;
    if options.faults.is_set(Fault::ReuseRevision) {
        state.revision = Revision::new(state.revision.get().saturating_sub(1));
        versions.retain(|version| version.position.revision <= state.revision);
    }
    let (index, history) = Index::build(versions);
    Ok(Loaded { log, state, index, history })
}

/// Every version in the log, if the log holds exactly what its state says.
fn scan(log: &Log, state: &State) -> Result<Vec<Version>, OpenError> {
    let mut versions = Vec::new();
    let mut census = Census::default();
    let mut damaged = None;
    log.reader()?.scan(Revision::ZERO..state.revision.next(), |position, stored| {
        census.add(position);
        match record::decode_head(position, stored) {
            Ok(head) => {
                let bytes = u32::try_from(stored.len()).unwrap_or(u32::MAX);
                versions.push(Version { key: head.key, position, deleted: head.deleted, bytes });
            }
            // Whose value this was cannot be told, so no key could be trusted to be shown as it was last written.
            Err(fault) => damaged = Some(format!("the record of revision {} is damaged: {fault}", position.revision)),
        }
        damaged.is_none()
    })?;
    match damaged {
        Some(reason) => Err(OpenError::Unusable { reason }),
        None if census != state.census => Err(OpenError::Unusable { reason: "records are missing".to_owned() }),
        None => Ok(versions),
    }
}

/// Forgets history as it grows old.
async fn compact_by_age(
    engine: Arc<Engine>,
    requests: mpsc::WeakSender<Request>,
    clock: Arc<dyn Clock>,
    mut retention: Retention,
) {
    let mut ticks = tokio::time::interval(retention.interval());
    loop {
        ticks.tick().await;
        let newest = engine.view.load().state.revision;
        let Some(oldest) = retention.observe(clock.now(), newest) else {
            continue;
        };
        let Some(requests) = requests.upgrade() else {
            return;
        };
        let (reply, _) = oneshot::channel();
        // Never waited for: a handle held here would keep the writer alive. What finds no place is asked for later.
        let _ = requests.try_send(Request::Compact { oldest, reply });
    }
}
