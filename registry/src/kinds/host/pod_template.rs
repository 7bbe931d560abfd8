//! PodTemplate: what a pod would be.
//!
//! There are no pods here. What a pod does not say is filled in, and what is wrong with it is told, in the words of Kubernetes and
//! as it does unless it is told to have more or less: one file of this folder for each part of a pod.

use async_trait::async_trait;
use bailiwick_machinery::metadata::{validate_annotations, validate_labels};
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameRule, Object, Scope};
use k8s_openapi::api::core::v1::PodTemplate;
use serde_json::Value;

use self::part::Part;
use super::{at, edit, entries, list, text_of};
use crate::context::Ctx;
use crate::error::Result;
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

mod annotations;
mod block_sources;
mod claim_template;
mod container;
mod defaults;
mod disabled;
mod environment;
mod file_sources;
mod image;
mod mounts;
mod network;
mod network_sources;
mod overlaps;
mod part;
mod paths;
mod pod_resources;
mod pod_spec;
mod ports;
mod probes;
mod profiles;
mod resources;
mod restarts;
mod scheduling;
mod security;
mod shown;
mod topology;
mod volumes;
mod warnings;
mod windows;

const TEMPLATE: &str = "template";
const SPEC: &str = "template.spec";
const CONTAINERS: &str = "template.spec.containers";

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

#[async_trait]
impl Strategy for Rules {
    fn complete(&self, object: &mut Object) {
        edit(object, TEMPLATE, |template| {
            if let Some(Value::Object(spec)) = template.get_mut("spec") {
                defaults::complete_spec(spec);
            }
        });
    }

    async fn prepare_create(&self, _: &Ctx<'_>, object: &mut Object) -> Result<()> {
        remove_disabled(object);
        Ok(())
    }

    async fn prepare_update(&self, _: &Ctx<'_>, object: &mut Object, _: &Object) -> Result<()> {
        remove_disabled(object);
        Ok(())
    }

    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        check(object, None, errors);
    }

    fn validate_change(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        check(object, at(old, SPEC), errors);
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let template = |object: &Object| object.fields().get(TEMPLATE).cloned();
        if old.is_some_and(|old| template(old) == template(object)) {
            return Vec::new();
        }
        let path = FieldPath::new(TEMPLATE);
        let part = |field: &str| {
            let value = at(object, TEMPLATE).and_then(|template| template.get(field)).unwrap_or(&Value::Null);
            Part::new(value, path.child(field))
        };
        warnings::of(&part("metadata"), &part("spec"))
    }
}

fn remove_disabled(object: &mut Object) {
    edit(object, TEMPLATE, |template| {
        if let Some(Value::Object(spec)) = template.get_mut("spec") {
            disabled::remove(spec);
        }
    });
}

fn check(object: &Object, old: Option<&Value>, errors: &mut FieldErrors) {
    let path = FieldPath::new(TEMPLATE);
    let value = |place: &str| at(object, place).unwrap_or(&Value::Null);
    // Kubernetes tells of them as if they were the template's own.
    let template = Part::new(value("template.metadata"), path.clone());
    let annotations = Part::new(value("template.metadata.annotations"), path.child("annotations"));
    let spec = Part::new(value(SPEC), path.child("spec"));
    validate_labels(template.entries("labels"), &template.at("labels"), errors);
    validate_annotations(template.entries("annotations"), &template.at("annotations"), errors);
    annotations::check(&annotations, &spec, errors);
    pod_spec::check(&spec, old, errors);
    profiles::check_agreement(&annotations, &spec, errors);
    if !spec.items("ephemeralContainers").is_empty() {
        let why = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(spec.at("ephemeralContainers"), why));
    }
}
