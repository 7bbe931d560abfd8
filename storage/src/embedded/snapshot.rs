//! A copy of the newest state in one file, made while the store is in use, and a new store made from it.
//!
//! ```text
//! "BAILIWICK SNAPSHOT\n"  format  revision        entries…                                     end
//! 19 bytes                1       8               length 4, revision 8, ordinal 4, record      length 0, count 8, CRC-32 4
//! ```
//!
//! A record is what lies in the log, with its own checksums; the checksum at the end covers the whole file. A snapshot
//! appears under its name only when it is complete and durable, and a restored store likewise.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::OpenError;
use super::disk::{Disk, DiskFile, Folder, private_file, sync_folder};
use super::log::{Log, LogBatch, LogError};
use super::record::{self, Position};
use super::state::State;
use super::view::View;
use crate::error::Error;
use crate::key::Prefix;
use crate::limits::MAX_VALUE_BYTES;
use crate::revision::Revision;

const MAGIC: &[u8; 19] = b"BAILIWICK SNAPSHOT\n";
const FORMAT: u8 = 1;
/// What a record can have beside its value: far more than the longest key.
const MAX_RECORD_BYTES: usize = MAX_VALUE_BYTES + (16 << 10);
/// How far a restored store's revisions lie above its snapshot's: more than a store writes between two snapshots.
const RESTORE_GAP: u64 = 1_000_000_000;
/// How many records a restore writes at once.
const RESTORE_CHUNK: usize = 1_000;

/// What a snapshot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotSummary {
    /// The revision it shows.
    pub revision: Revision,
    /// How many keys it holds.
    pub records: u64,
}

/// Why a snapshot cannot be saved or restored.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// A file could not be used.
    #[error("cannot {what} {}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The file is there already.
    #[error("{} exists already: choose another name", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file is no snapshot, or a damaged one.
    #[error("{} is not a whole snapshot: {reason}; nothing was restored", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The folder holds a store.
    #[error("the data folder {} holds a store already: restore into an empty folder", path.display())]
    FolderInUse {
        /// The folder.
        path: PathBuf,
    },
    /// The store could not be read.
    #[error("the store cannot be read")]
    Store(#[source] Error),
    /// The folder could not be used.
    #[error("the data folder cannot be used")]
    Folder(#[from] OpenError),
    /// The program is being shut down.
    #[error("the snapshot was interrupted")]
    Interrupted,
}

/// Reads a snapshot from front to back, adding up its checksum.
struct Reader<'p> {
    path: &'p Path,
    file: BufReader<File>,
    checksum: crc32fast::Hasher,
    revision: Revision,
    records: u64,
}

/// Counts into a checksum what passes through.
struct Summing<W> {
    inner: W,
    checksum: crc32fast::Hasher,
}

// === impl SnapshotError ===

impl SnapshotError {
    pub(super) fn interrupted(_: tokio::task::JoinError) -> Self {
        Self::Interrupted
    }

    fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path },
            _ => Self::File { what, path, source },
        }
    }
}

/// Writes what `view` shows to a new file at `path`.
pub(super) fn save(view: &View, path: &Path) -> Result<SnapshotSummary, SnapshotError> {
    if path.exists() {
        return Err(SnapshotError::Exists { path: path.to_owned() });
    }
    let partial = path.with_added_extension("partial");
    let file = private_file().truncate(true).open(&partial).map_err(SnapshotError::file("create", &partial))?;
    let written = write(view, &file);
    if written.is_err() {
        // Best effort: what remains of a failed snapshot is no snapshot by its name.
        let _ = fs::remove_file(&partial);
    }
    let summary = written.map_err(|error| match error {
        WriteError::Io(source) => SnapshotError::File { what: "write", path: partial.clone(), source },
        WriteError::Store(error) => SnapshotError::Store(error),
    })?;
    fs::hard_link(&partial, path).map_err(SnapshotError::file("create", path))?;
    fs::remove_file(&partial).map_err(SnapshotError::file("remove", &partial))?;
    sync_folder(parent(path)).map_err(SnapshotError::file("write to the folder of", path))?;
    Ok(summary)
}

/// Makes a store in `folder` from the snapshot at `path`.
pub(super) fn restore(path: &Path, folder: PathBuf) -> Result<SnapshotSummary, SnapshotError> {
    // The whole file is checked before anything is written.
    let mut check = Reader::open(path)?;
    while check.next()?.is_some() {}
    let summary = SnapshotSummary { revision: check.revision, records: check.records };

    let disk = Folder::take(&folder)?;
    let io = |error| SnapshotError::Folder(OpenError::Io(error));
    if disk.open().map_err(io)?.is_some() {
        return Err(SnapshotError::FolderInUse { path: folder });
    }
    fill(disk.create().map_err(io)?, &mut Reader::open(path)?)?;
    disk.adopt().map_err(io)?;
    Ok(summary)
}

enum WriteError {
    Io(io::Error),
    Store(Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn write(view: &View, file: &File) -> Result<SnapshotSummary, WriteError> {
    let mut out = Summing { inner: BufWriter::with_capacity(1 << 20, file), checksum: crc32fast::Hasher::new() };
    out.write_all(MAGIC)?;
    out.write_all(&[FORMAT])?;
    out.write_all(&view.state.revision.get().to_be_bytes())?;
    let mut records = 0_u64;
    for version in view.index.range(&Prefix::everything(), None, view.state.revision) {
        // Loading checks the record: a snapshot never passes on damage.
        let stored = view.load_stored(version).map_err(WriteError::Store)?;
        let length = u32::try_from(stored.len()).map_err(io::Error::other)?;
        out.write_all(&length.to_be_bytes())?;
        out.write_all(&version.position.revision.get().to_be_bytes())?;
        out.write_all(&version.position.ordinal.to_be_bytes())?;
        out.write_all(&stored)?;
        records += 1;
    }
    out.write_all(&0_u32.to_be_bytes())?;
    out.write_all(&records.to_be_bytes())?;
    let checksum = out.checksum.clone().finalize();
    out.write_all(&checksum.to_be_bytes())?;
    out.inner.flush()?;
    file.sync_all()?;
    Ok(SnapshotSummary { revision: view.state.revision, records })
}

fn fill(file: Arc<dyn DiskFile>, snapshot: &mut Reader<'_>) -> Result<(), SnapshotError> {
    let unusable = |error: LogError| SnapshotError::Folder(error.into());
    let mut state = State::new(Revision::new(snapshot.revision.get() + RESTORE_GAP));
    let log = Log::create(file, state).map_err(unusable)?;
    let mut more = true;
    while more {
        let mut appends = Vec::with_capacity(RESTORE_CHUNK);
        while more && appends.len() < RESTORE_CHUNK {
            match snapshot.next()? {
                Some((position, stored)) => {
                    state.census.add(position);
                    appends.push((position, stored.to_vec()));
                }
                None => more = false,
            }
        }
        log.commit(&LogBatch { appends, removals: Vec::new(), state }).map_err(unusable)?;
    }
    Ok(())
}

// === impl Reader ===

impl<'p> Reader<'p> {
    fn open(path: &'p Path) -> Result<Self, SnapshotError> {
        let file = File::open(path).map_err(SnapshotError::file("open", path))?;
        let file = BufReader::with_capacity(1 << 20, file);
        let (checksum, revision) = (crc32fast::Hasher::new(), Revision::ZERO);
        let mut reader = Self { path, file, checksum, revision, records: 0 };
        if reader.take::<19>()? != *MAGIC {
            return Err(reader.damaged("it does not begin like one"));
        }
        let [format] = reader.take()?;
        if format != FORMAT {
            return Err(reader.damaged(format!("it has the format {format}, and this program reads format {FORMAT}")));
        }
        reader.revision = Revision::new(u64::from_be_bytes(reader.take()?));
        Ok(reader)
    }

    /// The next record; none at the end, once the file has shown to be whole.
    fn next(&mut self) -> Result<Option<(Position, Bytes)>, SnapshotError> {
        let length = u32::from_be_bytes(self.take()?) as usize;
        if length == 0 {
            return self.check_end().map(|()| None);
        }
        if length > MAX_RECORD_BYTES {
            return Err(self.damaged(format!("a record claims to have {length} bytes")));
        }
        let revision = Revision::new(u64::from_be_bytes(self.take()?));
        let position = Position { revision, ordinal: u32::from_be_bytes(self.take()?) };
        let mut stored = vec![0; length];
        self.fill(&mut stored)?;
        let stored = Bytes::from(stored);
        record::decode(position, &stored)
            .map_err(|fault| self.damaged(format!("the record of revision {revision} is damaged: {fault}")))?;
        self.records += 1;
        Ok(Some((position, stored)))
    }

    fn check_end(&mut self) -> Result<(), SnapshotError> {
        let claimed = u64::from_be_bytes(self.take()?);
        let checksum = self.checksum.clone().finalize();
        if u32::from_be_bytes(self.take()?) != checksum {
            return Err(self.damaged("its checksum does not match"));
        }
        if claimed != self.records {
            return Err(self.damaged(format!("it has {} records and claims {claimed}", self.records)));
        }
        match self.file.read(&mut [0]) {
            Ok(0) => Ok(()),
            _ => Err(self.damaged("there is something behind its end")),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), SnapshotError> {
        self.file.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("it is cut short"),
            _ => SnapshotError::file("read", self.path)(error),
        })?;
        self.checksum.update(bytes);
        Ok(())
    }

    fn damaged(&self, reason: impl Into<String>) -> SnapshotError {
        SnapshotError::Damaged { path: self.path.to_owned(), reason: reason.into() }
    }
}

// === impl Summing ===

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.checksum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
