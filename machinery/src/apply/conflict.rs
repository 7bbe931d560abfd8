//! Why an object was not applied, in the words that clients know.

use std::fmt;
use std::ops::ControlFlow;

use super::managed::{ManagedFieldsError, Manager, Operation};
use super::ownership::Conflicting;
use super::validate::TypeErrors;
use super::versions::VersionError;
use crate::go;
use crate::status::Cause;

/// A field that someone else owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The owner.
    pub manager: String,
    /// How the owner came to own it.
    pub operation: Operation,
    /// In which version; empty for one who has applied it.
    pub api_version: String,
    /// Through which subresource; empty for the object itself.
    pub subresource: String,
    /// The field: `.spec.parts[name="a"].size`.
    pub field: String,
}

/// Fields that others own. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts {
    /// The first of them.
    conflicts: Vec<Conflict>,
    /// How many there are.
    count: usize,
}

/// How many conflicts are told one by one. An object could be made to have millions.
const MAX_CONFLICTS: usize = 1000;
/// How long the paths of all conflicts that are told may be. Names are as long as objects are.
const MAX_CONFLICT_BYTES: usize = 1 << 20;

/// Why an object was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// It is of another kind or version. A bad request.
    #[error("invalid object type: {found}")]
    WrongKind {
        /// What it is.
        found: String,
    },
    /// It says who owns what, which is not for the client to say. A bad request.
    #[error("metadata.managedFields must be nil")]
    ManagedFields,
    /// Others own fields that would change, and force was not asked for. A conflict.
    #[error("{0}")]
    Conflicts(Conflicts),
    /// It does not fit the schema. A failure of the server upstream, with this text.
    #[error("failed to create typed patch object ({object}): {errors}")]
    Applied {
        /// Namespace, name and kind.
        object: String,
        /// What does not fit.
        errors: TypeErrors,
    },
    /// The object there is does not fit the schema. A failure of the server.
    #[error("failed to create typed live object ({object}): {errors}")]
    Live {
        /// Namespace, name and kind.
        object: String,
        /// What does not fit.
        errors: TypeErrors,
    },
    /// It cannot be said who owns the fields of the object there is. A failure of the server.
    #[error("failed to decode managed fields: {0}")]
    Undecodable(#[from] ManagedFieldsError),
    /// The object there is has no owners yet, and none can be found. A failure of the server.
    #[error("failed to create manager for existing fields: {0}")]
    Untracked(#[from] TrackError),
    /// Someone owns fields in a version that the object cannot be put into. A failure of the server.
    #[error("{0}")]
    Version(#[from] VersionError),
}

/// Why it cannot be said who owns what after a write. The write itself is not affected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrackError {
    /// The new object does not fit the schema.
    #[error("failed to convert new object ({object}) to smd typed: {errors}")]
    New {
        /// Namespace, name and kind.
        object: String,
        /// What does not fit.
        errors: TypeErrors,
    },
    /// The object there was does not fit the schema.
    #[error("failed to convert live object ({object}) to smd typed: {errors}")]
    Live {
        /// Namespace, name and kind.
        object: String,
        /// What does not fit.
        errors: TypeErrors,
    },
    /// Someone owns fields in a version that the object cannot be put into.
    #[error("failed to update ManagedFields ({object}): {error}")]
    Version {
        /// Namespace, name and kind.
        object: String,
        /// Why not.
        error: VersionError,
    },
}

// === impl Conflict ===

impl Conflict {
    fn new(manager: &Manager, field: &str) -> Self {
        Self {
            manager: manager.name.clone(),
            operation: manager.operation,
            api_version: manager.api_version.clone(),
            subresource: manager.subresource.clone(),
            field: field.to_owned(),
        }
    }

    /// The owner, as messages have it: `"kubectl" with subresource "status" using v1`.
    fn owner(&self) -> String {
        let mut owner = go::quote(&self.manager);
        if !self.subresource.is_empty() {
            owner.push_str(" with subresource ");
            owner.push_str(&go::quote(&self.subresource));
        }
        if self.operation == Operation::Update {
            owner.push_str(" using ");
            owner.push_str(&self.api_version);
        }
        owner
    }
}

// === impl Conflicts ===

impl Conflicts {
    /// These, in the order of their owners.
    pub(super) fn new(conflicting: &Conflicting) -> Self {
        let mut conflicts = Vec::new();
        let mut bytes = 0;
        for (manager, fields) in conflicting {
            let shown = fields.show_paths(&mut |field| {
                if conflicts.len() >= MAX_CONFLICTS || bytes >= MAX_CONFLICT_BYTES {
                    return ControlFlow::Break(());
                }
                bytes += field.len();
                conflicts.push(Conflict::new(manager, field));
                ControlFlow::Continue(())
            });
            if shown.is_break() {
                break;
            }
        }
        Self { conflicts, count: conflicting.iter().map(|(_, fields)| fields.len()).sum() }
    }

    /// Each of them; of very many, the first.
    pub fn as_slice(&self) -> &[Conflict] {
        &self.conflicts
    }

    /// What a status says of each.
    pub fn causes(&self) -> Vec<Cause> {
        let cause = |conflict: &Conflict| Cause {
            reason: "FieldManagerConflict".to_owned(),
            message: format!("conflict with {}", conflict.owner()),
            field: conflict.field.clone(),
        };
        self.conflicts.iter().map(cause).collect()
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ([only], 1) = (self.conflicts.as_slice(), self.count) {
            return write!(f, "Apply failed with 1 conflict: conflict with {}: {}", only.owner(), only.field);
        }
        let is_same = |left: &Conflict, right: &Conflict| {
            (&left.manager, left.operation, &left.api_version, &left.subresource)
                == (&right.manager, right.operation, &right.api_version, &right.subresource)
        };
        let mut lines = Vec::new();
        for same_owner in self.conflicts.chunk_by(is_same) {
            lines.extend(same_owner.first().map(|first| format!("conflicts with {}:", first.owner())));
            lines.extend(same_owner.iter().map(|conflict| format!("- {}", conflict.field)));
        }
        write!(f, "Apply failed with {} conflicts: {}", self.count, lines.join("\n"))
    }
}
