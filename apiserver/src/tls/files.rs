//! Files that others replace, as a mounted secret is: looked at often, read only when something about them changed.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The largest file read: a bundle of every public authority is below half a megabyte.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// A file that may change.
pub(crate) struct WatchedFile {
    path: PathBuf,
    /// How it looked when it was last looked at.
    seen: Option<Stamp>,
    /// What is in use.
    accepted: Vec<u8>,
    /// It changed, and what it holds has not been accepted.
    pending: bool,
}

/// What looking at a file found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It holds what is in use.
    None,
    /// It holds something new.
    News,
    /// It holds what could not be used before. Perhaps it can be now: the file it goes with may have changed.
    StillPending,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("cannot read {}: {source}; check that the file exists and that you may read it", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Far larger than certificates are.
    #[error("{} is larger than {MAX_FILE_BYTES} bytes: give a PEM file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
}

/// What changes about a file that is replaced, or written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

// === impl WatchedFile ===

impl WatchedFile {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), seen: None, accepted: Vec::new(), pending: true }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is something to be read.
    pub(crate) fn changed(&mut self) -> Change {
        let stamp = fs::metadata(&self.path).ok().map(Stamp::of);
        if stamp == self.seen {
            return if self.pending { Change::StillPending } else { Change::None };
        }
        self.seen = stamp;
        // A file that is only touched, or replaced by its like, is no news.
        self.pending = !self.read().is_ok_and(|content| content == self.accepted);
        if self.pending { Change::News } else { Change::None }
    }

    pub(crate) fn read(&self) -> Result<Vec<u8>, FileError> {
        let unreadable = |source| FileError::Unreadable { path: self.path.clone(), source };
        let file = File::open(&self.path).map_err(unreadable)?;
        let mut content = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut content).map_err(unreadable)?;
        if content.len() as u64 > MAX_FILE_BYTES {
            return Err(FileError::TooLarge { path: self.path.clone() });
        }
        Ok(content)
    }

    /// Remembers what is in use now.
    pub(crate) fn accept(&mut self, content: &[u8]) {
        self.accepted = content.to_vec();
        self.pending = false;
    }
}

// === impl Change ===

impl Change {
    pub(crate) fn any(self) -> bool {
        self != Self::None
    }

    pub(crate) fn is_news(self) -> bool {
        self == Self::News
    }
}

// === impl Stamp ===

impl Stamp {
    fn of(metadata: Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}
