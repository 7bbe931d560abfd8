//! Old files are compressed and removed, on a thread of their own: requests wait for the log, and compressing a file takes
//! seconds. It never touches the file that is being written.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use bailiwick_registry::Clock;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::AuditLogOptions;
use super::file::{COMPRESSED, backups, with_suffix};

/// How many wake-ups wait: one is enough, since whoever comes to look sees everything.
const MAX_WAKE_UPS: usize = 1;

/// A thread that looks after old files. Dropping it waits for the file that is at hand; the others are for the next start.
pub(super) struct Clearing {
    /// log --something was put aside--> thread; gone when the log is being closed
    wake_tx: Option<SyncSender<()>>,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread knows.
struct Clearer {
    path: PathBuf,
    options: AuditLogOptions,
    clock: Arc<dyn Clock>,
    closing: Arc<AtomicBool>,
}

// === impl Clearing ===

impl Clearing {
    /// Starts the thread for the old files of a log.
    pub(super) fn start(path: PathBuf, options: AuditLogOptions, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let closing: Arc<AtomicBool> = Arc::default();
        let clearer = Clearer { path, options, clock, closing: closing.clone() };
        let (wake_tx, wake_rx) = sync_channel(MAX_WAKE_UPS);
        let thread = std::thread::Builder::new().name("audit-log-clear".to_owned());
        let thread = thread.spawn(move || clearer.run(&wake_rx))?;
        Ok(Self { wake_tx: Some(wake_tx), closing, thread: Some(thread) })
    }

    /// Says that there may be something to do. Waits for nothing.
    pub(super) fn wake(&self) {
        if let Some(wake_tx) = &self.wake_tx {
            // Where one waits already, it will see this too.
            let _ = wake_tx.try_send(());
        }
    }
}

impl Drop for Clearing {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        drop(self.wake_tx.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("old audit logs could not be cleared up: their thread panicked");
        }
    }
}

// === impl Clearer ===

impl Clearer {
    fn run(&self, wake_rx: &Receiver<()>) {
        while wake_rx.recv().is_ok() {
            self.clear_up();
        }
    }

    /// Removes old files, then compresses the others. The log goes on whether it succeeds or not.
    fn clear_up(&self) {
        let mut backups = backups(&self.path);
        backups.sort_by(|(one, _), (other, _)| other.cmp(one));
        let youngest = self.options.max_age.and_then(|age| self.clock.now().checked_sub(age));
        let mut kept = Vec::new();
        for (number, (time, path)) in backups.into_iter().enumerate() {
            let is_surplus = self.options.max_backups.is_some_and(|most| number >= most);
            let is_old = youngest.is_some_and(|youngest| time < youngest);
            if is_surplus || is_old {
                tell(&path, fs::remove_file(&path));
            } else {
                kept.push(path);
            }
        }
        let is_compressed = |path: &PathBuf| path.to_string_lossy().ends_with(COMPRESSED);
        for path in kept.into_iter().filter(|path| self.options.compress && !is_compressed(path)) {
            if self.closing.load(Ordering::Relaxed) {
                return;
            }
            tell(&path, compress(&path));
        }
    }
}

fn tell(path: &Path, done: io::Result<()>) {
    if let Err(error) = done {
        tracing::warn!(%error, path = %path.display(), "an old audit log could not be cleared up");
    }
}

/// Compresses a file beside itself, under another name until it is whole.
fn compress(path: &Path) -> io::Result<()> {
    let unfinished = with_suffix(path, ".gz.tmp");
    let target = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    let mut encoder = GzEncoder::new(target, Compression::default());
    io::copy(&mut File::open(path)?, &mut encoder)?;
    encoder.finish()?.sync_all()?;
    fs::rename(&unfinished, with_suffix(path, COMPRESSED))?;
    fs::remove_file(path)
}
