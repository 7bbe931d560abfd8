//! PodTemplate: what a pod would be.
//!
//! There are no pods here. What a pod does not say is filled in, and what most pods have is checked, in the words of
//! Kubernetes; the rest (the sources of volumes, probes, hooks, security, affinity, tolerations, DNS, topology) is taken as it
//! is.

use bailiwick_machinery::metadata::{validate_annotations, validate_labels};
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldErrors, FieldPath, NameRule, Object, Scope};
use k8s_openapi::api::core::v1::PodTemplate;
use serde_json::Value;

use super::{at, edit, entries, list, text_of};
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

mod container;
mod defaults;
mod pod_spec;
mod resources;

const TEMPLATE: &str = "template";
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

impl Strategy for Rules {
    fn complete(&self, object: &mut Object) {
        edit(object, TEMPLATE, |template| {
            if let Some(Value::Object(spec)) = template.get_mut("spec") {
                defaults::complete_spec(spec);
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
        let spec = at(object, "template.spec").unwrap_or(&Value::Null);
        pod_spec::check(spec, &path.child("spec"), errors);
    }
}

/// The items of a list that may be absent.
fn items<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
