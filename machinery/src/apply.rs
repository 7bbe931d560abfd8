//! Server-side apply: every field of an object has owners, and whoever applies an object says which fields are theirs.
//!
//! [`FieldManager::track_update`] keeps `metadata.managedFields` up to date when an object is written in any other way;
//! [`FieldManager::apply`] merges what is applied into the object there is, removes what is no longer applied, and
//! refuses to change what others own. The results agree with sigs.k8s.io/structured-merge-diff v6 and with
//! k8s.io/apimachinery's `managedfields`; `tests/data/go/apply.json` records them.
//!
//! Time is an argument, and nothing here does I/O. Walks recurse as deep as objects are, which decoding limits.

mod cap;
mod compare;
mod conflict;
mod element;
mod field_manager;
mod fields_v1;
mod item;
mod last_applied;
mod managed;
mod manager_name;
mod merge;
mod metadata_type;
mod order;
mod ownership;
mod print;
mod reconcile;
mod remove;
mod set;
mod timestamps;
mod to_set;
mod types;
mod validate;
mod versions;

#[cfg(test)]
mod tests;

pub use conflict::{ApplyError, Conflict, Conflicts, TrackError};
pub use field_manager::{ApplyOptions, FieldManager, Writer};
pub use managed::{ManagedFieldsError, Operation};
pub use manager_name::manager_name;
pub use timestamps::keep_timestamps;
pub use validate::{TypeError, TypeErrors};
pub use versions::VersionError;
