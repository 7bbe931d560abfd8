//! What an API object is: its names and metadata, the errors that speak of it, its schema, its patches and its encodings.
//!
//! Everything here is a function of its arguments. There is no I/O, no async, no clock and no randomness, and nothing
//! here knows of storage or of HTTP connections.

mod field;
mod go;
mod group;
mod object;
pub mod schema;
mod status;

pub use field::{FieldError, FieldErrorKind, FieldErrors, FieldPath};
pub use group::{GroupKind, GroupResource, GroupVersion, GroupVersionKind};
pub use object::{Metadata, Object, OwnerReference};
pub use status::{Cause, Details, Reason, Status};
