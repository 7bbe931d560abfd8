//! Volumes of files: of the node, of objects, of what is known of the pod, or of several of these.

use std::collections::BTreeSet;

use bailiwick_machinery::{FieldError, FieldErrors};

use super::environment::{OF_POD_IN_FILES, check_divisor, check_field, check_resource};
use super::part::Part;
use super::paths::{check_backsteps, check_descending, check_keys, check_mode, check_unreserved};

const PATH_TYPES: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
const LEAST_TOKEN_SECONDS: i64 = 10 * 60;
const MOST_TOKEN_SECONDS: i64 = 1 << 32;

pub(super) fn check_host_path(source: &Part<'_>, errors: &mut FieldErrors) {
    let path = source.text("path");
    if path.is_empty() {
        errors.push(FieldError::required(source.at("path"), ""));
        return;
    }
    check_backsteps(path, &source.at("path"), errors);
    source.check_known_if_given("type", &PATH_TYPES, errors);
}

pub(super) fn check_git_repo(source: &Part<'_>, errors: &mut FieldErrors) {
    source.require("repository", errors);
    check_descending(source.text("directory"), &source.at("directory"), errors);
}

/// Files of a ConfigMap or a Secret, which is named in a field.
pub(super) fn check_object(source: &Part<'_>, name: &str, errors: &mut FieldErrors) {
    source.require(name, errors);
    check_mode(source, "defaultMode", errors);
    check_keys(source, errors);
}

pub(super) fn check_downward(source: &Part<'_>, errors: &mut FieldErrors) {
    check_mode(source, "defaultMode", errors);
    check_downward_files(source, errors);
}

/// All that is wrong with these files is told of their list.
fn check_downward_files(source: &Part<'_>, errors: &mut FieldErrors) {
    for file in source.parts("items").map(|file| file.told_at(source.path().clone())) {
        file.require("path", errors);
        check_unreserved(file.text("path"), &file.at("path"), errors);
        match (file.part("fieldRef"), file.part("resourceFieldRef")) {
            (Some(field), resource) => {
                check_field(&field, &OF_POD_IN_FILES, errors);
                if resource.is_some() {
                    let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                    errors.push(FieldError::invalid(file.path().clone(), "resource", why));
                }
            }
            (None, Some(resource)) if resource.text("containerName").is_empty() => {
                errors.push(FieldError::required(resource.at("containerName"), ""));
                check_divisor(&resource, errors);
            }
            (None, Some(resource)) => check_resource(&resource, errors),
            (None, None) => {
                let why = "one of fieldRef and resourceFieldRef is required";
                errors.push(FieldError::required(file.path().clone(), why));
            }
        }
        check_mode(&file, "mode", errors);
    }
}

/// Several sources in one folder. Bundles of trust and certificates of pods are not among them: Kubernetes takes them out
/// unless it is told to have them.
pub(super) fn check_projected(volume: &Part<'_>, errors: &mut FieldErrors) {
    check_mode(volume, "defaultMode", errors);
    let mut taken = BTreeSet::new();
    for source in volume.parts("sources") {
        let mut count = 0;
        for field in ["secret", "configMap"] {
            let Some(object) = source.part(field) else { continue };
            count += 1;
            object.require("name", errors);
            check_keys(&object, errors);
            for path in object.parts("items").map(|item| item.text("path")) {
                if !path.is_empty() && !taken.insert(path) {
                    errors.push(conflict(volume, object.text("name")));
                }
            }
        }
        if let Some(pod) = source.part("downwardAPI") {
            count += 1;
            check_downward_files(&pod, errors);
            for path in pod.parts("items").map(|item| item.text("path")) {
                if !path.is_empty() && !taken.insert(path) {
                    errors.push(conflict(volume, path));
                }
            }
        }
        if let Some(token) = source.part("serviceAccountToken") {
            count += 1;
            check_token(volume, &token, errors);
        }
        if count > 1 {
            let why = "may not specify more than 1 volume type per source";
            errors.push(FieldError::forbidden(source.path().clone(), why));
        }
    }
}

fn conflict(volume: &Part<'_>, value: &str) -> FieldError {
    FieldError::invalid(volume.path().clone(), value, "conflicting duplicate paths")
}

fn check_token(volume: &Part<'_>, token: &Part<'_>, errors: &mut FieldErrors) {
    let seconds = token.number("expirationSeconds");
    let why = match seconds {
        ..LEAST_TOKEN_SECONDS => Some("may not specify a duration less than 10 minutes"),
        _ if seconds > MOST_TOKEN_SECONDS => Some("may not specify a duration larger than 2^32 seconds"),
        _ => None,
    };
    errors.extend(why.map(|why| FieldError::invalid(token.at("expirationSeconds"), seconds, why)));
    match token.text("path") {
        "" => errors.push(FieldError::required(volume.at("path"), "")),
        path => check_unreserved(path, &volume.at("path"), errors),
    }
}
