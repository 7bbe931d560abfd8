//! Why a conversation could not be held. Whoever reads these has a case file or a server to repair.

use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use bailiwick_machinery::decode::DecodeError;

/// Why two servers could not be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("cannot use \"{}\"", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file is not YAML.
    #[error("\"{}\" is not YAML", path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: DecodeError,
    },
    /// A file's YAML is not of the expected shape.
    #[error("\"{}\" does not have the expected fields", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// Which field.
        source: serde_json::Error,
    },
    /// A kubeconfig lacks something that a client needs.
    #[error("kubeconfig \"{}\" has no usable \"{field}\"", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What it lacks.
        field: &'static str,
    },
    /// A line of a case file says nothing that is known.
    #[error("{file}:{line}: {problem}")]
    Case {
        /// The name of the case file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: CaseProblem,
    },
    /// A step uses what no earlier step provided.
    #[error("{step}: nothing is called \"${{{name}}}\" here")]
    UnknownVariable {
        /// The step.
        step: String,
        /// The name.
        name: String,
    },
    /// A repetition in a case does not end.
    #[error("{step}: a \"${{repeat}}\" or \"${{list}}\" has no \"${{end}}\" or no number")]
    BadRepetition {
        /// The step.
        step: String,
    },
    /// A step makes no HTTP request.
    #[error("{step}: not an HTTP request")]
    Request {
        /// The step.
        step: String,
        /// Why not.
        source: hyper::http::Error,
    },
    /// A server could not be reached.
    #[error("cannot connect to {address}")]
    Connect {
        /// Its address.
        address: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A server broke off a conversation.
    #[error("{step}: the connection failed")]
    Http {
        /// The step.
        step: String,
        /// What failed.
        source: hyper::Error,
    },
    /// A server did not answer, or did not end its answer.
    #[error("{step}: no end of the answer within {limit:?}")]
    Late {
        /// The step.
        step: String,
        /// How long it had.
        limit: Duration,
    },
    /// A server could not be given what the cases need.
    #[error("{target}: cannot prepare \"{path}\": {status} {body}")]
    Prepare {
        /// The server's name.
        target: String,
        /// What was asked for.
        path: String,
        /// The status of the answer.
        status: u16,
        /// The answer.
        body: String,
    },
    /// A peer could not be started or steered.
    #[error("the test host failed")]
    Host(#[from] bailiwick_test_host::Error),
}

/// What is wrong with a line of a case file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CaseProblem {
    /// Nothing starts like this.
    #[error("neither \"# \", \"## \", a method, a header, an indented body nor \"> name = path\"")]
    Unreadable,
    /// A request before the first scenario.
    #[error("a step needs a scenario: put a line \"## what happens\" above it")]
    NoScenario,
    /// A body, a header or a capture before the first request of a scenario.
    #[error("this belongs to a request, and there is none above it")]
    NoStep,
    /// A request that does not say what it expects.
    #[error("a request ends in \"-> code\" or \"-> code Reason\" (\"-> ?\" until it is recorded)")]
    NoExpectation,
    /// Two scenarios of a file with one name.
    #[error("another scenario of this file has the same name")]
    SameName,
}

// === impl Error ===

impl Error {
    /// For `map_err`: a file error that knows which file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }
}
