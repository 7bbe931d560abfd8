//! Why a client program could not be run, or what it missed.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a client program did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be used.
    #[error("cannot use \"{}\"", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("cannot run \"{command}\": install it and put it on the path")]
    Spawn {
        /// The program and its arguments.
        command: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A program did not end.
    #[error("\"{command}\" did not end within {limit:?}")]
    Late {
        /// The program and its arguments.
        command: String,
        /// How long it had.
        limit: Duration,
    },
    /// A program failed: a client that missed something, or what installs it.
    #[error("\"{command}\" failed:\n{output}")]
    Failed {
        /// The program and its arguments.
        command: String,
        /// What it printed.
        output: String,
    },
    /// There is no place to keep things.
    #[error("the test host failed")]
    Host(#[from] bailiwick_test_host::Error),
}
