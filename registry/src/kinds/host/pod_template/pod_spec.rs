//! What is wrong with a pod as a whole.

use bailiwick_machinery::metadata::validate_labels;
use bailiwick_machinery::name::{Messages, dns1123_label, dns1123_subdomain};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath};
use serde_json::Value;

use super::super::{invalid, text_of};
use super::container;

const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];
const DNS_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const MOST_SECONDS: i64 = i32::MAX as i64;

/// A field, and what it may be called.
type Named = (&'static str, fn(&str) -> Messages);

/// Texts that are names of something, in the order in which they are looked at.
const NAMES_FIRST: [Named; 2] = [("serviceAccountName", dns1123_subdomain), ("nodeName", dns1123_subdomain)];
const NAMES_LAST: [Named; 4] = [
    ("hostname", dns1123_label),
    ("subdomain", dns1123_label),
    ("priorityClassName", dns1123_subdomain),
    ("runtimeClassName", dns1123_subdomain),
];

/// Notes what is wrong with a pod.
pub(super) fn check(spec: &Value, path: &FieldPath, errors: &mut FieldErrors) {
    let volumes = check_volumes(spec, &path.child("volumes"), errors);
    container::check_all(spec, &volumes, path, errors);
    for (field, known) in [("restartPolicy", &RESTART_POLICIES[..]), ("dnsPolicy", &DNS_POLICIES[..])] {
        let found = text_of(spec, field);
        if !known.contains(&found) {
            errors.push(FieldError::not_supported(path.child(field), found, known));
        }
    }
    let selector = spec.get("nodeSelector").and_then(Value::as_object).into_iter().flatten();
    let selector: Vec<_> = selector.map(|(name, value)| (&**name, value.as_str().unwrap_or_default())).collect();
    validate_labels(selector, &path.child("nodeSelector"), errors);
    check_names(spec, &NAMES_FIRST, path, errors);
    if let Some(seconds) = spec.get("activeDeadlineSeconds").and_then(Value::as_i64)
        && !(1..=MOST_SECONDS).contains(&seconds)
    {
        let why = format!("must be between 1 and {MOST_SECONDS}, inclusive");
        errors.push(FieldError::invalid(path.child("activeDeadlineSeconds"), seconds, why));
    }
    check_names(spec, &NAMES_LAST, path, errors);
    if !super::items(spec, "ephemeralContainers").is_empty() {
        let why = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(path.child("ephemeralContainers"), why));
    }
}

fn check_names(spec: &Value, names: &[Named], path: &FieldPath, errors: &mut FieldErrors) {
    for (field, rule) in names {
        let name = text_of(spec, field);
        if !name.is_empty() {
            invalid(&path.child(field), name, rule(name), errors);
        }
    }
}

/// Notes what is wrong with the names of volumes. Returns those that can be mounted.
fn check_volumes<'s>(spec: &'s Value, path: &FieldPath, errors: &mut FieldErrors) -> Vec<&'s str> {
    let mut names = Vec::new();
    for (index, volume) in super::items(spec, "volumes").iter().enumerate() {
        let (path, name) = (path.index(index).child("name"), text_of(volume, "name"));
        let wrong = errors.as_slice().len();
        match name {
            "" => errors.push(FieldError::required(path.clone(), "")),
            name => invalid(&path, name, dns1123_label(name), errors),
        }
        if names.contains(&name) {
            errors.push(FieldError::duplicate(path, name));
        }
        if errors.as_slice().len() == wrong {
            names.push(name);
        }
    }
    names
}
