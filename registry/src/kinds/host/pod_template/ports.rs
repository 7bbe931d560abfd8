//! What is wrong with the ports of containers.

use std::collections::BTreeSet;

use bailiwick_machinery::name::Messages;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath};
use serde_json::Value;

use super::part::{Part, note, out_of_range};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const MOST_IN_NAME: usize = 15;
const MOST_PORT: i64 = 65_535;

/// Notes what is wrong with the ports of a container.
pub(super) fn check(container: &Part<'_>, errors: &mut FieldErrors) {
    let mut names = BTreeSet::new();
    for port in container.parts("ports") {
        let name = port.text("name");
        let wrong = if name.is_empty() { Messages::new() } else { port_name(name) };
        if !name.is_empty() && wrong.is_empty() && !names.insert(name) {
            errors.push(FieldError::duplicate(port.at("name"), name));
        }
        note(&port.at("name"), name, wrong, errors);
        if port.number("containerPort") == 0 {
            errors.push(FieldError::required(port.at("containerPort"), ""));
        }
        for field in ["containerPort", "hostPort"] {
            if port.number(field) != 0 {
                port.check_range(field, 1, MOST_PORT, errors);
            }
        }
        port.check_known_required("protocol", &PROTOCOLS, errors);
    }
}

/// Notes ports of the host that are wanted twice by containers that run at the same time.
pub(super) fn check_conflicts<'v>(containers: impl Iterator<Item = Part<'v>>, errors: &mut FieldErrors) {
    let mut wanted = BTreeSet::new();
    for port in containers.flat_map(|container| container.parts("ports")) {
        let number = port.number("hostPort");
        if number == 0 {
            continue;
        }
        let port_of_host = format!("{}/{}/{number}", port.text("protocol"), port.text("hostIP"));
        if !wanted.insert(port_of_host.clone()) {
            errors.push(FieldError::duplicate(port.at("hostPort"), port_of_host));
        }
    }
}

/// Notes ports of a container in the host's network that are other ports of the host.
pub(super) fn check_host_network(spec: &Part<'_>, errors: &mut FieldErrors) {
    if !spec.is("hostNetwork") {
        return;
    }
    for port in spec.parts("containers").flat_map(|container| container.parts("ports")) {
        let number = port.number("hostPort");
        if number != 0 && number != port.number("containerPort") {
            let why = "must match `containerPort` when `hostNetwork` is true";
            errors.push(FieldError::invalid(port.at("hostPort"), number, why));
        }
    }
}

/// Notes a port that is neither a number nor a name of one.
pub(super) fn check_number_or_name(port: &Value, path: &FieldPath, errors: &mut FieldErrors) {
    match port {
        Value::String(name) => note(path, name, port_name(name), errors),
        number => {
            let number = number.as_i64().unwrap_or_default();
            if !(1..=MOST_PORT).contains(&number) {
                errors.push(FieldError::invalid(path.clone(), number, out_of_range(1, MOST_PORT)));
            }
        }
    }
}

fn port_name(name: &str) -> Messages {
    let is_known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let wrong = [
        (name.len() > MOST_IN_NAME, "must be no more than 15 characters"),
        (
            name.is_empty() || !name.chars().all(is_known),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (!name.contains(|c: char| c.is_ascii_lowercase()), "must contain at least one letter (a-z)"),
        (name.contains("--"), "must not contain consecutive hyphens"),
        (name.starts_with('-') || name.ends_with('-'), "must not begin or end with a hyphen"),
    ];
    wrong.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, why)| why.into()).collect()
}
