//! What is wrong with probes, and with what happens when a container starts and stops.

use bailiwick_machinery::name::Messages;
use bailiwick_machinery::{FieldError, FieldErrors};
use serde_json::Value;

use super::part::{Part, note, unsupported};
use super::ports::check_number_or_name;

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const HOOKS: [&str; 2] = ["postStart", "preStop"];
/// How a container is probed.
const PROBE_HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];
/// What is done when it starts or stops.
const HOOK_HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "sleep"];
const SCHEMES: [&str; 2] = ["HTTP", "HTTPS"];
const COUNTS: [&str; 5] =
    ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];
const GRACE_PERIOD: &str = "terminationGracePeriodSeconds";

/// Notes what is wrong with the probes and hooks of a container that has so many seconds to end.
pub(super) fn check(container: &Part<'_>, grace_period: Option<i64>, errors: &mut FieldErrors) {
    if let Some(lifecycle) = container.part("lifecycle") {
        let hooks = HOOKS.iter().filter_map(|hook| lifecycle.part(hook));
        hooks.for_each(|hook| check_handler(&hook, &HOOK_HANDLERS, grace_period, errors));
    }
    for name in PROBES {
        if let Some(probe) = container.part(name) {
            check_probe(name, &probe, errors);
        }
    }
}

/// Notes those of a container that ends before others begin.
pub(super) fn forbid(container: &Part<'_>, errors: &mut FieldErrors) {
    let why = "may not be set for init containers without restartPolicy=Always";
    container.forbid(&["lifecycle"], why, errors);
    container.forbid(&PROBES, why, errors);
}

fn check_probe(name: &str, probe: &Part<'_>, errors: &mut FieldErrors) {
    check_handler(probe, &PROBE_HANDLERS, None, errors);
    for field in COUNTS {
        let count = probe.number(field);
        if count < 0 {
            errors.push(FieldError::invalid(probe.at(field), count, "must be greater than or equal to 0"));
        }
    }
    let seconds = probe.given_number(GRACE_PERIOD);
    if let Some(seconds) = seconds.filter(|seconds| *seconds <= 0) {
        errors.push(FieldError::invalid(probe.at(GRACE_PERIOD), seconds, "must be greater than 0"));
    }
    match (name, seconds) {
        ("readinessProbe", None) => {}
        ("readinessProbe", Some(seconds)) => {
            errors.push(FieldError::invalid(probe.at(GRACE_PERIOD), seconds, "must not be set for readinessProbes"));
        }
        _ if probe.number("successThreshold") == 1 => {}
        _ => {
            let count = probe.number("successThreshold");
            errors.push(FieldError::invalid(probe.at("successThreshold"), count, "must be 1"));
        }
    }
}

fn check_handler(part: &Part<'_>, known: &[&str], grace_period: Option<i64>, errors: &mut FieldErrors) {
    let mut handlers = known.iter().filter_map(|name| part.part(name).map(|handler| (*name, handler)));
    match handlers.next() {
        None => errors.push(FieldError::required(part.path().clone(), "must specify a handler type")),
        Some((name, handler)) => check_action(name, &handler, grace_period, errors),
    }
    for (_, more) in handlers {
        errors.push(FieldError::forbidden(more.path().clone(), "may not specify more than 1 handler type"));
    }
}

fn check_action(name: &str, action: &Part<'_>, grace_period: Option<i64>, errors: &mut FieldErrors) {
    let check_port = |errors: &mut FieldErrors| {
        check_number_or_name(action.get("port").unwrap_or(&Value::Null), &action.at("port"), errors);
    };
    match name {
        "exec" => action.require("command", errors),
        "httpGet" => {
            action.require("path", errors);
            check_port(errors);
            let scheme = action.text("scheme");
            if !SCHEMES.contains(&scheme) {
                errors.push(unsupported(action.at("scheme"), scheme, &SCHEMES));
            }
            for header in action.parts("httpHeaders") {
                let name = header.text("name");
                note(&action.at("httpHeaders"), name, header_name(name), errors);
            }
        }
        "sleep" => {
            let seconds = action.number("seconds");
            if let Some(most) = grace_period.filter(|most| !(0..=*most).contains(&seconds)) {
                let why = format!("must be non-negative and less than terminationGracePeriodSeconds ({most})");
                errors.push(FieldError::invalid(action.path().clone(), seconds, why));
            }
        }
        _ => check_port(errors),
    }
}

fn header_name(name: &str) -> Messages {
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Messages::new();
    }
    let why = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
    vec![why.into()]
}
