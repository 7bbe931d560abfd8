//! The one writer. A thread takes every transaction that waits, checks each against the state its predecessors leave,
//! and makes them all durable in one commit: the more writers wait, the more of them share an fsync.
//!
//! Nothing is acknowledged, refused or shown to a reader before the commit it depends on has returned. If the disk
//! fails, nobody guesses what reached it: the store becomes read-only, and says why.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::index::{History, Index, Version};
use super::log::{DiskOperation, Log, LogBatch, LogError};
use super::record::{self, Position};
use super::state::State;
use super::view::View;
use super::{EmbeddedOptions, Engine, Loaded, load};
use crate::error::{Conflict, Error, Result};
use crate::fault::Fault;
use crate::key::Key;
use crate::revision::Revision;
use crate::txn::{Expected, Guard, Txn};

/// The most transactions in one commit: enough to make an fsync cheap, few enough to keep the first one's wait short.
const MAX_GROUP: usize = 512;
/// The most bytes of transactions in one commit.
const MAX_GROUP_BYTES: usize = 8 << 20;
/// The most forgotten versions that one commit drops, so that a compaction never holds up writers for long.
const MAX_DROPS: usize = 1_000;
/// How long to leave a disk alone that was full.
const RECOVERY_PAUSE: Duration = Duration::from_millis(500);

/// What is asked of the writer.
pub(super) enum Request {
    Commit { txn: Txn, reply: oneshot::Sender<Result<Revision>> },
    Compact { oldest: Revision, reply: oneshot::Sender<Result<()>> },
}

/// The writer's own state; readers see only the views it publishes.
pub(super) struct Writer {
    engine: Arc<Engine>,
    options: EmbeddedOptions,
    /// requests --waiting transactions--> writer
    requests: mpsc::Receiver<Request>,
    /// None while the disk cannot be opened.
    log: Option<Log>,
    state: State,
    index: Index,
    history: History,
    trouble: Option<Trouble>,
}

/// Why no writes are taken.
struct Trouble {
    reason: Arc<str>,
    /// When to try again; a disk that failed to sync is never trusted again.
    retry_at: Option<Duration>,
}

/// What to take over from a file that was opened anew.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Adopt {
    /// Only the means to read: what a failed sync left in the file must not be shown, for it may vanish again.
    OnlyReader,
    /// Whatever the file says.
    Everything,
}

/// A commit in the making.
struct Draft {
    state: State,
    index: Index,
    superseded: Vec<(Revision, Version)>,
    appends: Vec<(Position, Vec<u8>)>,
    drops: Vec<Version>,
    /// Answers that wait for the commit.
    answers: Vec<Answer>,
}

enum Answer {
    Committed { reply: oneshot::Sender<Result<Revision>>, result: Result<Revision> },
    Compacted { reply: oneshot::Sender<Result<()>>, result: Result<()> },
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(
        engine: Arc<Engine>,
        options: EmbeddedOptions,
        requests: mpsc::Receiver<Request>,
        Loaded { log, state, index, history }: Loaded,
    ) -> Self {
        Self { engine, options, requests, log: Some(log), state, index, history, trouble: None }
    }

    /// Works until every handle to the store is gone.
    pub(super) fn run(mut self) {
        loop {
            let first = if self.drops_wait() {
                match self.requests.try_recv() {
                    Ok(request) => Some(request),
                    Err(mpsc::error::TryRecvError::Empty) => None,
                    Err(mpsc::error::TryRecvError::Disconnected) => break,
                }
            } else {
                match self.requests.blocking_recv() {
                    Some(request) => Some(request),
                    None => break,
                }
            };
            let group = self.collect(first);
            self.serve(group);
        }
    }

    /// The requests that wait, within the bounds of one commit.
    fn collect(&mut self, first: Option<Request>) -> Vec<Request> {
        let mut group = Vec::new();
        let mut bytes = 0;
        let mut next = first;
        while let Some(request) = next {
            if let Request::Commit { txn, .. } = &request {
                bytes += txn.bytes();
            }
            group.push(request);
            if group.len() >= MAX_GROUP || bytes >= MAX_GROUP_BYTES {
                break;
            }
            next = self.requests.try_recv().ok();
        }
        group
    }

    fn serve(&mut self, group: Vec<Request>) {
        self.try_recover();
        if let Some(trouble) = &self.trouble {
            let reason = trouble.reason.clone();
            group.into_iter().for_each(|request| request.refuse(&Error::ReadOnly { reason: reason.clone() }));
            return;
        }
        let mut draft = Draft::new(self.state, self.index.clone());
        let shortage = self.shortage();
        for request in group {
            match request {
                Request::Commit { txn, reply } => {
                    let result = match &shortage {
                        Some(reason) if !txn.only_deletes() => Err(Error::ReadOnly { reason: reason.clone() }),
                        _ => draft.apply(&txn),
                    };
                    draft.answers.push(Answer::Committed { reply, result });
                }
                Request::Compact { oldest, reply } => {
                    let result = draft.compact(oldest);
                    draft.answers.push(Answer::Compacted { reply, result });
                }
            }
        }
        let bound = self.options.history.bytes;
        if let Some(oldest) = self.history.oldest_within(bound) {
            draft.forget(oldest);
        }
        draft.drop_forgotten(&self.history);
        self.commit(draft);
    }

    fn commit(&mut self, mut draft: Draft) {
        if self.options.faults.is_set(Fault::AcknowledgeBeforeCommit) {
            draft.answers.drain(..).for_each(Answer::send);
        }
        if draft.changes(&self.state) {
            let batch = LogBatch {
                appends: std::mem::take(&mut draft.appends),
                removals: draft.drops.iter().map(|version| version.position).collect(),
                state: draft.state,
            };
            let began = self.now();
            let committed = match &self.log {
                Some(log) => log.commit(&batch).and_then(|()| log.reader()),
                None => return draft.fail(&Error::Closed),
            };
            let log = match committed {
                Ok(reader) => reader,
                Err(failure) => return self.fail(&failure, draft),
            };
            self.state = draft.state;
            self.index = draft.index;
            self.history.extend(draft.superseded);
            self.history.pop(draft.drops.len());
            self.engine.publish(View { state: self.state, index: self.index.clone(), log });
            self.measure(draft.answers.len(), self.now().saturating_sub(began));
        }
        draft.answers.into_iter().for_each(Answer::send);
    }

    fn measure(&self, transactions: usize, took: Duration) {
        let metrics = &self.options.metrics.engine;
        metrics.commits.inc();
        metrics.commit_seconds.observe(took.as_secs_f64());
        metrics.commit_transactions.observe(transactions as f64);
        metrics.revision.set(self.state.revision.get());
        metrics.compacted_revision.set(self.state.compacted.get());
        metrics.history_bytes.set(self.history.bytes());
        metrics.versions.set(self.index.len() as u64);
    }

    fn drops_wait(&self) -> bool {
        self.trouble.is_none() && self.history.peek(0, self.state.compacted).is_some()
    }

    /// Why nothing that grows the store is taken, if the disk is nearly full. What remains is kept for deletions.
    fn shortage(&self) -> Option<Arc<str>> {
        let reserve = self.options.reserve_bytes;
        let free = self.options.disk.free_bytes().ok()?;
        (free < reserve).then(|| {
            let (free, reserve) = (free >> 20, reserve >> 20);
            format!(
                "{free} MiB are free where the data folder lies, less than the {reserve} MiB kept in reserve: \
                 free some space; deletions are still taken"
            )
            .into()
        })
    }

    /// Answers the writers of a failed commit and stops taking writes.
    fn fail(&mut self, failure: &LogError, draft: Draft) {
        let sync_failed = matches!(failure, LogError::Disk(disk) if disk.operation == DiskOperation::Sync);
        let (advice, retry_at) = if sync_failed {
            // The kernel may have dropped what it could not write, and a second sync would not tell.
            ("the disk cannot be trusted any more: check it, then restart", None)
        } else {
            ("writes are tried again once there is space and the disk answers", Some(self.now() + RECOVERY_PAUSE))
        };
        let reason: Arc<str> = format!("{failure}; {advice}").into();
        tracing::error!(%reason, "a commit failed, the store takes no writes");
        self.enter(Trouble { reason: reason.clone(), retry_at });
        // A commit that failed may still have reached the file. Only if it has not can its writers be told so.
        let before = self.state;
        self.reopen(if sync_failed { Adopt::OnlyReader } else { Adopt::Everything });
        let untouched = !sync_failed && self.log.is_some() && self.state == before;
        draft.fail(&if untouched { Error::ReadOnly { reason } } else { Error::OutcomeUnknown { reason } });
    }

    fn enter(&mut self, trouble: Trouble) {
        self.engine.set_trouble(Some(trouble.reason.clone()));
        self.trouble = Some(trouble);
    }

    /// Tries to take writes again after the disk was full.
    fn try_recover(&mut self) {
        let due = self.trouble.as_ref().and_then(|trouble| trouble.retry_at).is_some_and(|at| self.now() >= at);
        if !due {
            return;
        }
        if self.log.is_none() {
            self.reopen(Adopt::Everything);
        }
        // Only a commit shows that commits work again.
        let state = self.state;
        let probe = LogBatch { appends: Vec::new(), removals: Vec::new(), state };
        let tried = self.log.as_ref().map(|log| log.commit(&probe));
        match tried {
            Some(Ok(())) => {
                tracing::info!("the store takes writes again");
                self.engine.set_trouble(None);
                self.trouble = None;
            }
            Some(Err(failure)) => self.fail(&failure, Draft::new(self.state, self.index.clone())),
            None => {
                let retry_at = Some(self.now() + RECOVERY_PAUSE);
                if let Some(trouble) = &mut self.trouble {
                    trouble.retry_at = retry_at;
                }
            }
        }
    }

    /// Opens the log anew: after a failed operation redb refuses further ones, reads included.
    fn reopen(&mut self, adopt: Adopt) {
        self.log = None;
        let opened = load(&self.options).and_then(|loaded| Ok((loaded.log.reader()?, loaded)));
        match opened {
            Ok((reader, loaded)) => {
                if adopt == Adopt::Everything {
                    (self.state, self.index, self.history) = (loaded.state, loaded.index, loaded.history);
                }
                self.engine.publish(View { state: self.state, index: self.index.clone(), log: reader });
                self.log = Some(loaded.log);
            }
            Err(error) => tracing::error!(error = &error as &dyn std::error::Error, "the data file cannot be opened"),
        }
    }

    fn now(&self) -> Duration {
        self.options.clock.now()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // redb panics on pages that are damaged inside. Nobody can tell what else is: nothing is written any more.
            self.engine.set_trouble(Some("the writer failed, the data file may be damaged; restart".into()));
        }
        self.engine.close();
    }
}

// === impl Draft ===

impl Draft {
    fn new(state: State, index: Index) -> Self {
        let (superseded, appends, drops, answers) = Default::default();
        Self { state, index, superseded, appends, drops, answers }
    }

    /// Adds a transaction, or says which expectation does not hold.
    fn apply(&mut self, txn: &Txn) -> Result<Revision> {
        if let Some(conflict) = txn.guards.iter().find_map(|guard| self.violation(guard)) {
            return Err(Error::Conflict(conflict));
        }
        let revision = self.state.revision.next();
        self.state.revision = revision;
        for (ordinal, write) in (0..).zip(&txn.writes) {
            self.append(Position { revision, ordinal }, &write.key, write.value.as_ref());
        }
        Ok(revision)
    }

    fn violation(&self, guard: &Guard) -> Option<Conflict> {
        let actual = self.index.find(&guard.key, self.state.revision).map(|version| version.position.revision);
        let holds = match guard.expected {
            Expected::Absent => actual.is_none(),
            Expected::At(revision) => actual == Some(revision),
        };
        (!holds).then(|| Conflict { key: guard.key.clone(), expected: guard.expected, actual })
    }

    fn append(&mut self, position: Position, key: &Key, value: Option<&Bytes>) {
        let record = record::encode(position, key, value.map(|value| &value[..]));
        let bytes = u32::try_from(record.len()).unwrap_or(u32::MAX);
        let version = Version { key: key.clone(), position, deleted: value.is_none(), bytes };
        self.index.push(version, &mut self.superseded);
        self.state.census.add(position);
        self.appends.push((position, record));
    }

    fn compact(&mut self, oldest: Revision) -> Result<()> {
        if oldest > self.state.revision {
            return Err(Error::FutureRevision { requested: oldest, current: self.state.revision });
        }
        self.forget(oldest);
        Ok(())
    }

    fn forget(&mut self, oldest: Revision) {
        self.state.compacted = self.state.compacted.max(oldest);
    }

    /// Drops some of the versions that the committed state no longer needs. Those superseded in this very commit wait
    /// for the next.
    fn drop_forgotten(&mut self, history: &History) {
        let forgotten = (0..MAX_DROPS).map_while(|nth| history.peek(nth, self.state.compacted));
        self.drops = forgotten.cloned().collect();
        for version in &self.drops {
            self.index.remove(version);
            self.state.census.remove(version.position);
        }
    }

    fn changes(&self, committed: &State) -> bool {
        self.state != *committed || !self.drops.is_empty()
    }

    fn fail(self, error: &Error) {
        self.answers.into_iter().for_each(|answer| answer.fail(error));
    }
}

// === impl Request ===

impl Request {
    fn refuse(self, error: &Error) {
        match self {
            Self::Commit { reply, .. } => Answer::Committed { reply, result: Err(error.clone()) }.send(),
            Self::Compact { reply, .. } => Answer::Compacted { reply, result: Err(error.clone()) }.send(),
        }
    }
}

// === impl Answer ===

impl Answer {
    /// Tells the writer, who may have stopped waiting.
    fn send(self) {
        match self {
            Self::Committed { reply, result } => drop(reply.send(result)),
            Self::Compacted { reply, result } => drop(reply.send(result)),
        }
    }

    fn fail(self, error: &Error) {
        match self {
            Self::Committed { reply, .. } => Self::Committed { reply, result: Err(error.clone()) }.send(),
            Self::Compacted { reply, .. } => Self::Compacted { reply, result: Err(error.clone()) }.send(),
        }
    }
}
