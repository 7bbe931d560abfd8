//! Where walks note errors, and how many.

use super::path::Path;
use crate::{FieldError, FieldErrors, FieldPath};

/// How many errors a walk notes. More would help nobody, and an object could be made to have millions.
pub(super) const MAX_ERRORS: usize = 1000;
/// How long the texts of the errors of a walk may be. Paths are as long as the names in an object are.
pub(super) const MAX_ERROR_BYTES: usize = 1 << 20;

/// The errors of a walk through a value that stands at a path.
pub(super) struct Notes<'n> {
    prefix: &'n FieldPath,
    errors: &'n mut FieldErrors,
    count: usize,
    bytes: usize,
}

// === impl Notes ===

impl<'n> Notes<'n> {
    pub(super) fn new(prefix: &'n FieldPath, errors: &'n mut FieldErrors) -> Self {
        Self { prefix, errors, count: 0, bytes: 0 }
    }

    pub(super) fn push(&mut self, path: &Path<'_>, error: impl FnOnce(FieldPath) -> FieldError) {
        if self.count < MAX_ERRORS && self.bytes < MAX_ERROR_BYTES {
            let field = path.below(self.prefix);
            self.count += 1;
            self.bytes += field.as_str().len();
            self.errors.push(error(field));
        }
    }
}
