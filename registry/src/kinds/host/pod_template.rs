//! PodTemplate: what a pod would be.
//!
//! There are no pods here, so that only what every pod has is filled in and checked: its containers and its policies.

use bailiwick_machinery::metadata::{validate_annotations, validate_labels};
use bailiwick_machinery::name::dns1123_label;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameRule, Object, Scope};
use k8s_openapi::api::core::v1::PodTemplate;
use serde_json::{Map, Value, json};

use super::{at, edit, entries, invalid, list, text, text_of};
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

const TEMPLATE: &str = "template";
const CONTAINERS: &str = "template.spec.containers";
const CONTAINER_LISTS: [&str; 2] = ["containers", "initContainers"];
const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];
const DNS_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::host::<PodTemplate>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    let text = |name: &'static str, description: &'static str| Column::new(name, ColumnType::String, description);
    let columns = move || {
        Columns::named()
            .with(text("Containers", "Names of each container in the template."), |object, _| joined(object, "name"))
            .with(text("Images", "Images referenced by each container in the template."), |object, _| {
                joined(object, "image")
            })
            .with(text("Pod Labels", "The labels for the pod template."), |object, _| labels(object))
    };
    Ok(kind.with_generation().with_unconditional_update().with_deleted_told().columns(columns).strategy(Rules))
}

fn joined(object: &Object, field: &str) -> Value {
    let texts: Vec<&str> = list(object, CONTAINERS).iter().map(|container| text_of(container, field)).collect();
    texts.join(",").into()
}

fn labels(object: &Object) -> Value {
    let labels = entries(object, "template.metadata.labels");
    let labels: Vec<String> =
        labels.map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default())).collect();
    if labels.is_empty() { "<none>".into() } else { labels.join(",").into() }
}

struct Rules;

// === impl Rules ===

impl Strategy for Rules {
    fn complete(&self, object: &mut Object) {
        edit(object, TEMPLATE, |template| {
            if let Some(Value::Object(spec)) = template.get_mut("spec") {
                complete_spec(spec);
            }
        });
    }

    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        let path = FieldPath::new(TEMPLATE);
        let texts = |field: &'static str| {
            entries(object, field).map(|(name, value)| (name, value.as_str().unwrap_or_default())).collect::<Vec<_>>()
        };
        validate_labels(texts("template.metadata.labels"), &path.child("labels"), errors);
        validate_annotations(texts("template.metadata.annotations"), &path.child("annotations"), errors);
        check_spec(object, &path.child("spec"), errors);
    }
}

fn complete_spec(spec: &mut Map<String, Value>) {
    let defaults = [
        ("restartPolicy", json!("Always")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("dnsPolicy", json!("ClusterFirst")),
        ("securityContext", json!({})),
        ("schedulerName", json!("default-scheduler")),
    ];
    for (field, value) in defaults {
        spec.entry(field).or_insert(value);
    }
    for field in CONTAINER_LISTS {
        let containers = spec.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten();
        containers.filter_map(Value::as_object_mut).for_each(complete_container);
    }
}

fn complete_container(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let pull_policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
    let defaults = [
        ("imagePullPolicy", json!(pull_policy)),
        ("terminationMessagePath", json!("/dev/termination-log")),
        ("terminationMessagePolicy", json!("File")),
    ];
    for (field, value) in defaults {
        container.entry(field).or_insert(value);
    }
    let ports = container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
    for port in ports.filter_map(Value::as_object_mut) {
        port.entry("protocol").or_insert_with(|| "TCP".into());
    }
}

/// Whether an image may be another one tomorrow.
fn is_latest(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or(image);
    !image.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn check_spec(object: &Object, path: &FieldPath, errors: &mut FieldErrors) {
    let containers = list(object, CONTAINERS);
    if containers.is_empty() {
        errors.push(FieldError::required(path.child("containers"), ""));
    }
    let mut names: Vec<&str> = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        check_container(container, &path.child("containers").index(index), &mut names, errors);
    }
    for (field, known) in [("restartPolicy", &RESTART_POLICIES[..]), ("dnsPolicy", &DNS_POLICIES[..])] {
        let found = text(object, &format!("template.spec.{field}"));
        if !known.contains(&found) {
            errors.push(FieldError::not_supported(path.child(field), found, known));
        }
    }
    if at(object, "template.spec.ephemeralContainers").is_some() {
        let why = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(path.child("ephemeralContainers"), why));
    }
}

fn check_container<'c>(container: &'c Value, path: &FieldPath, names: &mut Vec<&'c str>, errors: &mut FieldErrors) {
    let (name, image) = (text_of(container, "name"), text_of(container, "image"));
    match name {
        "" => errors.push(FieldError::required(path.child("name"), "")),
        name => invalid(&path.child("name"), name, dns1123_label(name), errors),
    }
    if names.contains(&name) {
        errors.push(FieldError::duplicate(path.child("name"), name));
    }
    names.push(name);
    if image.is_empty() {
        errors.push(FieldError::required(path.child("image"), ""));
    }
    let pull_policy = text_of(container, "imagePullPolicy");
    if !PULL_POLICIES.contains(&pull_policy) {
        errors.push(FieldError::not_supported(path.child("imagePullPolicy"), pull_policy, &PULL_POLICIES));
    }
}
