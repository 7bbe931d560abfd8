//! Why an operation on objects was refused or failed: a reason, and what it is about. What it becomes on the wire is decided
//! in one place, by whoever serves it.

use bailiwick_machinery::apply::ApplyError;
use bailiwick_machinery::patch::PatchError;
use bailiwick_machinery::{Cause, FieldErrors, GroupKind, GroupResource};
use bailiwick_storage as storage;

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such object.
    #[error("{resource} \"{name}\" not found")]
    NotFound {
        /// Its resource.
        resource: GroupResource,
        /// Its name.
        name: String,
    },
    /// There is one of this name.
    #[error("{resource} \"{name}\" already exists")]
    AlreadyExists {
        /// Its resource.
        resource: GroupResource,
        /// Its name.
        name: String,
        /// Whether it is about to go.
        deleting: bool,
    },
    /// No free name was found for an object that left it to the server.
    #[error("no free name was found for {resource} \"{name}\"")]
    NoUniqueName {
        /// Its resource.
        resource: GroupResource,
        /// The name that was tried last.
        name: String,
    },
    /// The object is not the one, or not in the state, that the request speaks of.
    #[error("{resource} \"{name}\" cannot be changed: {why}")]
    Conflict {
        /// Its resource.
        resource: GroupResource,
        /// Its name.
        name: String,
        /// What differs.
        why: String,
    },
    /// The object was changed since the client read it.
    #[error("{resource} \"{name}\" has been modified")]
    Modified {
        /// Its resource.
        resource: GroupResource,
        /// Its name.
        name: String,
    },
    /// Nobody may do this to the object, or not now.
    #[error("{resource} \"{name}\" is forbidden: {why}")]
    Forbidden {
        /// Its resource.
        resource: GroupResource,
        /// Its name.
        name: String,
        /// Why not.
        why: String,
        /// What in particular.
        causes: Vec<Cause>,
    },
    /// The object breaks rules.
    #[error("{kind} \"{name}\" is invalid: {errors}")]
    Invalid {
        /// Its kind.
        kind: GroupKind,
        /// Its name.
        name: String,
        /// Which rules, and where.
        errors: FieldErrors,
    },
    /// What came as an object of a kind has not the form of one: its metadata has other types, or it has fields that are
    /// unknown or there twice and the client wants to be told.
    #[error("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}")]
    Unfit {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
        /// What is wrong with its form.
        why: String,
    },
    /// The object, or what came as one, cannot be read.
    #[error("{0}")]
    BadRequest(String),
    /// A patch cannot be read, or does not fit the object.
    #[error(transparent)]
    Patch(PatchError),
    /// What is applied does not fit the object there is, or its kind.
    #[error(transparent)]
    Apply(Box<ApplyError>),
    /// A patch fits, but what it makes is no object.
    #[error("the patch makes no object: {why}")]
    PatchedObject {
        /// The patch.
        patch: String,
        /// What is wrong with its result.
        why: String,
    },
    /// A new object came with a resource version.
    #[error("resourceVersion should not be set on objects to be created")]
    ResourceVersionSet,
    /// The kind has no such operation.
    #[error("{action} is not supported on {resource}")]
    NotSupported {
        /// The kind's resource.
        resource: GroupResource,
        /// The operation.
        action: &'static str,
    },
    /// The kind is about to go, so no objects of it can be made.
    #[error("create not allowed while custom resource definition is terminating")]
    KindTerminating {
        /// The kind's resource.
        resource: GroupResource,
    },
    /// The kind was served when the operation began, and is not any more.
    #[error("{resource} is not served any more")]
    KindGone {
        /// The kind's resource.
        resource: GroupResource,
    },
    /// Others changed the object again and again while this operation was trying to.
    #[error("{resource} \"{name}\" is changed too often by others")]
    Contended {
        /// Its resource.
        resource: GroupResource,
        /// Its name.
        name: String,
    },
    /// Other servers were faster again and again. Nothing was decided, and nothing is wrong with what was asked.
    #[error("other servers decide about {what} all the time, so that this one did not come to it; try again")]
    Overtaken {
        /// What is decided about.
        what: &'static str,
    },
    /// The object is too large to be stored.
    #[error("{resource} \"{name}\" has {bytes} bytes, of which at most {} can be stored", storage::MAX_VALUE_BYTES)]
    TooLarge {
        /// Its resource.
        resource: GroupResource,
        /// Its name.
        name: String,
        /// Its size.
        bytes: usize,
    },
    /// What is stored is no object.
    #[error("what is stored for {resource} \"{name}\" cannot be read: {why}")]
    Unreadable {
        /// Its resource.
        resource: GroupResource,
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something failed that should not, and that is not the store.
    #[error("{what} could not be made: {why}")]
    Failed {
        /// What was to be made.
        what: &'static str,
        /// What happened.
        why: String,
    },
    /// Whoever keeps the namespaces did not say whether there is one of this name.
    #[error("whether there is a namespace \"{name}\" could not be found out")]
    NamespaceUnknown {
        /// The name.
        name: String,
    },
    /// The host did not say what a write depends on.
    #[error("what the request depends on could not be found out: {why}")]
    HostUnknown {
        /// What happened.
        why: String,
    },
    /// The store failed.
    #[error("{operation} of {resource} failed")]
    Storage {
        /// What was tried.
        operation: &'static str,
        /// On what.
        resource: GroupResource,
        /// What happened.
        source: storage::Error,
    },
}
