//! Volumes that others keep.

use bailiwick_machinery::name::{dns1123_label, dns1123_subdomain};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath};

use super::part::{Part, note};

const MOST_TENANT: usize = 64;
const MOST_DRIVER: usize = 63;
/// Whose options are Kubernetes' own.
const RESERVED: [&str; 2] = [".kubernetes.io", ".k8s.io"];

pub(super) fn check_nfs(source: &Part<'_>, errors: &mut FieldErrors) {
    source.require("server", errors);
    source.require("path", errors);
    let path = source.text("path");
    if !path.starts_with('/') {
        errors.push(FieldError::invalid(source.at("path"), path, "must be an absolute path"));
    }
}

pub(super) fn check_flocker(source: &Part<'_>, errors: &mut FieldErrors) {
    let (name, id) = (source.text("datasetName"), source.text("datasetUUID"));
    let path = source.path().clone();
    match (name.is_empty(), id.is_empty()) {
        (true, true) => errors.push(FieldError::required(path, "one of datasetName and datasetUUID is required")),
        (false, false) => {
            let why = "datasetName and datasetUUID can not be specified simultaneously";
            errors.push(FieldError::invalid(path, "resource", why));
        }
        _ => {}
    }
    if name.contains('/') {
        errors.push(FieldError::invalid(source.at("datasetName"), name, "must not contain '/'"));
    }
}

pub(super) fn check_cinder(source: &Part<'_>, errors: &mut FieldErrors) {
    source.require("volumeID", errors);
    check_secret(source, errors);
}

fn check_secret(source: &Part<'_>, errors: &mut FieldErrors) {
    if let Some(secret) = source.part("secretRef") {
        secret.require("name", errors);
    }
}

pub(super) fn check_quobyte(source: &Part<'_>, errors: &mut FieldErrors) {
    let why = "must be a host:port pair or multiple pairs separated by commas";
    let (hosts, tenant) = (source.text("registry"), source.text("tenant"));
    if hosts.is_empty() {
        errors.push(FieldError::required(source.at("registry"), why));
    } else if tenant.len() > MOST_TENANT {
        let why = "must be a UUID and may not exceed a length of 64 characters";
        errors.push(FieldError::required(source.at("tenant"), why));
    } else {
        let wrong = hosts.split(',').filter(|host| !is_host_and_port(host));
        errors.extend(wrong.map(|_| FieldError::invalid(source.at("registry"), hosts, why)));
    }
    source.require("volume", errors);
}

/// Whether a text is `host:port` or `[host]:port`; what these are is not looked at.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_plain = |text: &str| !text.contains(['[', ']']);
    match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').is_some_and(is_plain) && is_plain(port),
        None => !host.contains(':') && is_plain(host) && is_plain(port),
    }
}

pub(super) fn check_flex(source: &Part<'_>, errors: &mut FieldErrors) {
    source.require("driver", errors);
    for (option, _) in source.entries("options") {
        let namespace = option.split_once('/').map_or(option, |(namespace, _)| namespace);
        let namespace = format!(".{}", namespace.to_lowercase());
        if RESERVED.iter().any(|reserved| namespace.ends_with(reserved)) {
            let why = "kubernetes.io and k8s.io namespaces are reserved";
            errors.push(FieldError::invalid(source.at("options").key(option), option, why));
        }
    }
}

pub(super) fn check_storage_os(source: &Part<'_>, errors: &mut FieldErrors) {
    source.check_required("volumeName", dns1123_label, errors);
    source.check_given("volumeNamespace", dns1123_label, errors);
    check_secret(source, errors);
}

pub(super) fn check_csi(source: &Part<'_>, errors: &mut FieldErrors) {
    check_driver(source.text("driver"), &source.at("driver"), errors);
    let Some(secret) = source.part("nodePublishSecretRef") else { return };
    match secret.text("name") {
        "" => errors.push(FieldError::required(secret.at("name"), "")),
        name => note(&source.at("name"), name, dns1123_subdomain(name), errors),
    }
}

fn check_driver(name: &str, path: &FieldPath, errors: &mut FieldErrors) {
    if name.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
        return;
    }
    if name.len() > MOST_DRIVER {
        errors.push(FieldError::too_long(path.clone(), MOST_DRIVER));
    }
    note(path, name, dns1123_subdomain(&name.to_lowercase()), errors);
}
