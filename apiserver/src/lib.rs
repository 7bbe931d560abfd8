//! From socket to registry and back.
//!
//! So far: the listener with its certificates, and the one place where a request's method, path and query are read. What
//! comes out is immutable and typed, and the same value is authorized, executed and audited.

mod continue_token;
mod go;
mod listener;
mod options;
mod query;
mod request;
mod request_info;
mod tls;

pub use continue_token::{ContinueToken, ContinueTokenError, Resume};
pub use go::{DurationError, parse_duration};
pub use listener::{BindError, CloseConnection, Handler, HttpLimits, Listener, ListenerOptions, Peer};
pub use options::{
    CreateOptions, DeleteOptions, DeleteQuery, FieldValidation, Freshness, GetOptions, ListAt, ListOptions, PatchKind,
    PatchOptions, PatchQuery, Preconditions, PropagationPolicy, UpdateOptions, WatchOptions, WatchStart,
};
pub use query::Query;
pub use request::{MAX_TARGET_BYTES, Operation, Part, Request, RequestError};
pub use request_info::{RequestInfo, Verb};
pub use tls::{
    CaPool, CaPoolError, CertificateError, ClientCertificate, FileError, IdentityError, Tls, TlsError, TlsFiles, Trust,
};
