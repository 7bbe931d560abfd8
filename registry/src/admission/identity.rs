//! Which object a request was authorized for. Rules complete an object; none of them makes another one of it.

use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, Object};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::served_kind::ServedKind;

/// What no rule changes.
const FIXED: [&[&str]; 8] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
    &["metadata", "creationTimestamp"],
    &["metadata", "deletionTimestamp"],
];

/// What an object was before rules completed it.
pub(super) struct Identity {
    name: String,
    /// What stood in each of [`FIXED`].
    before: [Option<Value>; FIXED.len()],
}

// === impl Identity ===

impl Identity {
    pub(super) fn of(object: &Object) -> Self {
        Self { name: object.metadata().name().to_owned(), before: FIXED.map(|path| find(object, path).cloned()) }
    }

    /// Refuses what has become another object.
    pub(super) fn confirm(&self, kind: &ServedKind, object: &Object) -> Result<()> {
        let mut errors = FieldErrors::default();
        for (path, before) in FIXED.into_iter().zip(&self.before) {
            if find(object, path) != before.as_ref() {
                let field = path.iter().fold(FieldPath::root(), |field, name| field.child(name));
                errors.push(FieldError::forbidden(field, "was changed by a rule after the request was authorized"));
            }
        }
        let refused = |errors| Error::Invalid { kind: kind.group_kind(), name: self.name.clone(), errors };
        errors.into_result().map_err(refused)
    }
}

fn find<'o>(object: &'o Object, path: &[&str]) -> Option<&'o Value> {
    path.iter().try_fold(object.as_value(), |value, name| value.get(name))
}
