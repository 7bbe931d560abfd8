//! Options of making and changing objects.

use bailiwick_machinery::decode::FieldValidation;
use bailiwick_machinery::metadata::validate_field_manager;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, Status};

use super::checked;
use crate::query::Query;

/// Options of making an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateOptions {
    /// Whether nothing shall be stored.
    pub dry_run: bool,
    /// Who owns the fields; empty if the client does not say so.
    pub field_manager: String,
    /// What to do about fields that are unknown or there twice.
    pub field_validation: FieldValidation,
}

/// Options of replacing an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateOptions {
    /// Whether nothing shall be stored.
    pub dry_run: bool,
    /// Who owns the fields; empty if the client does not say so.
    pub field_manager: String,
    /// What to do about fields that are unknown or there twice.
    pub field_validation: FieldValidation,
}

/// Options of patching an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchOptions {
    /// Whether nothing shall be stored.
    pub dry_run: bool,
    /// Whether to take fields from their owners; for apply only.
    pub force: bool,
    /// Who owns the fields; never empty for apply.
    pub field_manager: String,
    /// What to do about fields that are unknown or there twice.
    pub field_validation: FieldValidation,
}

/// The options of a patch, before it is known which kind of patch it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatchQuery<'r>(&'r Query);

/// A kind of patch, as far as options go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// Server-side apply.
    Apply,
    /// Any other.
    Other,
}

/// What all of them have.
struct Common {
    dry_run: bool,
    field_manager: String,
    field_validation: FieldValidation,
}

// === impl CreateOptions ===

impl CreateOptions {
    pub(crate) fn parse(query: &Query) -> Result<Self, Box<Status>> {
        let mut errors = FieldErrors::default();
        let Common { dry_run, field_manager, field_validation } = Common::parse(query, &mut errors);
        checked("CreateOptions", errors)?;
        Ok(Self { dry_run, field_manager, field_validation })
    }
}

// === impl UpdateOptions ===

impl UpdateOptions {
    pub(crate) fn parse(query: &Query) -> Result<Self, Box<Status>> {
        let mut errors = FieldErrors::default();
        let Common { dry_run, field_manager, field_validation } = Common::parse(query, &mut errors);
        checked("UpdateOptions", errors)?;
        Ok(Self { dry_run, field_manager, field_validation })
    }
}

// === impl PatchQuery ===

impl<'r> PatchQuery<'r> {
    pub(crate) fn new(query: &'r Query) -> Self {
        Self(query)
    }

    /// The options of this kind of patch.
    pub fn options(&self, kind: PatchKind) -> Result<PatchOptions, Box<Status>> {
        let mut errors = FieldErrors::default();
        let force = self.0.switch("force");
        match kind {
            PatchKind::Apply if self.0.first("fieldManager").unwrap_or_default().is_empty() => {
                errors.push(FieldError::required(FieldPath::new("fieldManager"), "is required for apply patch"));
            }
            PatchKind::Other if force.is_some() => {
                errors.push(FieldError::forbidden(FieldPath::new("force"), "may not be specified for non-apply patch"));
            }
            PatchKind::Apply | PatchKind::Other => {}
        }
        let Common { dry_run, field_manager, field_validation } = Common::parse(self.0, &mut errors);
        checked("PatchOptions", errors)?;
        Ok(PatchOptions { dry_run, force: force.unwrap_or(false), field_manager, field_validation })
    }
}

// === impl Common ===

impl Common {
    fn parse(query: &Query, errors: &mut FieldErrors) -> Self {
        let field_manager = query.text("fieldManager");
        validate_field_manager(&field_manager, &FieldPath::new("fieldManager"), errors);
        let dry_run = parse_dry_run(query.all("dryRun"), errors);
        let validation = query.first("fieldValidation").unwrap_or_default();
        let field_validation = FieldValidation::parse(validation).unwrap_or_else(|| {
            let supported = ["", "Ignore", "Strict", "Warn"];
            errors.push(FieldError::not_supported(FieldPath::new("fieldValidation"), validation, &supported));
            FieldValidation::default()
        });
        Self { dry_run, field_manager, field_validation }
    }
}

/// Whether to store nothing. There is one value, and it may repeat.
pub(super) fn parse_dry_run<'q>(values: impl Iterator<Item = &'q str>, errors: &mut FieldErrors) -> bool {
    let values: Vec<&str> = values.collect();
    if values.iter().any(|value| *value != "All") {
        errors.push(FieldError::not_supported(FieldPath::new("dryRun"), values.clone(), &["All"]));
    }
    !values.is_empty()
}
