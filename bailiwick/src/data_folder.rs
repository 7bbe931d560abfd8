//! The folder that holds everything a server has of its own, for one process at a time.
//!
//! ```text
//! bailiwick-data/
//!   lock               held while a process uses the folder
//!   pki/               the authority, the serving and the administrator's certificate, and their keys
//!   service-pki/       behind a cluster, with --service: the authority that the cluster's servers share, and the serving certificate
//!   store/             the embedded store
//!   admin.kubeconfig   for kubectl, with the administrator's certificate inside
//! ```

use std::path::{Path, PathBuf};

use bailiwick_storage::embedded::{Folder, OpenError};

use crate::private_file::{PrivateFileError, make_folder};

/// The data folder, taken.
pub(crate) struct DataFolder {
    path: PathBuf,
    is_new: bool,
    _taken: Folder,
}

/// Why the data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataFolderError {
    #[error(transparent)]
    Missing(#[from] PrivateFileError),
    #[error(transparent)]
    Taken(#[from] OpenError),
}

// === impl DataFolder ===

impl DataFolder {
    /// Takes the folder, and makes it if there is none.
    pub(crate) fn take(path: &Path) -> Result<Self, DataFolderError> {
        let is_new = !path.exists();
        make_folder(path)?;
        let taken = Folder::take(path)?;
        Ok(Self { path: path.to_owned(), is_new, _taken: taken })
    }

    /// Whether it was made just now.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn pki(&self) -> PathBuf {
        self.path.join("pki")
    }

    /// Apart from the other, whose authority vouches for clients where there is no cluster: neither replaces the other.
    pub(crate) fn service_pki(&self) -> PathBuf {
        self.path.join("service-pki")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path.join("admin.kubeconfig")
    }
}
