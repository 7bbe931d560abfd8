//! The rules for one version of a definition, beside its schema.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::definition::{PrinterColumn, Subresources, Version};
use super::validate::MAX_SELECTABLE_FIELDS;
use crate::schema::selectable_field;
use crate::{FieldError, FieldErrors, FieldPath, go};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const MAX_WARNING_BYTES: usize = 256;

pub(super) fn validate_deprecation(version: &Version, path: &FieldPath, errors: &mut FieldErrors) {
    let Some(warning) = &version.deprecation_warning else {
        return;
    };
    let mut invalid = |detail: &str| {
        errors.push(FieldError::invalid_json(path.child("deprecationWarning"), warning, detail));
    };
    if !version.deprecated {
        invalid("can only be set for deprecated versions");
        return;
    }
    if warning.len() > MAX_WARNING_BYTES {
        invalid("must be <= 256 characters long");
    }
    if warning.is_empty() {
        invalid("must not be an empty string");
    }
    if let Some((i, _)) = warning.char_indices().find(|(_, c)| !go::is_printable(*c)) {
        invalid(&format!("must only contain printable UTF-8 characters; non-printable character found at index {i}"));
    }
}

pub(super) fn validate_subresources(subresources: &Subresources, path: &FieldPath, errors: &mut FieldErrors) {
    let Some(scale) = &subresources.scale else {
        return;
    };
    let path = path.child("scale");
    for (field, value, prefix, detail) in [
        ("specReplicasPath", &scale.spec_replicas_path, ".spec.", "should be a json path under .spec"),
        ("statusReplicasPath", &scale.status_replicas_path, ".status.", "should be a json path under .status"),
    ] {
        let field = path.child(field);
        if value.is_empty() {
            errors.push(FieldError::required(field, ""));
        } else if let Some(error) = not_simple(value, &field) {
            errors.push(error);
        } else if !value.starts_with(prefix) {
            errors.push(FieldError::invalid(field, value.as_str(), detail));
        }
    }
    if let Some(selector) = scale.label_selector_path.as_deref().filter(|selector| !selector.is_empty()) {
        let field = path.child("labelSelectorPath");
        if let Some(error) = not_simple(selector, &field) {
            errors.push(error);
        } else if !selector.starts_with(".spec.") && !selector.starts_with(".status.") {
            let detail = "should be a json path under either .spec or .status";
            errors.push(FieldError::invalid_json(field, &selector, detail));
        }
    }
}

pub(super) fn validate_columns(columns: &[PrinterColumn], path: &FieldPath, errors: &mut FieldErrors) {
    for (i, column) in columns.iter().enumerate() {
        let path = path.index(i);
        if column.name.is_empty() {
            errors.push(FieldError::required(path.child("name"), ""));
        }
        let kind = column.column_type.as_str();
        let wanted = format!("must be one of {}", COLUMN_TYPES.join(","));
        if kind.is_empty() {
            errors.push(FieldError::required(path.child("type"), wanted));
        } else if !COLUMN_TYPES.contains(&kind) {
            errors.push(FieldError::invalid(path.child("type"), kind, wanted));
        }
        let format = column.format.as_str();
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let wanted = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(FieldError::invalid(path.child("format"), format, wanted));
        }
        let field = path.child("JSONPath");
        if column.json_path.is_empty() {
            errors.push(FieldError::required(field, ""));
        } else {
            errors.extend(not_simple(&column.json_path, &field));
        }
    }
}

pub(super) fn validate_selectable_fields(
    version: &Version,
    schema: &Map<String, Value>,
    old: Option<&Version>,
    path: &FieldPath,
    errors: &mut FieldErrors,
) {
    let mut known = HashSet::new();
    for (i, selectable) in version.selectable_fields.iter().enumerate() {
        let field = path.index(i).child("jsonPath");
        let text = selectable.json_path.as_str();
        if text.is_empty() {
            errors.push(FieldError::required(field, ""));
            continue;
        }
        let found = match selectable_field(schema, text) {
            Ok(found) => Some(found),
            Err(refused) => {
                let details = refused.details.into_iter();
                errors.extend(details.map(|detail| FieldError::invalid(field.clone(), text, detail)));
                refused.field
            }
        };
        if let Some(found) = found
            && !known.insert(found.path)
        {
            errors.push(FieldError::duplicate(field, text));
        }
    }
    let unchanged = old.is_some_and(|old| {
        old.selectable_fields.len() > MAX_SELECTABLE_FIELDS && old.selectable_fields == version.selectable_fields
    });
    if known.len() > MAX_SELECTABLE_FIELDS && !unchanged {
        errors.push(FieldError::too_many(path.clone(), known.len(), MAX_SELECTABLE_FIELDS));
    }
}

/// What upstream asks of a path before it is parsed.
fn not_simple(path: &str, field: &FieldPath) -> Option<FieldError> {
    let detail = "must be a simple json path starting with .";
    (!path.starts_with('.')).then(|| FieldError::invalid(field.clone(), path, detail))
}
