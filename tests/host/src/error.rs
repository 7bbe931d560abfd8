//! Why a peer could not be had. Whoever reads these is looking at a failed test, so each says what to do or shows the log.

use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// Why a peer could not be built, started or steered.
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
    /// No place is known for programs that are built once.
    #[error("no cache folder: set BAILIWICK_CACHE_DIR, XDG_CACHE_HOME or HOME")]
    NoCacheFolder,
    /// Go could not be run.
    #[error("cannot run \"go\" to build {tool}: install Go (https://go.dev/dl) and put it on the path")]
    NoGo {
        /// The program to build.
        tool: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Go could not build a program.
    #[error(
        "\"go build\" of {tool} failed; it needs the Go version of go.mod and, the first time, the module proxy:\n{output}"
    )]
    Build {
        /// The program to build.
        tool: &'static str,
        /// What Go printed.
        output: String,
    },
    /// A program could not be started.
    #[error("cannot run \"{}\"", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A signal could not be sent.
    #[error("cannot signal process {pid}")]
    Signal {
        /// The process.
        pid: i32,
        /// The system's reason.
        source: io::Error,
    },
    /// No port is free.
    #[error("no free loopback port")]
    NoPort,
    /// Someone outside these tests took a port first.
    #[error("a port of {daemon} is in use by another program")]
    PortTaken {
        /// The daemon's name.
        daemon: String,
    },
    /// A daemon ended although nobody asked it to.
    #[error("{daemon} ended by itself; the end of its log:\n{log}")]
    Ended {
        /// The daemon's name.
        daemon: String,
        /// The end of its log.
        log: String,
    },
    /// A daemon runs and does not get ready.
    #[error("{daemon} was not ready within {limit:?}; the end of its log:\n{log}")]
    NotReady {
        /// The daemon's name.
        daemon: String,
        /// How long it had.
        limit: Duration,
        /// The end of its log.
        log: String,
    },
    /// A daemon is running and would have to be stopped first.
    #[error("{daemon} is running")]
    Running {
        /// The daemon's name.
        daemon: String,
    },
    /// A daemon is not running.
    #[error("{daemon} is not running")]
    NotRunning {
        /// The daemon's name.
        daemon: String,
    },
    /// The aggregator does not reach a server, or not one it trusts.
    #[error("APIService \"{name}\" is not available: {reason}: {message}")]
    Unavailable {
        /// The APIService's name, such as `v1.example.com`.
        name: String,
        /// The reason of its condition `Available`.
        reason: String,
        /// The message of that condition.
        message: String,
    },
    /// Something did not happen in time.
    #[error("{what} did not happen within {limit:?}")]
    Late {
        /// What was awaited.
        what: &'static str,
        /// How long.
        limit: Duration,
    },
    /// A client program answered with an error.
    #[error("\"{command}\" failed:\n{output}")]
    Command {
        /// The program and its arguments.
        command: String,
        /// What it printed.
        output: String,
    },
    /// A certificate could not be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// A client for a daemon's port could not be made.
    #[error("cannot set up TLS")]
    Tls(#[from] tokio_rustls::rustls::Error),
    /// A certificate or key is not PEM.
    #[error("cannot read PEM")]
    Pem(#[from] tokio_rustls::rustls::pki_types::pem::Error),
    /// A link could not be set up.
    #[error("cannot listen for a link on port {port}")]
    Listen {
        /// The port of the link.
        port: u16,
        /// The system's reason.
        source: io::Error,
    },
}

// === impl Error ===

impl Error {
    /// For `map_err`: a file error that knows which file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }
}
