//! Copies of the embedded store, and stores made from them.

use std::path::PathBuf;

use bailiwick_storage::Metrics;
use bailiwick_storage::embedded::{Embedded, OpenError, SnapshotError, SnapshotSummary};

use crate::data_folder::{DataFolder, DataFolderError};
use crate::flags::SnapshotFlags;
use crate::report;
use crate::store::open_embedded;

/// Why there is no snapshot, or no store from it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SnapshotCommandError {
    #[error(transparent)]
    Folder(#[from] DataFolderError),
    #[error("there is no store in {}: give the data folder of a server with --data-dir", .0.display())]
    NoStore(PathBuf),
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// Writes the store to a file.
pub(crate) async fn save(flags: SnapshotFlags) -> Result<(), SnapshotCommandError> {
    // Looked for before anything is made.
    let store = flags.data.data_dir.join("store");
    if !store.is_dir() {
        return Err(SnapshotCommandError::NoStore(flags.data.data_dir));
    }
    let folder = DataFolder::take(&flags.data.data_dir)?;
    let store = open_embedded(&folder.store(), Metrics::default()).await?;
    let summary = store.save_snapshot(&flags.file).await?;
    report::line(format!("saved {} to {}", describe(summary), flags.file.display()));
    Ok(())
}

/// Makes a store from a file.
pub(crate) async fn restore(flags: SnapshotFlags) -> Result<(), SnapshotCommandError> {
    let folder = DataFolder::take(&flags.data.data_dir)?;
    let summary = Embedded::restore_snapshot(&flags.file, folder.store()).await?;
    report::line(format!("restored {} to {}", describe(summary), folder.path().display()));
    Ok(())
}

fn describe(SnapshotSummary { revision, records }: SnapshotSummary) -> String {
    format!("{records} records as of revision {revision}")
}
