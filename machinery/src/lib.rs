//! What an API object is: its names and metadata, the errors that speak of it, its schema, its patches and its encodings.
//!
//! Everything here is a function of its arguments. There is no I/O, no async, no clock and no randomness, and nothing
//! here knows of storage or of HTTP connections.

pub mod discovery;
mod field;
mod group;
mod object;
mod partial;
pub mod proto;
#[cfg(test)]
mod recorded;
mod status;
pub mod table;
mod time;
pub mod watch;

pub use field::{FieldError, FieldErrorKind, FieldErrors, FieldPath};
pub use group::{GroupKind, GroupResource, GroupVersion, GroupVersionKind};
pub use object::{Metadata, Object, OwnerReference};
pub use partial::{ListMeta, MetaVersion, PartialObjectMetadata, PartialObjectMetadataList};
pub use status::{Cause, Details, Reason, Status};
pub use time::{format_rfc3339, parse_rfc3339};
