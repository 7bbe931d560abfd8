//! What is wrong with the containers of a pod.

use bailiwick_machinery::name::dns1123_label;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath};
use serde_json::Value;

use super::super::{invalid, text_of};
use super::{items, resources};

const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
const MESSAGE_POLICIES: [&str; 2] = ["File", "FallbackToLogsOnError"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
/// Where the value of a variable can come from.
const SOURCES: [&str; 5] = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
/// What only containers have that run for as long as their pod.
const LASTING: [&str; 4] = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"];
const MOST_IN_PORT_NAME: usize = 15;
const MOST_PORT: i64 = 65_535;

/// Notes what is wrong with the containers of a pod that has these volumes.
pub(super) fn check_all(spec: &Value, volumes: &[&str], path: &FieldPath, errors: &mut FieldErrors) {
    let containers = items(spec, "containers");
    if containers.is_empty() {
        errors.push(FieldError::required(path.child("containers"), ""));
    }
    let mut names: Vec<&str> = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let path = path.child("containers").index(index);
        check(container, volumes, &path, errors);
        check_unique(text_of(container, "name"), &mut names, &path, errors);
    }
    for (index, container) in items(spec, "initContainers").iter().enumerate() {
        let path = path.child("initContainers").index(index);
        check(container, volumes, &path, errors);
        check_unique(text_of(container, "name"), &mut names, &path, errors);
        if text_of(container, "restartPolicy") != "Always" {
            check_short(container, &path, errors);
        }
    }
}

fn check_unique<'c>(name: &'c str, names: &mut Vec<&'c str>, path: &FieldPath, errors: &mut FieldErrors) {
    match names.contains(&name) {
        true => errors.push(FieldError::duplicate(path.child("name"), name)),
        false => names.push(name),
    }
}

/// A container that ends before others begin.
fn check_short(container: &Value, path: &FieldPath, errors: &mut FieldErrors) {
    let there = LASTING.iter().filter(|field| container.get(**field).is_some_and(|value| !value.is_null()));
    let why = "may not be set for init containers without restartPolicy=Always";
    errors.extend(there.map(|field| FieldError::forbidden(path.child(field), why)));
}

fn check(container: &Value, volumes: &[&str], path: &FieldPath, errors: &mut FieldErrors) {
    match text_of(container, "name") {
        "" => errors.push(FieldError::required(path.child("name"), "")),
        name => invalid(&path.child("name"), name, dns1123_label(name), errors),
    }
    if text_of(container, "image").is_empty() {
        errors.push(FieldError::required(path.child("image"), ""));
    }
    check_known(container, "terminationMessagePolicy", &MESSAGE_POLICIES, path, errors);
    check_ports(container, &path.child("ports"), errors);
    for (index, variable) in items(container, "env").iter().enumerate() {
        check_variable(variable, &path.child("env").index(index), errors);
    }
    check_mounts(container, volumes, &path.child("volumeMounts"), errors);
    check_known(container, "imagePullPolicy", &PULL_POLICIES, path, errors);
    resources::check(container.get("resources").unwrap_or(&Value::Null), &path.child("resources"), errors);
}

fn check_known(value: &Value, field: &str, known: &[&str], path: &FieldPath, errors: &mut FieldErrors) {
    match text_of(value, field) {
        "" => errors.push(FieldError::required(path.child(field), "")),
        found if known.contains(&found) => {}
        found => errors.push(FieldError::not_supported(path.child(field), found, known)),
    }
}

fn check_ports(container: &Value, path: &FieldPath, errors: &mut FieldErrors) {
    let mut names = Vec::new();
    for (index, port) in items(container, "ports").iter().enumerate() {
        let path = path.index(index);
        let name = text_of(port, "name");
        let wrong = if name.is_empty() { Vec::new() } else { wrong_port_name(name) };
        if !name.is_empty() && wrong.is_empty() {
            check_unique(name, &mut names, &path, errors);
        }
        errors.extend(wrong.into_iter().map(|why| FieldError::invalid(path.child("name"), name, why)));
        let number = |field: &str| port.get(field).and_then(Value::as_i64).unwrap_or_default();
        if number("containerPort") == 0 {
            errors.push(FieldError::required(path.child("containerPort"), ""));
        }
        for field in ["containerPort", "hostPort"] {
            let number = number(field);
            if number != 0 && !(1..=MOST_PORT).contains(&number) {
                let why = format!("must be between 1 and {MOST_PORT}, inclusive");
                errors.push(FieldError::invalid(path.child(field), number, why));
            }
        }
        check_known(port, "protocol", &PROTOCOLS, &path, errors);
    }
}

fn wrong_port_name(name: &str) -> Vec<String> {
    let is_known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let wrong = [
        (name.len() > MOST_IN_PORT_NAME, format!("must be no more than {MOST_IN_PORT_NAME} characters")),
        (
            !name.chars().all(is_known),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        ),
        (!name.contains(|c: char| c.is_ascii_lowercase()), "must contain at least one letter (a-z)".to_owned()),
        (name.contains("--"), "must not contain consecutive hyphens".to_owned()),
        (name.starts_with('-') || name.ends_with('-'), "must not begin or end with a hyphen".to_owned()),
    ];
    wrong.into_iter().filter_map(|(is_wrong, why)| is_wrong.then_some(why)).collect()
}

fn check_variable(variable: &Value, path: &FieldPath, errors: &mut FieldErrors) {
    let name = text_of(variable, "name");
    let is_printable = |c: char| matches!(c, ' '..='~') && c != '=';
    if name.is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    } else if !name.chars().all(is_printable) {
        let why = "a valid environment variable name must consist only of printable ASCII characters other than '='";
        errors.push(FieldError::invalid(path.child("name"), name, why));
    }
    let Some(source) = variable.get("valueFrom").filter(|source| !source.is_null()) else { return };
    let count = SOURCES.iter().filter(|name| source.get(**name).is_some_and(|source| !source.is_null())).count();
    let why = match count {
        0 => "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        _ if !text_of(variable, "value").is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(path.child("valueFrom"), "", why));
}

fn check_mounts(container: &Value, volumes: &[&str], path: &FieldPath, errors: &mut FieldErrors) {
    let mut places = Vec::new();
    for (index, mount) in items(container, "volumeMounts").iter().enumerate() {
        let path = path.index(index);
        let (name, place) = (text_of(mount, "name"), text_of(mount, "mountPath"));
        if name.is_empty() {
            errors.push(FieldError::required(path.child("name"), ""));
        }
        if !volumes.contains(&name) {
            errors.push(FieldError::not_found(path.child("name"), name));
        }
        if place.is_empty() {
            errors.push(FieldError::required(path.child("mountPath"), ""));
        }
        if places.contains(&place) {
            errors.push(FieldError::invalid(path.child("mountPath"), place, "must be unique"));
        }
        places.push(place);
    }
}
