//! JSON patches (RFC 6902), JSON merge patches (RFC 7396) and strategic merge patches, as kube-apiserver applies them.
//!
//! All are applied to a copy: an error leaves nothing half done. The behaviour and the texts of the errors of
//! the first two are those of evanphx/json-patch v4 with kube-apiserver's settings, including what the standards do not allow: negative indexes
//! count from the end, `replace` makes the field it does not find, `copy` of a missing field makes a null, and a merge
//! removes nulls inside of lists that are new.
//!
//! A patch costs at most so much: `MAX_OPERATIONS`, `MAX_COPIED` bytes by `copy`, `MAX_WORK` steps of moving things about,
//! and a result of at most `MAX_RESULT` bytes and `MAX_DEPTH` levels.

mod json;
mod merge;
mod strategic;

use crate::decode::{DecodeError, MAX_DEPTH};

pub use json::{JsonPatch, Operation};
pub use merge::MergePatch;
pub use strategic::{StrategicError, StrategicPatch};

/// The most operations of a JSON patch.
pub const MAX_OPERATIONS: usize = 10_000;

/// The most bytes of JSON that `copy` operations may add together.
pub const MAX_COPIED: usize = 3 * 1024 * 1024;

/// The most list items and fields that may be moved by the operations together. Taking the first item of a long list ten
/// thousand times, or carrying half an object to and fro, would otherwise take minutes.
pub const MAX_WORK: usize = 20_000_000;

/// The most bytes of the result as JSON, which is the most that could be sent as a request.
pub const MAX_RESULT: usize = 3 * 1024 * 1024;

/// Why a patch was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// It is no patch. A bad request.
    #[error("error decoding patch: {0}")]
    Malformed(DecodeError),
    /// It is JSON, and no JSON patch. A bad request.
    #[error("error decoding patch: json: cannot unmarshal {found} into Go {place} of type {expected}")]
    WrongType {
        /// What was found.
        found: &'static str,
        /// Where.
        place: &'static str,
        /// What should be there.
        expected: &'static str,
    },
    /// It is JSON, and no merge patch. A bad request.
    #[error("Invalid JSON Patch")]
    NoMergePatch,
    /// It has too many operations. The request is too large.
    #[error("The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}")]
    TooManyOperations {
        /// How many.
        count: usize,
    },
    /// It moves too much about. The request is too large.
    #[error("the operations of the patch together move more than {MAX_WORK} items")]
    TooMuchWork,
    /// It copies too much. It cannot be processed.
    #[error(
        "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPIED}"
    )]
    TooMuchCopied {
        /// How many bytes.
        copied: usize,
    },
    /// The result is too large. The request is too large.
    #[error("limit is {MAX_RESULT}")]
    ResultTooLarge,
    /// The result is nested too deep. It cannot be processed.
    #[error("exceeded max depth of {MAX_DEPTH}")]
    ResultTooDeep,
    /// The operation is none of the six. It cannot be processed.
    #[error("Unexpected kind: {kind}")]
    UnexpectedKind {
        /// The operation.
        kind: String,
    },
    /// An operation has no path. It cannot be processed.
    #[error("{operation} operation failed to decode {member}: {}", missing_member(operation, member))]
    MissingMember {
        /// The operation.
        operation: &'static str,
        /// `path` or `from`.
        member: &'static str,
    },
    /// The path leads nowhere. It cannot be processed.
    #[error("{operation} operation does not apply: {place}: {path}: missing value")]
    MissingPath {
        /// The operation.
        operation: &'static str,
        /// Which path.
        place: &'static str,
        /// The path; for `add` and `remove`, in quotes.
        path: String,
    },
    /// The path leads into a list or an object that has no such place. It cannot be processed.
    #[error("error {context}: {cause}")]
    BadPlace {
        /// During what.
        context: String,
        /// Why.
        cause: PlaceError,
    },
    /// The root can be replaced by an object or a list only. It cannot be processed.
    #[error("replace operation value must be object or array: %!w(<nil>)")]
    BadRoot,
    /// It is a strategic merge patch that does not fit.
    #[error(transparent)]
    Strategic(StrategicError),
    /// A value is not as the patch expects. It cannot be processed.
    #[error("testing value {path} failed: test failed")]
    TestFailed {
        /// Where.
        path: String,
    },
}

/// Why there is no such place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The object has no such field.
    #[error("Unable to remove nonexistent key: {key}: missing value")]
    NoKey {
        /// The field.
        key: String,
    },
    /// The list has no such item.
    #[error("Unable to access invalid index: {index}: invalid index referenced")]
    NoIndex {
        /// The index.
        index: i64,
    },
    /// That is no index.
    #[error("{}strconv.Atoi: parsing {}: {problem}", improper(*adding, key), crate::go::quote(key))]
    NotAnIndex {
        /// The text.
        key: String,
        /// Why.
        problem: &'static str,
        /// Whether something was to be added there.
        adding: bool,
    },
}

/// To which answer an error leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatchFailure {
    /// 400
    BadRequest,
    /// 413
    TooLarge,
    /// 422
    Unprocessable,
    /// 500, without a reason
    Unknown,
}

// === impl PatchError ===

impl PatchError {
    /// To which answer it leads.
    pub fn failure(&self) -> PatchFailure {
        match self {
            Self::Malformed(DecodeError::TooManyValues) => PatchFailure::TooLarge,
            Self::Malformed(_) | Self::WrongType { .. } | Self::NoMergePatch => PatchFailure::BadRequest,
            Self::Strategic(error) => error.failure(),
            Self::TooManyOperations { .. } | Self::TooMuchWork | Self::ResultTooLarge => PatchFailure::TooLarge,
            Self::TooMuchCopied { .. }
            | Self::ResultTooDeep
            | Self::UnexpectedKind { .. }
            | Self::MissingMember { .. }
            | Self::MissingPath { .. }
            | Self::BadPlace { .. }
            | Self::BadRoot
            | Self::TestFailed { .. } => PatchFailure::Unprocessable,
        }
    }
}

/// Upstream forgets what is missing in some of the messages.
fn missing_member(operation: &str, member: &str) -> &'static str {
    match (operation, member) {
        ("add" | "remove" | "copy", "path") => "missing value",
        (_, "path") => "operation missing path field: missing value",
        _ => "operation, missing from field: missing value",
    }
}

fn improper(adding: bool, key: &str) -> String {
    if adding { format!("value was not a proper array index: '{key}': ") } else { String::new() }
}

#[cfg(test)]
mod tests;
