//! The durable part of the engine, and the only module that names redb: a table from position to record that grows at
//! its end, and the state beside it. Both change in one atomic commit.
//!
//! Commits are two-phase, so that a crash can never make an older commit slot look newer, and carry the allocator's
//! state (redb's quick repair), so that reopening after a crash does not walk the file.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use redb::{Database, ReadOnlyTable, ReadableDatabase, StorageBackend, TableDefinition};

use super::disk::DiskFile;
use super::record::Position;
use super::state::{State, StateFault};
use crate::fault::{Fault, Faults};
use crate::revision::Revision;

const RECORDS: TableDefinition<'_, (u64, u32), &[u8]> = TableDefinition::new("records");
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
const STATE: &str = "state";

/// An open log.
pub(super) struct Log {
    database: Database,
    failure: Arc<FailureCell>,
}

/// The records as of one commit.
pub(super) struct LogReader {
    records: ReadOnlyTable<(u64, u32), &'static [u8]>,
}

/// What one commit changes.
#[derive(Debug)]
pub(super) struct LogBatch {
    pub(super) appends: Vec<(Position, Vec<u8>)>,
    pub(super) removals: Vec<Position>,
    pub(super) state: State,
}

/// Why the log could not do something.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogError {
    #[error("{0}")]
    Disk(DiskFailure),
    #[error("the file was written by another version of Bailiwick (format {0})")]
    Format(u8),
    #[error("the file's state record is damaged")]
    State,
    #[error(transparent)]
    Database(Box<redb::Error>),
}

/// The first operation of the disk that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{operation} failed: {message}")]
pub(super) struct DiskFailure {
    pub(super) operation: DiskOperation,
    pub(super) kind: io::ErrorKind,
    message: String,
}

/// What was asked of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiskOperation {
    Read,
    Write,
    Grow,
    Sync,
}

#[derive(Debug, Default)]
struct FailureCell(Mutex<Option<DiskFailure>>);

/// What redb sees of the disk. It remembers the first failure, of which redb itself only passes on that there was one.
#[derive(Debug)]
struct Backend {
    file: Arc<dyn DiskFile>,
    failure: Arc<FailureCell>,
    faults: Faults,
}

// === impl Log ===

impl Log {
    /// Opens the log in `file`, which [`Log::create`] made.
    pub(super) fn open(file: Arc<dyn DiskFile>, cache_bytes: usize, faults: Faults) -> Result<(Self, State), LogError> {
        let log = Self::over(file, cache_bytes, faults)?;
        let state = log.stored_state()?.ok_or(LogError::State)?;
        Ok((log, state))
    }

    /// Makes a log in an empty file.
    pub(super) fn create(file: Arc<dyn DiskFile>, state: State) -> Result<Self, LogError> {
        let log = Self::over(file, 0, Faults::default())?;
        log.commit(&LogBatch { appends: Vec::new(), removals: Vec::new(), state })?;
        Ok(log)
    }

    fn over(file: Arc<dyn DiskFile>, cache_bytes: usize, faults: Faults) -> Result<Self, LogError> {
        let failure = Arc::<FailureCell>::default();
        let backend = Backend { file, failure: failure.clone(), faults };
        let opened = Database::builder().set_cache_size(cache_bytes).create_with_backend(backend);
        let database = opened.map_err(|error| failure.explain(error))?;
        Ok(Self { database, failure })
    }

    /// Makes a batch durable. After an error the log must be opened anew.
    pub(super) fn commit(&self, batch: &LogBatch) -> Result<(), LogError> {
        self.try_commit(batch).map_err(|error| self.failure.explain(error))
    }

    /// The records as they are now.
    pub(super) fn reader(&self) -> Result<LogReader, LogError> {
        let open = || -> Result<_, redb::Error> { Ok(self.database.begin_read()?.open_table(RECORDS)?) };
        Ok(LogReader { records: open().map_err(|error| self.failure.explain(error))? })
    }

    fn try_commit(&self, batch: &LogBatch) -> Result<(), redb::Error> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_two_phase_commit(true);
        transaction.set_quick_repair(true);
        {
            let mut records = transaction.open_table(RECORDS)?;
            for (position, record) in &batch.appends {
                records.insert(position.as_key(), record.as_slice())?;
            }
            for position in &batch.removals {
                records.remove(position.as_key())?;
            }
            transaction.open_table(META)?.insert(STATE, batch.state.encode().as_slice())?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn stored_state(&self) -> Result<Option<State>, LogError> {
        let read = || -> Result<_, redb::Error> {
            let meta = self.database.begin_read()?.open_table(META)?;
            Ok(meta.get(STATE)?.map(|stored| stored.value().to_vec()))
        };
        let Some(stored) = read().map_err(|error| self.failure.explain(error))? else {
            return Ok(None);
        };
        State::decode(&stored).map(Some).map_err(|fault| match fault {
            StateFault::Format(other) => LogError::Format(other),
            StateFault::Damaged => LogError::State,
        })
    }
}

// === impl LogReader ===

impl LogReader {
    pub(super) fn get(&self, position: Position) -> Result<Option<Bytes>, LogError> {
        let found = self.records.get(position.as_key()).map_err(LogError::from_redb)?;
        Ok(found.map(|record| Bytes::copy_from_slice(record.value())))
    }

    /// Shows the records of `revisions` in order to `each`, until it returns false.
    pub(super) fn scan(
        &self,
        revisions: Range<Revision>,
        mut each: impl FnMut(Position, &[u8]) -> bool,
    ) -> Result<(), LogError> {
        let range = (revisions.start.get(), 0)..(revisions.end.get(), 0);
        for entry in self.records.range(range).map_err(LogError::from_redb)? {
            let (key, record) = entry.map_err(LogError::from_redb)?;
            let (revision, ordinal) = key.value();
            if !each(Position { revision: Revision::new(revision), ordinal }, record.value()) {
                break;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for LogReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogReader")
    }
}

// === impl LogError ===

impl LogError {
    fn from_redb(error: impl Into<redb::Error>) -> Self {
        Self::Database(Box::new(error.into()))
    }
}

// === impl DiskOperation ===

impl fmt::Display for DiskOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "reading from the disk",
            Self::Write => "writing to the disk",
            Self::Grow => "growing the file",
            Self::Sync => "syncing the disk",
        })
    }
}

// === impl FailureCell ===

impl FailureCell {
    fn note<T>(&self, operation: DiskOperation, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            let failure = DiskFailure { operation, kind: error.kind(), message: error.to_string() };
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        }
        result
    }

    /// The disk's own words where the disk failed, otherwise redb's.
    fn explain(&self, error: impl Into<redb::Error>) -> LogError {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            Some(failure) => LogError::Disk(failure),
            None => LogError::from_redb(error),
        }
    }
}

// === impl Backend ===

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.failure.note(DiskOperation::Read, self.file.size())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.failure.note(DiskOperation::Read, self.file.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.failure.note(DiskOperation::Grow, self.file.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.faults.is_set(Fault::SkipSync) {
            return Ok(());
        }
        self.failure.note(DiskOperation::Sync, self.file.sync())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.failure.note(DiskOperation::Write, self.file.write(offset, data))
    }
}

// === impl Position ===

impl Position {
    fn as_key(self) -> (u64, u32) {
        (self.revision.get(), self.ordinal)
    }
}
