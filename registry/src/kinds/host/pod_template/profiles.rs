//! What is wrong with profiles of seccomp and AppArmor, and with annotations that name others than the fields do.

use bailiwick_machinery::go::quote;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath};
use serde_json::{Value, json};

use super::container;
use super::part::{Part, invalid_named, unsupported};
use super::paths::check_descending;
use super::shown::Profile;

const TYPES: [&str; 3] = [LOCALHOST, RUNTIME_DEFAULT, UNCONFINED];
const LOCALHOST: &str = "Localhost";
const RUNTIME_DEFAULT: &str = "RuntimeDefault";
const UNCONFINED: &str = "Unconfined";
const MOST_IN_NAME: usize = 4095;
/// What annotations say instead.
const LOCALHOST_PREFIX: &str = "localhost/";
const RUNTIME_VALUE: &str = "runtime/default";
const UNCONFINED_VALUE: &str = "unconfined";
const DOCKER_VALUE: &str = "docker/default";

pub(super) const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
pub(super) const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
pub(super) const APP_ARMOR_OF_CONTAINER: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Notes what is wrong with the seccomp profile of a security context.
pub(super) fn check_seccomp(context: &Part<'_>, errors: &mut FieldErrors) {
    let Some(profile) = context.part("seccompProfile") else { return };
    let kind = profile.text("type");
    if kind.is_empty() {
        let why = "type is required when seccompProfile is set";
        errors.push(FieldError::required(profile.at("type"), why));
    } else if !TYPES.contains(&kind) {
        errors.push(unsupported(profile.at("type"), kind, &TYPES));
    }
    let path = profile.at("localhostProfile");
    match (kind, profile.given("localhostProfile")) {
        (LOCALHOST, None) => errors.push(FieldError::required(path, "must be set when seccomp type is Localhost")),
        (LOCALHOST, Some(name)) => check_descending(name, &path, errors),
        (_, Some(_)) => {
            let why = "can only be set when seccomp type is Localhost";
            errors.push(FieldError::invalid_json(path, &Profile::of(&profile), why));
        }
        (_, None) => {}
    }
}

/// Notes what is wrong with the AppArmor profile of a security context.
pub(super) fn check_app_armor(context: &Part<'_>, errors: &mut FieldErrors) {
    let Some(profile) = context.part("appArmorProfile") else { return };
    let path = profile.at("localhostProfile");
    let absent = "must be set when AppArmor type is Localhost";
    match (profile.text("type"), profile.given("localhostProfile")) {
        (LOCALHOST, None) => errors.push(FieldError::required(path, absent)),
        (LOCALHOST, Some(name)) => {
            if name.trim() != name {
                errors.push(FieldError::invalid(path.clone(), name, "must not be padded with whitespace"));
            } else if name.is_empty() {
                errors.push(FieldError::required(path.clone(), absent));
            }
            if name.len() > MOST_IN_NAME {
                errors.push(FieldError::too_long(path, MOST_IN_NAME));
            }
        }
        (RUNTIME_DEFAULT | UNCONFINED, Some(name)) => {
            errors.push(invalid_named(path, name, "can only be set when AppArmor type is Localhost"));
        }
        (RUNTIME_DEFAULT | UNCONFINED, None) => {}
        ("", _) => {
            let why = "type is required when appArmorProfile is set";
            errors.push(FieldError::required(profile.at("type"), why));
        }
        (other, _) => errors.push(unsupported(profile.at("type"), other, &TYPES)),
    }
}

/// Notes what is wrong with annotations that name profiles.
pub(super) fn check_annotations(annotations: &Part<'_>, spec: &Part<'_>, errors: &mut FieldErrors) {
    let path = annotations.path();
    for (key, value) in entries(annotations) {
        if key == SECCOMP_OF_POD || key.starts_with(SECCOMP_OF_CONTAINER) {
            check_seccomp_value(value, &path.child(key), errors);
        }
        let Some(name) = key.strip_prefix(APP_ARMOR_OF_CONTAINER) else { continue };
        if !container::all(spec).any(|container| container.text("name") == name) {
            errors.push(FieldError::invalid(path.key(key), name, "container not found"));
        }
        if !matches!(value, "" | RUNTIME_VALUE | UNCONFINED_VALUE) && !value.starts_with(LOCALHOST_PREFIX) {
            let why = format!("invalid AppArmor profile name: {}", quote(value));
            errors.push(FieldError::invalid(path.key(key), value, why));
        }
    }
}

fn entries<'v>(annotations: &Part<'v>) -> impl Iterator<Item = (&'v str, &'v str)> + use<'v> {
    let entries = annotations.value().as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

fn check_seccomp_value(value: &str, path: &FieldPath, errors: &mut FieldErrors) {
    match value.strip_prefix(LOCALHOST_PREFIX) {
        Some(profile) => check_descending(profile, path, errors),
        None if matches!(value, RUNTIME_VALUE | DOCKER_VALUE | UNCONFINED_VALUE) => {}
        None => errors.push(FieldError::invalid(path.clone(), value, "must be a valid seccomp profile")),
    }
}

/// Notes fields that name another profile than an annotation does.
pub(super) fn check_agreement(annotations: &Part<'_>, spec: &Part<'_>, errors: &mut FieldErrors) {
    let of_pod = profile(spec, "seccompProfile");
    check_same("seccomp", annotations.given(SECCOMP_OF_POD), of_pod.as_ref(), errors);
    for container in container::all(spec) {
        let key = format!("{SECCOMP_OF_CONTAINER}{}", container.text("name"));
        check_same("seccomp", annotations.given(&key), profile(&container, "seccompProfile").as_ref(), errors);
    }
    if spec.part("os").is_some_and(|os| os.text("name") == "windows") {
        return;
    }
    let of_pod = profile(spec, "appArmorProfile");
    for container in container::all(spec) {
        let key = format!("{APP_ARMOR_OF_CONTAINER}{}", container.text("name"));
        // What a container does not say, its pod says; it is told of the container.
        let path = container.at("securityContext").child("appArmorProfile");
        let own = profile(&container, "appArmorProfile").or_else(|| of_pod.clone()).map(|own| own.told_at(path));
        check_same("apparmor", annotations.given(&key), own.as_ref(), errors);
    }
}

/// The AppArmor profile that an annotation names, as a field.
pub(super) fn field_of(annotation: &str) -> Option<Value> {
    let kind = match annotation {
        UNCONFINED_VALUE => UNCONFINED,
        RUNTIME_VALUE => RUNTIME_DEFAULT,
        other => {
            let name = other.strip_prefix(LOCALHOST_PREFIX).filter(|name| !name.is_empty())?;
            return Some(json!({"type": LOCALHOST, "localhostProfile": name}));
        }
    };
    Some(json!({"type": kind}))
}

fn profile<'v>(part: &Part<'v>, field: &str) -> Option<Part<'v>> {
    part.part("securityContext").and_then(|context| context.part(field))
}

fn check_same(what: &str, annotation: Option<&str>, profile: Option<&Part<'_>>, errors: &mut FieldErrors) {
    let (Some(annotation), Some(profile)) = (annotation, profile) else { return };
    let is_same_type = match profile.text("type") {
        UNCONFINED => annotation == UNCONFINED_VALUE,
        RUNTIME_DEFAULT => annotation == RUNTIME_VALUE || (what == "seccomp" && annotation == DOCKER_VALUE),
        LOCALHOST => annotation.starts_with(LOCALHOST_PREFIX),
        _ => return,
    };
    if !is_same_type {
        let why = format!("{what} type in annotation and field must match");
        errors.push(FieldError::forbidden(profile.at("type"), why));
    } else if profile.text("type") == LOCALHOST
        && annotation.strip_prefix(LOCALHOST_PREFIX) != profile.given("localhostProfile")
    {
        let why = format!("{what} profile in annotation and field must match");
        errors.push(FieldError::forbidden(profile.at("localhostProfile"), why));
    }
}
