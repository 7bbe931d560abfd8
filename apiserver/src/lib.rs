//! From socket to registry and back.
//!
//! So far: the one place where a request's method, path and query are read. What comes out is immutable and typed, and the
//! same value is authorized, executed and audited.

mod continue_token;
mod discovery;
mod go;
mod health;
mod options;
mod query;
mod request;
mod request_info;
mod version;

pub use continue_token::{ContinueToken, ContinueTokenError, Resume};
pub use discovery::Discovery;
pub use health::{Endpoints, Health, HealthCheck, Unhealthy};
pub use options::{
    CreateOptions, DeleteOptions, DeleteQuery, FieldValidation, Freshness, GetOptions, ListAt, ListOptions, PatchKind,
    PatchOptions, PatchQuery, Preconditions, PropagationPolicy, UpdateOptions, WatchOptions, WatchStart,
};
pub use query::Query;
pub use request::{MAX_TARGET_BYTES, Operation, Part, Request, RequestError};
pub use request_info::{RequestInfo, Verb};
pub use version::{GIT_VERSION, ServerVersion};
