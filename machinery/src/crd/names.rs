//! The rules for the names of a kind.

use super::definition::Names;
use super::validate::joined;
use crate::name::dns1035_label;
use crate::{FieldError, FieldErrors, FieldPath};

/// Notes which names cannot be names. Those that are absent are not looked at.
pub(super) fn validate_names(names: &Names, path: &FieldPath, errors: &mut FieldErrors) {
    for (field, name) in [("plural", &names.plural), ("singular", &names.singular)] {
        label(name, path.child(field), "", errors);
    }
    for (field, name) in [("kind", &names.kind), ("listKind", &names.list_kind)] {
        label(name, path.child(field), "may have mixed case, but should otherwise match: ", errors);
    }
    list(&names.short_names, &path.child("shortNames"), errors);
    if !names.kind.is_empty() && names.kind == names.list_kind {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(path.child("listKind"), names.list_kind.as_str(), detail));
    }
    list(&names.categories, &path.child("categories"), errors);
}

fn label(name: &str, path: FieldPath, prefix: &str, errors: &mut FieldErrors) {
    let messages = match prefix {
        "" => dns1035_label(name),
        _ => dns1035_label(&name.to_lowercase()),
    };
    if !name.is_empty() && !messages.is_empty() {
        errors.push(FieldError::invalid(path, name, format!("{prefix}{}", joined(&messages))));
    }
}

fn list(names: &[String], path: &FieldPath, errors: &mut FieldErrors) {
    for (i, name) in names.iter().enumerate() {
        let messages = dns1035_label(name);
        if !messages.is_empty() {
            errors.push(FieldError::invalid(path.index(i), name.as_str(), joined(&messages)));
        }
    }
}
