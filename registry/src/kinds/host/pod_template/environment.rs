//! What is wrong with the variables of a container, and with what is told a container of its own pod.

use bailiwick_machinery::name::{Messages, NameForm, config_key, dns1123_label, dns1123_subdomain, qualified_name};
use bailiwick_machinery::{FieldError, FieldErrors, NameRule, Quantity};
use serde_json::Value;

use super::part::{Part, note};
use super::paths::check_backsteps;

/// What variables can be told of a pod.
const OF_POD: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// What files can be told of a pod.
pub(super) const OF_POD_IN_FILES: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
/// What can be told in no way, although it has a name.
const NEVER_TOLD: [&str; 3] = ["spec.restartPolicy", "spec.schedulerName", "status.phase"];
/// What has entries that can be told one by one.
const ANNOTATIONS: &str = "metadata.annotations";
const LABELS: &str = "metadata.labels";

/// What can be told of a container.
const OF_CONTAINER: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const HUGE_PAGES: [&str; 2] = ["limits.hugepages-", "requests.hugepages-"];
const CPU_UNITS: [&str; 2] = ["1m", "1"];
const BYTE_UNITS: [&str; 13] = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Notes what is wrong with the variables of a container.
pub(super) fn check(container: &Part<'_>, errors: &mut FieldErrors) {
    for variable in container.parts("env") {
        variable.check_required("name", variable_name, errors);
        if let Some(source) = variable.part("valueFrom") {
            check_source(&variable, &source, errors);
        }
    }
    let list = container.at("envFrom");
    for variables in container.parts("envFrom") {
        variables.check_given("prefix", variable_name, errors);
        let sources: Vec<_> = ["configMapRef", "secretRef"].iter().filter_map(|name| variables.part(name)).collect();
        sources.iter().for_each(|source| source.check_required("name", object_name, errors));
        let why = match sources.len() {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        errors.push(FieldError::invalid(list.clone(), "", why));
    }
}

/// What a program can find a variable by.
fn variable_name(name: &str) -> Messages {
    let is_printable = |c: char| matches!(c, ' '..='~') && c != '=';
    if name.chars().all(is_printable) {
        return Messages::new();
    }
    vec!["a valid environment variable name must consist only of printable ASCII characters other than '='".into()]
}

fn object_name(name: &str) -> Messages {
    NameRule::DnsSubdomain.check(name, NameForm::Prefix)
}

fn check_source(variable: &Part<'_>, source: &Part<'_>, errors: &mut FieldErrors) {
    let mut count = 0;
    let mut found = |field: &str| source.part(field).inspect(|_| count += 1);
    if let Some(reference) = found("fieldRef") {
        check_field(&reference, &OF_POD, errors);
    }
    if let Some(reference) = found("resourceFieldRef") {
        check_resource(&reference, errors);
    }
    for field in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(reference) = found(field) {
            reference.check_text("name", dns1123_subdomain, errors);
            reference.check_required("key", config_key, errors);
        }
    }
    if let Some(reference) = found("fileKeyRef") {
        reference.check_required("key", variable_name, errors);
        reference.check_required("volumeName", dns1123_label, errors);
        reference.require("path", errors);
        check_backsteps(reference.text("path"), &reference.at("path"), errors);
    }
    let why = match count {
        0 => "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        _ if !variable.text("value").is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(source.path().clone(), "", why));
}

/// Notes what is wrong with a reference to a field of the pod, of which some can be told.
pub(super) fn check_field(reference: &Part<'_>, told: &[&str], errors: &mut FieldErrors) {
    let (version, named) = (reference.text("apiVersion"), reference.text("fieldPath"));
    if let Some(absent) = ["apiVersion", "fieldPath"].iter().find(|field| reference.text(field).is_empty()) {
        errors.push(FieldError::required(reference.at(absent), ""));
        return;
    }
    let unknown = |why: String| {
        FieldError::invalid(reference.at("fieldPath"), named, format!("error converting fieldPath: {why}"))
    };
    if version != "v1" {
        errors.push(unknown(format!("unsupported pod version: {version}")));
    } else if let Some((map, key)) = entry(named) {
        match map {
            ANNOTATIONS => {
                let key = key.to_lowercase();
                note(reference.path(), &key, qualified_name(&key), errors);
            }
            LABELS => note(reference.path(), key, qualified_name(key), errors),
            _ => errors.push(unknown(format!("field label does not support subscript: {named}"))),
        }
    } else {
        // What clients of old say.
        let field = if named == "spec.host" { "spec.nodeName" } else { named };
        let is_known = [&OF_POD[..], &OF_POD_IN_FILES, &NEVER_TOLD].iter().any(|known| known.contains(&field));
        if !is_known {
            errors.push(unknown(format!("field label not supported: {named}")));
        } else if !told.contains(&field) {
            errors.push(FieldError::not_supported(reference.at("fieldPath"), field, told));
        }
    }
}

/// `metadata.labels['key']`.
fn entry(path: &str) -> Option<(&str, &str)> {
    path.strip_suffix("']")?.split_once("['").filter(|(map, _)| !map.is_empty())
}

/// Notes what is wrong with a reference to what a container has.
pub(super) fn check_resource(reference: &Part<'_>, errors: &mut FieldErrors) {
    let resource = reference.text("resource");
    let is_huge = HUGE_PAGES.iter().any(|prefix| resource.starts_with(prefix));
    if resource.is_empty() {
        errors.push(FieldError::required(reference.at("resource"), ""));
    } else if !OF_CONTAINER.contains(&resource) && !is_huge {
        errors.push(FieldError::not_supported(reference.at("resource"), resource, &OF_CONTAINER));
    }
    check_divisor(reference, errors);
}

pub(super) fn check_divisor(reference: &Part<'_>, errors: &mut FieldErrors) {
    let resource = reference.text("resource");
    let divisor = Quantity::from_json(reference.get("divisor").unwrap_or(&Value::Null)).unwrap_or_default();
    let bytes = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
    let (units, list, what) = match resource {
        "limits.cpu" | "requests.cpu" => (&CPU_UNITS[..], "1m and 1", "cpu"),
        "limits.memory" | "requests.memory" => (&BYTE_UNITS[..], bytes, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            (&BYTE_UNITS[..], bytes, "local ephemeral storage")
        }
        other if HUGE_PAGES.iter().any(|prefix| other.starts_with(prefix)) => (&BYTE_UNITS[..], bytes, "hugepages"),
        _ => return,
    };
    if !divisor.is_zero() && !units.contains(&divisor.to_string().as_str()) {
        let why = format!("only divisor's values {list} are supported with the {what} resource");
        errors.push(FieldError::invalid(reference.at("divisor"), resource, why));
    }
}

/// Notes variables that come from a file in a volume that a pod does not share between its containers.
pub(super) fn check_files(spec: &Part<'_>, errors: &mut FieldErrors) {
    for container in super::container::all(spec) {
        for variable in container.parts("env") {
            let reference = variable.part("valueFrom").and_then(|source| source.part("fileKeyRef"));
            let Some(reference) = reference else { continue };
            let name = reference.text("volumeName");
            // Of several volumes with a name, the last.
            let volume = spec.parts("volumes").filter(|volume| volume.text("name") == name).last();
            match volume {
                None => errors.push(FieldError::not_found(reference.at("volumeName"), name)),
                Some(volume) if volume.has("emptyDir") => {}
                Some(_) => {
                    let why = "referenced volume must be of type emptyDir";
                    errors.push(FieldError::invalid(reference.at("volumeName"), name, why));
                }
            }
        }
    }
}
