//! Paths of files in a container, and who may read them.

use bailiwick_machinery::{FieldError, FieldErrors, FieldPath};

use super::part::Part;

const MOST_MODE: i64 = 0o777;
const UP: &str = "..";

/// Notes a path that leads out of where it begins.
pub(super) fn check_backsteps(path: &str, at: &FieldPath, errors: &mut FieldErrors) {
    if has_backsteps(path) {
        errors.push(FieldError::invalid(at.clone(), path, "must not contain '..'"));
    }
}

pub(super) fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|step| step == UP)
}

/// Notes a path that does not lead down from where it begins.
pub(super) fn check_descending(path: &str, at: &FieldPath, errors: &mut FieldErrors) {
    if path.starts_with('/') {
        errors.push(FieldError::invalid(at.clone(), path, "must be a relative path"));
    }
    check_backsteps(path, at, errors);
}

/// Notes a path that a volume made of objects cannot have: it keeps names that begin with two dots for itself.
pub(super) fn check_unreserved(path: &str, at: &FieldPath, errors: &mut FieldErrors) {
    check_descending(path, at, errors);
    if path.starts_with(UP) && !path.starts_with("../") {
        errors.push(FieldError::invalid(at.clone(), path, "must not start with '..'"));
    }
}

/// Notes a mode that is none.
pub(super) fn check_mode(part: &Part<'_>, field: &str, errors: &mut FieldErrors) {
    if let Some(mode) = part.given_number(field)
        && !(0..=MOST_MODE).contains(&mode)
    {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(FieldError::invalid(part.at(field), mode, why));
    }
}

/// Notes what is wrong with where the keys of an object go.
pub(super) fn check_keys(source: &Part<'_>, errors: &mut FieldErrors) {
    for item in source.parts("items") {
        item.require("key", errors);
        item.require("path", errors);
        check_unreserved(item.text("path"), &item.at("path"), errors);
        check_mode(&item, "mode", errors);
    }
}
