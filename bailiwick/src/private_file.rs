//! Files that only their owner may read, and that are whole or not there.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Why a file or folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}: {source}; check that you may, and that there is room", path.display())]
pub(crate) struct PrivateFileError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// The content of a file, if it exists.
pub(crate) fn read(path: &Path) -> Result<Option<String>, PrivateFileError> {
    match fs::read_to_string(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed("read", path)(source)),
    }
}

/// Puts a file in its place at once, instead of whatever was there.
pub(crate) fn write(path: &Path, content: &str) -> Result<(), PrivateFileError> {
    let aside = aside(path);
    // One that was left behind may have other permissions, which opening it would keep.
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("replace", &aside)(error)),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(&aside)
        .map_err(failed("create", &aside))?;
    file.write_all(content.as_bytes()).and_then(|()| file.sync_all()).map_err(failed("write", &aside))?;
    fs::rename(&aside, path).map_err(failed("replace", path))
}

/// Makes a folder, and those above it, where they are missing.
pub(crate) fn make_folder(path: &Path) -> Result<(), PrivateFileError> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path).map_err(failed("create the folder", path))
}

fn aside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PrivateFileError {
    let path = path.to_owned();
    move |source| PrivateFileError { what, path, source }
}
