//! The file under the embedded engine, as an interface, so that tests can fail it, fill it and cut its power.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::OpenError;

const DATA_FILE: &str = "store.redb";
const LOCK_FILE: &str = "lock";
/// Only the owner may look: objects hold secrets.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A place for one store. Its file is made aside and takes its place when it is complete, so that a crash while a store
/// is made leaves no store rather than half of one.
pub trait Disk: fmt::Debug + Send + Sync + 'static {
    /// Opens the store's file, if there is one. May be called again after a failure.
    fn open(&self) -> io::Result<Option<Arc<dyn DiskFile>>>;

    /// An empty file aside, in place of any that was left there.
    fn create(&self) -> io::Result<Arc<dyn DiskFile>>;

    /// Makes the file aside the store's own. When this returns, that is durable.
    fn adopt(&self) -> io::Result<()>;

    /// How many bytes can still be written there.
    fn free_bytes(&self) -> io::Result<u64>;
}

/// The store's file. What was written before [`DiskFile::sync`] returns survives a loss of power.
pub trait DiskFile: fmt::Debug + Send + Sync + 'static {
    /// How many bytes it has.
    fn size(&self) -> io::Result<u64>;
    /// Fills `out` from `offset` on.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
    /// Writes at `offset`.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()>;
    /// Cuts it, or extends it by zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Waits until everything written is durable.
    fn sync(&self) -> io::Result<()>;
}

/// A folder of the file system that belongs to one store in one process. It is given up when the value is dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Held locked for as long as the folder is ours.
    _lock: File,
}

// === impl Folder ===

impl Folder {
    /// Takes the folder at `path`, creating it if only the last part of the path is missing.
    pub fn take(path: impl Into<PathBuf>) -> Result<Self, OpenError> {
        let path = path.into();
        let failed = |what: &'static str| {
            let path = path.clone();
            move |source| OpenError::Folder { what, path, source }
        };
        match DirBuilder::new().mode(FOLDER_MODE).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed("create")(error)),
            _ => {}
        }
        let lock_path = path.join(LOCK_FILE);
        let mut lock = private_file().truncate(false).open(&lock_path).map_err(failed("write to"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The holder's id only makes the message better: an unreadable one does not matter.
                let _ = lock.read_to_string(&mut holder);
                return Err(OpenError::InUse { path, holder: holder.trim().to_owned() });
            }
            Err(fs::TryLockError::Error(error)) => return Err(failed("lock")(error)),
        }
        write_holder(&mut lock).map_err(failed("write to"))?;
        sync_folder(&path).map_err(failed("write to"))?;
        Ok(Self { path, _lock: lock })
    }

    fn data_path(&self) -> PathBuf {
        self.path.join(DATA_FILE)
    }

    fn partial_path(&self) -> PathBuf {
        self.data_path().with_added_extension("partial")
    }
}

impl Disk for Folder {
    fn open(&self) -> io::Result<Option<Arc<dyn DiskFile>>> {
        match OpenOptions::new().read(true).write(true).open(self.data_path()) {
            Ok(file) => Ok(Some(Arc::new(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&self) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(private_file().truncate(true).open(self.partial_path())?))
    }

    fn adopt(&self) -> io::Result<()> {
        fs::rename(self.partial_path(), self.data_path())?;
        sync_folder(&self.path)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(&self.path)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

impl DiskFile for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(out, offset)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write_all_at(data, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Options for a file that only its owner can read, made if it is missing.
pub(super) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(FILE_MODE);
    options
}

/// Makes the names in a folder durable: a synced file whose name was lost is lost.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn write_holder(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{}", std::process::id())
}
