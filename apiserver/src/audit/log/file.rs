//! The file of a log, and the ones before it.
//!
//! ```text
//! audit.log                                 the newest entries
//! audit-2026-11-16T15-04-05.000.log         the ones before, by the time when they were put aside
//! audit-2026-11-16T14-01-17.120.log.gz      compressed
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bailiwick_machinery::{format_rfc3339, parse_rfc3339};
use bailiwick_registry::Clock;

use super::clearing::Clearing;
use super::{AuditLogError, AuditLogOptions, LogTarget};

pub(super) const COMPRESSED: &str = ".gz";

/// Where lines go.
pub(super) enum Output {
    Stdout,
    File(Rotating),
}

/// A file that is put aside when it is large enough.
pub(super) struct Rotating {
    path: PathBuf,
    options: AuditLogOptions,
    clock: Arc<dyn Clock>,
    file: File,
    bytes: u64,
    /// The last line may be there in part only.
    is_torn: bool,
    /// Looks after those that were put aside.
    clearing: Clearing,
}

// === impl Output ===

impl Output {
    pub(super) fn open(options: AuditLogOptions, clock: Arc<dyn Clock>) -> Result<Self, AuditLogError> {
        let path = match &options.target {
            LogTarget::Stdout => return Ok(Self::Stdout),
            LogTarget::File(path) => path.clone(),
        };
        let opened = make_folder(&path).and_then(|()| open(&path));
        let (file, bytes) = opened.map_err(|source| AuditLogError::Open { path: path.clone(), source })?;
        let clearing = Clearing::start(path.clone(), options.clone(), clock.clone()).map_err(AuditLogError::Thread)?;
        clearing.wake();
        Ok(Self::File(Rotating { path, options, clock, file, bytes, is_torn: false, clearing }))
    }

    /// Writes lines. All of them are written, or it is an error.
    pub(super) fn write<'l>(&mut self, lines: impl Iterator<Item = &'l [u8]>) -> io::Result<()> {
        match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                for line in lines {
                    stdout.write_all(line)?;
                }
                stdout.flush()
            }
            Self::File(file) => file.write(lines),
        }
    }
}

// === impl Rotating ===

impl Rotating {
    fn write<'l>(&mut self, lines: impl Iterator<Item = &'l [u8]>) -> io::Result<()> {
        self.follow()?;
        let mut pending = Vec::new();
        for line in lines {
            let bytes = self.bytes + (pending.len() + line.len()) as u64;
            // A line that is larger than a file may be is a file of its own: it is not lost.
            if self.options.max_bytes.is_some_and(|most| bytes > most) && self.bytes + pending.len() as u64 > 0 {
                self.append(&pending)?;
                pending.clear();
                self.rotate()?;
            }
            pending.extend_from_slice(line);
        }
        self.append(&pending)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if std::mem::take(&mut self.is_torn) {
            self.file.write_all(b"\n")?;
        }
        self.is_torn = true;
        self.file.write_all(bytes)?;
        self.is_torn = false;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Opens the file again if it is no longer the one of that name: whoever has moved it has not told us.
    fn follow(&mut self) -> io::Result<()> {
        let ours = self.file.metadata()?;
        let is_ours =
            fs::metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == (ours.dev(), ours.ino()));
        if is_ours {
            return Ok(());
        }
        make_folder(&self.path)?;
        (self.file, self.bytes) = open(&self.path)?;
        self.is_torn = false;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let mut now = self.clock.now();
        let mut aside = backup_path(&self.path, now);
        while aside.exists() || with_suffix(&aside, COMPRESSED).exists() {
            now += Duration::from_millis(1);
            aside = backup_path(&self.path, now);
        }
        fs::rename(&self.path, &aside)?;
        (self.file, self.bytes) = open(&self.path)?;
        self.is_torn = false;
        self.clearing.wake();
        Ok(())
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => fs::create_dir_all(folder),
        None => Ok(()),
    }
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

/// The name's parts before and behind the time.
fn parts(path: &Path) -> (String, String) {
    let text =
        |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default();
    let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy())).unwrap_or_default();
    (format!("{}-", text(path.file_stem())), extension)
}

fn backup_path(path: &Path, time: SystemTime) -> PathBuf {
    let (start, end) = parts(path);
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = format_rfc3339(i64::try_from(since.as_secs()).unwrap_or_default()).unwrap_or_default();
    let seconds = seconds.trim_end_matches('Z').replace(':', "-");
    path.with_file_name(format!("{start}{seconds}.{:03}{end}", since.subsec_millis()))
}

/// The files that were put aside, and when.
pub(super) fn backups(path: &Path) -> Vec<(SystemTime, PathBuf)> {
    let (start, end) = parts(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let backup = |file: fs::DirEntry| {
        let name = file.file_name().into_string().ok()?;
        let name = name.strip_suffix(COMPRESSED).unwrap_or(&name);
        let time = time_of(name.strip_prefix(&start)?.strip_suffix(&end)?)?;
        Some((time, file.path()))
    };
    files.filter_map(backup).collect()
}

/// `2026-11-16T15-04-05.000`
fn time_of(text: &str) -> Option<SystemTime> {
    let (seconds, millis) = text.split_once('.')?;
    let (date, time) = seconds.split_once('T')?;
    let seconds = parse_rfc3339(&format!("{date}T{}Z", time.replace('-', ":")))?;
    let millis: u64 = millis.parse().ok().filter(|_| millis.len() == 3)?;
    Some(UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).ok()?) + Duration::from_millis(millis))
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
