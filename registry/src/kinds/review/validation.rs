//! What is wrong with a review of access, in Kubernetes' words.

use bailiwick_machinery::name::{label_value, qualified_name};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, Object};
use k8s_openapi::api::authorization::v1::{NonResourceAttributes, ResourceAttributes, SubjectAccessReviewSpec};
use serde::Serialize;
use serde_json::{Map, Value};

/// A requirement of a selector, of labels or of fields.
struct Requirement<'r> {
    key: &'r str,
    operator: &'r str,
    values: &'r [String],
}

/// Attributes as Go prints its internal type, which has no names for JSON.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Printed<'p> {
    path: &'p str,
    verb: &'p str,
}

/// A question about someone.
pub(super) fn subject(spec: &SubjectAccessReviewSpec, errors: &mut FieldErrors) {
    attributes(&spec.resource_attributes, &spec.non_resource_attributes, errors);
    let user = spec.user.as_deref().unwrap_or_default();
    if user.is_empty() && spec.groups.as_ref().is_none_or(Vec::is_empty) {
        let why = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(FieldPath::new("spec.user"), user, why));
    }
    selectors(&spec.resource_attributes, errors);
}

/// A question is about objects, or about a path.
pub(super) fn attributes(
    resource: &Option<ResourceAttributes>,
    path: &Option<NonResourceAttributes>,
    errors: &mut FieldErrors,
) {
    match (resource, path) {
        (Some(_), Some(path)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            errors.push(invalid_path(path, why));
        }
        (None, None) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.push(FieldError::invalid(FieldPath::new("spec.resourceAttributes"), Value::Null, why));
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
}

/// What the selectors require.
pub(super) fn selectors(resource: &Option<ResourceAttributes>, errors: &mut FieldErrors) {
    let Some(resource) = resource else { return };
    let path = FieldPath::new("spec.resourceAttributes");
    if let Some(selector) = &resource.field_selector {
        let path = path.child("fieldSelector");
        let requirements = selector.requirements.as_deref().unwrap_or_default();
        check_form(selector.raw_selector.as_deref(), requirements.len(), &path, errors);
        for (index, one) in requirements.iter().enumerate() {
            let path = path.child("requirements").index(index);
            if one.key.is_empty() {
                errors.push(FieldError::required(path.child("key"), "must be specified"));
            }
            let values = one.values.as_deref().unwrap_or_default();
            Requirement { key: &one.key, operator: &one.operator, values }.check_values(&path, errors);
        }
    }
    if let Some(selector) = &resource.label_selector {
        let path = path.child("labelSelector");
        let requirements = selector.requirements.as_deref().unwrap_or_default();
        check_form(selector.raw_selector.as_deref(), requirements.len(), &path, errors);
        for (index, one) in requirements.iter().enumerate() {
            let values = one.values.as_deref().unwrap_or_default();
            let one = Requirement { key: &one.key, operator: &one.operator, values };
            one.check_label(&path.child("requirements").index(index), errors);
        }
    }
}

/// A question about a namespace is about objects of that namespace.
pub(super) fn local(spec: &SubjectAccessReviewSpec, namespace: &str, errors: &mut FieldErrors) {
    if let Some(resource) = &spec.resource_attributes {
        let found = resource.namespace.as_deref().unwrap_or_default();
        if found != namespace {
            let path = FieldPath::new("spec.resourceAttributes.namespace");
            errors.push(FieldError::invalid(path, found, "must match metadata.namespace"));
        }
    }
    if let Some(path) = &spec.non_resource_attributes {
        errors.push(invalid_path(path, "disallowed on this kind of request"));
    }
}

/// A question has no metadata.
pub(super) fn metadata(sent: &Object, except: &[&str], why: &str, errors: &mut FieldErrors) {
    let found: Map<String, Value> = match sent.fields().get("metadata") {
        Some(Value::Object(metadata)) => metadata.clone(),
        _ => return,
    };
    if found.keys().any(|name| name != "managedFields" && !except.contains(&name.as_str())) {
        errors.push(FieldError::invalid(FieldPath::new("metadata"), Value::Object(found), why));
    }
}

fn invalid_path(attributes: &NonResourceAttributes, why: &str) -> FieldError {
    let path = attributes.path.as_deref().unwrap_or_default();
    let printed = Printed { path, verb: attributes.verb.as_deref().unwrap_or_default() };
    FieldError::invalid_json(FieldPath::new("spec.nonResourceAttributes"), &printed, why)
}

/// A selector is a text, or requirements.
fn check_form(text: Option<&str>, requirements: usize, path: &FieldPath, errors: &mut FieldErrors) {
    let text = text.unwrap_or_default();
    match (text.is_empty(), requirements == 0) {
        (false, false) => {
            let why = "may not specified at the same time as requirements";
            errors.push(FieldError::invalid(path.child("rawSelector"), text, why));
        }
        (true, true) => {
            let why = format!("when {path} is specified, requirements or rawSelector is required");
            errors.push(FieldError::required(path.child("requirements"), why));
        }
        (true, false) | (false, true) => {}
    }
}

// === impl Requirement ===

impl Requirement<'_> {
    /// Operators that are not known are passed over: newer clients may know more.
    fn check_values(&self, path: &FieldPath, errors: &mut FieldErrors) {
        let values = path.child("values");
        match (self.operator, self.values.is_empty()) {
            ("In" | "NotIn", true) => {
                errors.push(FieldError::required(values, "must be specified when `operator` is 'In' or 'NotIn'"));
            }
            ("Exists" | "DoesNotExist", false) => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(values, why));
            }
            _ => {}
        }
    }

    fn check_label(&self, path: &FieldPath, errors: &mut FieldErrors) {
        self.check_values(path, errors);
        let key = path.child("key");
        errors.extend(qualified_name(self.key).into_iter().map(|why| FieldError::invalid(key.clone(), self.key, why)));
        for (index, value) in self.values.iter().enumerate() {
            let path = path.child("values").index(index);
            errors.extend(label_value(value).into_iter().map(|why| FieldError::invalid(path.clone(), &**value, why)));
        }
    }
}
