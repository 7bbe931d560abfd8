//! What the registry's errors are on the wire: the one place where a reason becomes a status.

use bailiwick_machinery::apply::ApplyError;
use bailiwick_machinery::patch::{PatchError, PatchFailure};
use bailiwick_machinery::{Cause, FieldError, FieldErrors, FieldPath, GroupKind, GroupResource, Reason, Status};
use bailiwick_registry::Error;
use bailiwick_storage as storage;

/// After how many seconds clients may ask again for a revision that has not been reached.
const RETRY_REVISION: u32 = 1;

/// The status that tells a client of an error. Nothing that only operators should know is in it.
pub(crate) fn of(error: &Error) -> Status {
    match error {
        Error::NotFound { resource, name } => Status::not_found(resource, name),
        Error::AlreadyExists { resource, name, deleting } => {
            let mut status = Status::already_exists(resource, name);
            if *deleting {
                status.message.insert_str(0, "object is being deleted: ");
            }
            status
        }
        Error::NoUniqueName { resource, name } => Status::no_unique_name(resource, name),
        Error::Conflict { resource, name, why } => Status::conflict(resource, name, why),
        Error::Modified { resource, name } => Status::modified(resource, name),
        Error::Forbidden { resource, name, why, causes } => {
            let mut status = Status::forbidden(resource, name, why);
            status.details.causes.clone_from(causes);
            status
        }
        Error::Invalid { kind, name, errors } => Status::invalid(kind, name, errors),
        Error::Unfit { .. } => Status::bad_request(error.to_string()),
        Error::BadRequest(message) => Status::bad_request(message.as_str()),
        Error::Patch(error) => of_patch(error),
        Error::Apply(error) => of_apply(error),
        Error::PatchedObject { patch, why } => {
            let mut errors = FieldErrors::default();
            errors.push(FieldError::invalid(FieldPath::new("patch"), patch.as_str(), why.as_str()));
            Status::invalid(&GroupKind::new("", ""), "", &errors)
        }
        Error::ResourceVersionSet => Status::new(Reason::Unknown, error.to_string()),
        Error::NotSupported { resource, action } => Status::method_not_supported(resource, action),
        Error::KindTerminating { resource } => {
            let mut status = Status::method_not_supported(resource, "create");
            status.message = error.to_string();
            status
        }
        Error::KindGone { .. } => Status::new(Reason::NotFound, "the server could not find the requested resource"),
        Error::Contended { resource, name } => {
            let why = "it is changed too often by others; try again later";
            Status::conflict(resource, name, why).retry_after(1)
        }
        Error::Overtaken { .. } => Status::new(Reason::TooManyRequests, error.to_string()).retry_after(1),
        Error::TooLarge { .. } => Status::request_too_large(&error.to_string()),
        Error::Unreadable { resource, name, .. } => {
            Status::internal(&format!("what is stored for {resource} \"{name}\" cannot be read"))
        }
        Error::HostUnknown { .. } => Status::new(Reason::ServiceUnavailable, error.to_string()).retry_after(1),
        Error::Failed { .. } | Error::NamespaceUnknown { .. } => Status::internal(&error.to_string()),
        Error::Storage { operation, resource, source } => of_storage(operation, resource, source),
    }
}

fn of_patch(error: &PatchError) -> Status {
    match error.failure() {
        PatchFailure::BadRequest => Status::bad_request(error.to_string()),
        PatchFailure::TooLarge => Status::request_too_large(&error.to_string()),
        PatchFailure::Unknown => Status::new(Reason::Unknown, error.to_string()),
        PatchFailure::Unprocessable => {
            let message = "the server rejected our request due to an error in our request";
            let mut status = Status::new(Reason::Invalid, message);
            status.details.causes.push(Cause { message: error.to_string(), ..Cause::default() });
            status
        }
    }
}

fn of_apply(error: &ApplyError) -> Status {
    match error {
        ApplyError::WrongKind { .. } | ApplyError::ManagedFields => Status::bad_request(error.to_string()),
        ApplyError::Conflicts(conflicts) => {
            let mut status = Status::new(Reason::Conflict, error.to_string());
            status.details.causes = conflicts.causes();
            status
        }
        ApplyError::Applied { .. }
        | ApplyError::Live { .. }
        | ApplyError::Undecodable(_)
        | ApplyError::Untracked(_)
        | ApplyError::Version(_) => Status::new(Reason::Unknown, error.to_string()),
    }
}

fn of_storage(operation: &str, resource: &GroupResource, error: &storage::Error) -> Status {
    match error {
        storage::Error::Conflict(_) => Status::conflict(resource, "", "the object has been modified"),
        storage::Error::Invalid(error) => Status::request_too_large(&error.to_string()),
        storage::Error::Expired { requested, oldest } => {
            Status::new(Reason::Expired, format!("too old resource version: {requested} ({oldest})"))
        }
        storage::Error::FutureRevision { requested, current } => {
            Status::too_large_resource_version(requested.get(), current.get(), RETRY_REVISION)
        }
        storage::Error::Corrupt { .. } => Status::internal(&format!("an object of {resource} is damaged in storage")),
        storage::Error::Unavailable { .. } => Status::server_timeout(resource, operation),
        storage::Error::OutcomeUnknown { .. } => {
            let message = format!(
                "the storage did not answer in time: whether the {operation} against {resource} happened is not known. Read before you try again"
            );
            Status::new(Reason::Timeout, format!("Timeout: {message}"))
        }
        storage::Error::ReadOnly { .. } => {
            let message = "the storage takes no writes at present, only deletions and reads; ask an administrator to look at the server's logs";
            Status::new(Reason::ServiceUnavailable, message).retry_after(5)
        }
        storage::Error::Replaced { .. } => {
            let message = "the storage was replaced by another; the server must be restarted by an administrator";
            Status::new(Reason::ServiceUnavailable, message)
        }
        storage::Error::Closed => Status::new(Reason::ServiceUnavailable, "the server is shutting down").retry_after(1),
    }
}
