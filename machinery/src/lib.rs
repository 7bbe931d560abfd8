//! What an API object is: its names and metadata, the errors that speak of it, its schema, its patches and its encodings.
//!
//! Everything here is a function of its arguments. There is no I/O, no async, no clock and no randomness, and nothing
//! here knows of storage or of HTTP connections.

pub mod apply;
pub mod crd;
pub mod decode;
pub mod discovery;
pub mod encode;
mod field;
pub mod field_selector;
pub mod go;
mod group;
pub mod host;
pub mod label;
pub mod media;
pub mod metadata;
pub mod name;
mod object;
pub mod openapi;
mod partial;
pub mod patch;
pub mod proto;
pub mod quantity;
#[cfg(test)]
mod recorded;
mod renamed;
pub mod schema;
mod status;
pub mod table;
mod time;
pub mod watch;

pub use field::{FieldError, FieldErrorKind, FieldErrors, FieldPath, MAX_FIELD_ERRORS};
pub use field_selector::{FieldOperator, FieldRequirement, FieldSelector, FieldSelectorError};
pub use group::{GroupKind, GroupResource, GroupVersion, GroupVersionKind};
pub use label::{LabelSelector, LabelSelectorRequirement};
pub use metadata::{Scope, validate_object_metadata, validate_object_metadata_update};
pub use name::{NameForm, NameRule};
pub use object::{Metadata, Object, OwnerReference};
pub use partial::{ListMeta, MetaVersion, PartialObjectMetadata, PartialObjectMetadataList};
pub use quantity::{Quantity, QuantityError, QuantityFormat};
pub use renamed::Renamed;
pub use status::{Cause, Details, Reason, Status};
pub use time::{format_rfc3339, format_rfc3339_micro, parse_rfc3339};
