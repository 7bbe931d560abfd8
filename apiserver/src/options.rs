//! The options of a request, from its query or, for deletions, its body: read once, checked, and typed by what they mean.
//!
//! Read as Kubernetes reads them: unknown parameters are ignored, what is not a number is refused with 400, and what is not
//! allowed with 422 and the causes. Label and field selectors stay text here.

use bailiwick_machinery::{FieldErrors, GroupKind, Status};

mod delete;
mod get;
mod list;
mod write;

pub use delete::DeleteQuery;
pub use get::{Freshness, GetOptions};
pub use list::{ListAt, ListOptions, WatchOptions, WatchStart};
pub(crate) use list::{ListParameters, ListScope};
pub use write::{CreateOptions, PatchKind, PatchOptions, PatchQuery, UpdateOptions};

/// `Ok`, or the status that says what is wrong with options of this kind.
fn checked(kind: &'static str, errors: FieldErrors) -> Result<(), Box<Status>> {
    errors.into_result().map_err(|errors| Box::new(Status::invalid(&GroupKind::new("meta.k8s.io", kind), "", &errors)))
}

fn bad_request(message: impl Into<String>) -> Box<Status> {
    Box::new(Status::bad_request(message))
}

#[cfg(test)]
mod tests;
