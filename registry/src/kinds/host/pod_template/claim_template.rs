//! Volumes that are made for a pod: what is wrong with what they would be.

use bailiwick_machinery::metadata::{validate_annotations, validate_labels};
use bailiwick_machinery::name::{Messages, dns1123_label, dns1123_subdomain};
use bailiwick_machinery::{FieldError, FieldErrors, Quantity};
use serde_json::{Value, json};

use super::part::{Part, unsupported};
use super::scheduling::check_selector;

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const OF_ONE_POD: &str = "ReadWriteOncePod";
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
const STORAGE: &str = "storage";
const CLAIM: &str = "PersistentVolumeClaim";
/// What a template does not decide, and what Kubernetes calls it.
const UNDECIDED: [(&str, &str); 13] = [
    ("name", "name"),
    ("generateName", "generateName"),
    ("namespace", "namespace"),
    ("selfLink", "selfLink"),
    ("uid", "uID"),
    ("resourceVersion", "resourceVersion"),
    ("generation", "generation"),
    ("creationTimestamp", "creationTimestamp"),
    ("deletionTimestamp", "deletionTimestamp"),
    ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
    ("ownerReferences", "ownerReferences"),
    ("finalizers", "finalizers"),
    ("managedFields", "managedFields"),
];

pub(super) fn check(source: &Part<'_>, errors: &mut FieldErrors) {
    let Some(template) = source.part("volumeClaimTemplate") else {
        errors.push(FieldError::required(source.at("volumeClaimTemplate"), ""));
        return;
    };
    let nothing = Value::Null;
    let part = |field: &str| template.part(field).unwrap_or_else(|| Part::new(&nothing, template.at(field)));
    check_metadata(&part("metadata"), errors);
    check_spec(&part("spec"), errors);
}

fn check_metadata(metadata: &Part<'_>, errors: &mut FieldErrors) {
    validate_annotations(metadata.entries("annotations"), &metadata.at("annotations"), errors);
    validate_labels(metadata.entries("labels"), &metadata.at("labels"), errors);
    for (field, told_as) in UNDECIDED {
        if metadata.has(field) {
            errors.push(FieldError::forbidden(metadata.at(told_as), "cannot be set"));
        }
    }
}

fn check_spec(spec: &Part<'_>, errors: &mut FieldErrors) {
    check_access(spec, errors);
    check_selector(spec, "selector", errors);
    check_storage(spec, errors);
    spec.check_given("storageClassName", dns1123_subdomain, errors);
    spec.check_known_if_given("volumeMode", &VOLUME_MODES, errors);
    let (source, reference) = (spec.part("dataSource"), spec.part("dataSourceRef"));
    for data in [&source, &reference].into_iter().flatten() {
        check_data(data, errors);
    }
    let Some(reference) = reference else { return check_attributes(spec, errors) };
    reference.check_given("namespace", dns1123_label as fn(&str) -> Messages, errors);
    if let Some(source) = source {
        let is_same = ["apiGroup", "kind", "name"].iter().all(|field| source.get(field) == reference.get(field));
        let why = match (reference.text("namespace"), is_same) {
            ("", true) => None,
            ("", false) => Some("must match dataSourceRef"),
            _ => Some("may not be specified when dataSourceRef.namespace is specified"),
        };
        errors.extend(why.map(|why| FieldError::invalid(spec.path().clone(), json!({}), why)));
    }
    check_attributes(spec, errors);
}

fn check_attributes(spec: &Part<'_>, errors: &mut FieldErrors) {
    spec.check_given("volumeAttributesClassName", dns1123_subdomain, errors);
}

fn check_access(spec: &Part<'_>, errors: &mut FieldErrors) {
    let modes = spec.texts("accessModes");
    let path = spec.at("accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(path.clone(), "at least 1 access mode is required"));
    }
    let unknown = modes.iter().filter(|mode| !ACCESS_MODES.contains(mode));
    errors.extend(unknown.map(|mode| unsupported(path.clone(), mode, &ACCESS_MODES)));
    let is_other = |mode: &&str| ACCESS_MODES.contains(mode) && *mode != OF_ONE_POD;
    if modes.contains(&OF_ONE_POD) && modes.iter().any(is_other) {
        errors.push(FieldError::forbidden(path, "may not use ReadWriteOncePod with other access modes"));
    }
}

fn check_storage(spec: &Part<'_>, errors: &mut FieldErrors) {
    let path = spec.at("resources").key(STORAGE);
    let requests = spec.part("resources").map(|resources| resources.amounts("requests")).unwrap_or_default();
    let storage: Option<&Quantity> = requests.iter().find(|(name, _)| *name == STORAGE).map(|(_, amount)| amount);
    match storage {
        None => errors.push(FieldError::required(path, "")),
        Some(amount) if amount.is_negative() || amount.is_zero() => {
            errors.push(FieldError::invalid(path, amount.to_string(), "must be greater than zero"));
        }
        Some(_) => {}
    }
}

fn check_data(data: &Part<'_>, errors: &mut FieldErrors) {
    data.require("name", errors);
    data.require("kind", errors);
    let kind = data.text("kind");
    if data.text("apiGroup").is_empty() && kind != CLAIM {
        let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(FieldError::invalid(data.path().clone(), kind, why));
    }
    data.check_given("apiGroup", dns1123_subdomain, errors);
}
