//! Why a run cannot be finished. A figure that is wrong is worse than none, so nothing is skipped: every error ends the run.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::StatusCode;

/// Why a run cannot be finished.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot use \"{}\"", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot find what is needed in \"{path}\": is this Linux?")]
    Proc { path: String },
    #[error("cannot start a peer")]
    Peer(#[from] bailiwick_test_host::Error),
    #[error("cannot connect to etcd")]
    EtcdConnect(#[from] bailiwick_storage::etcd::ConnectError),
    #[error("cannot write to etcd")]
    EtcdWrite(#[from] bailiwick_storage::Error),
    #[error("{0} has no process: it has ended by itself")]
    Ended(String),
    #[error("\"cargo build --release -p bailiwick\" failed; build it, or give --server or --peers-only")]
    Build,
    #[error("cannot run \"{}\"", program.display())]
    Spawn { program: PathBuf, source: io::Error },
    #[error("\"{}\" does not serve {path} within {limit:?}; its log ends with:\n{log}", program.display())]
    NotServing { program: PathBuf, path: String, limit: Duration, log: String },
    #[error("kubeconfig \"{}\" has no usable {field}", path.display())]
    Kubeconfig { path: PathBuf, field: &'static str },
    #[error("cannot set up TLS for {server}")]
    Tls { server: String, source: tokio_rustls::rustls::Error },
    #[error("cannot read a certificate or key for {server}")]
    Pem { server: String, source: tokio_rustls::rustls::pki_types::pem::Error },
    #[error("cannot connect to {address}")]
    Connect { address: String, source: io::Error },
    #[error("HTTP with {uri} failed")]
    Http { uri: String, source: hyper::Error },
    #[error("{method} {uri} was answered with {status}: {answer}")]
    Refused { method: String, uri: String, status: StatusCode, answer: String },
    #[error("{target} does not do the same work as the others: {what}")]
    Unequal { target: &'static str, what: String },
    #[error("{target} did not deliver all events to all watchers within {limit:?}")]
    Undelivered { target: &'static str, limit: Duration },
    #[error("\"{}\" has no line \"{marker}\"", path.display())]
    NoMarker { path: PathBuf, marker: &'static str },
    #[error("--markdown describes our server, which took no part: build it, or give --server")]
    NothingToDescribe,
}

// === impl Error ===

impl Error {
    /// For `map_err`: a file error that knows which file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }
}
