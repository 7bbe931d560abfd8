//! What must hold of an object's metadata when it is created and when it is updated, for objects of every kind.
//!
//! The order of the checks and their texts are those of apimachinery's `ValidateObjectMetaAccessor` and
//! `ValidateObjectMetaAccessorUpdate`. Fields of the wrong type are not looked at: that is the business of the schema.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::field::{FieldError, FieldErrors, FieldPath};
use crate::go;
use crate::group::GroupVersion;
use crate::name::{
    MAX_ANNOTATIONS_BYTES, Messages, NameForm, NameRule, annotation_key, dns1123_label, label_value, qualified_name,
};
use crate::object::{Metadata, Object, OwnerReference};

mod coerce;

pub(crate) use coerce::coerce_at;
pub use coerce::{MetadataError, coerce};

/// The finalizer by which dependents are left alone when their owner is deleted.
pub const FINALIZER_ORPHAN: &str = "orphan";
/// The finalizer by which dependents are deleted before their owner is.
pub const FINALIZER_FOREGROUND: &str = "foregroundDeletion";

/// The most bytes of a field manager's name.
pub const MAX_FIELD_MANAGER_BYTES: usize = 128;
const MAX_SUBRESOURCE_BYTES: usize = 256;

/// After so many errors no more entries are looked at: an object of a million bad labels would otherwise be answered with
/// far more text than it has itself.
pub(crate) const MAX_ERRORS: usize = 100;
/// A list that is longer in JSON is not repeated in an error, for the same reason.
const MAX_SHOWN_BYTES: usize = 16 * 1024;

/// Where objects of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// In namespaces.
    Namespaced,
    /// In the cluster as a whole.
    Cluster,
}

/// Checks the metadata of an object that is to be created. A name must have been generated before, where one is asked for.
pub fn validate_object_metadata(object: &Object, scope: Scope, rule: NameRule, errors: &mut FieldErrors) {
    let metadata = object.metadata();
    let path = FieldPath::new("metadata");

    let base = metadata.generate_name();
    if !base.is_empty() {
        invalid(&path.child("generateName"), base, rule.check(base, NameForm::Prefix), errors);
    }
    match metadata.name() {
        "" => errors.push(FieldError::required(path.child("name"), "name or generateName is required")),
        name => invalid(&path.child("name"), name, rule.check(name, NameForm::Whole), errors),
    }
    let namespace_path = path.child("namespace");
    match (scope, metadata.namespace()) {
        (Scope::Namespaced, "") => errors.push(FieldError::required(namespace_path, "")),
        (Scope::Namespaced, namespace) => invalid(&namespace_path, namespace, dns1123_label(namespace), errors),
        (Scope::Cluster, "") => {}
        (Scope::Cluster, _) => errors.push(FieldError::forbidden(namespace_path, "not allowed on this type")),
    }
    let generation = metadata.generation();
    if generation < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path.child("generation"), generation, detail));
    }
    validate_labels(metadata.labels(), &path.child("labels"), errors);
    validate_annotations(metadata.annotations(), &path.child("annotations"), errors);
    validate_owner_references(metadata, &path.child("ownerReferences"), errors);
    validate_finalizers(metadata, &path.child("finalizers"), errors);
    validate_managed_fields(metadata, &path.child("managedFields"), errors);
}

/// Checks the metadata of an object that is to take the place of another. What the server decides (the resource version
/// of an unconditional update, the UID, the timestamps) must have been filled in before. Times are compared as texts.
pub fn validate_object_metadata_update(new: &Object, old: &Object, errors: &mut FieldErrors) {
    let (new, old) = (new.metadata(), old.metadata());
    let path = FieldPath::new("metadata");

    if old.deletion_timestamp().is_some() {
        validate_no_new_finalizers(new, old, &path.child("finalizers"), errors);
    }
    if new.resource_version().is_empty() {
        let detail = "must be specified for an update";
        errors.push(FieldError::invalid(path.child("resourceVersion"), "", detail));
    }
    if new.generation() < old.generation() {
        let field = path.child("generation");
        errors.push(FieldError::invalid(field, new.generation(), "must not be decremented"));
    }
    for (field, new, old) in [("name", new.name(), old.name()), ("namespace", new.namespace(), old.namespace())] {
        if new != old {
            errors.push(FieldError::invalid(path.child(field), new, IMMUTABLE));
        }
    }
    if new.uid() != old.uid() {
        errors.push(FieldError::invalid_json(path.child("uid"), &new.uid(), IMMUTABLE));
    }
    for field in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let given = |metadata: Metadata<'_>| metadata.get(field).cloned().unwrap_or(Value::Null);
        let (new, old) = (given(new), given(old));
        if new != old {
            errors.push(FieldError::invalid_json(path.child(field), &new, IMMUTABLE));
        }
    }
    validate_labels(new.labels(), &path.child("labels"), errors);
    validate_annotations(new.annotations(), &path.child("annotations"), errors);
    validate_owner_references(new, &path.child("ownerReferences"), errors);
    validate_managed_fields(new, &path.child("managedFields"), errors);
}

/// Checks labels, also those that a selector or a template names.
pub fn validate_labels<'l>(
    labels: impl IntoIterator<Item = (&'l str, &'l str)>,
    path: &FieldPath,
    errors: &mut FieldErrors,
) {
    for (key, value) in labels {
        if is_full(errors) {
            return;
        }
        invalid(path, key, qualified_name(key), errors);
        invalid(path, value, label_value(value), errors);
    }
}

/// Checks annotations.
pub fn validate_annotations<'a>(
    annotations: impl IntoIterator<Item = (&'a str, &'a str)>,
    path: &FieldPath,
    errors: &mut FieldErrors,
) {
    let mut bytes = 0_usize;
    for (key, value) in annotations {
        bytes = bytes.saturating_add(key.len()).saturating_add(value.len());
        if !is_full(errors) {
            invalid(path, key, annotation_key(key), errors);
        }
    }
    if bytes > MAX_ANNOTATIONS_BYTES {
        errors.push(FieldError::too_long(path.clone(), MAX_ANNOTATIONS_BYTES));
    }
}

/// Checks the name of a field manager; an empty one stands for none.
pub fn validate_field_manager(manager: &str, path: &FieldPath, errors: &mut FieldErrors) {
    if manager.len() > MAX_FIELD_MANAGER_BYTES {
        errors.push(FieldError::too_long(path.clone(), MAX_FIELD_MANAGER_BYTES));
    }
    for (at, c) in manager.char_indices().filter(|&(_, c)| !go::is_printable(c)) {
        if is_full(errors) {
            return;
        }
        let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(c));
        errors.push(FieldError::invalid(path.clone(), shown(manager), detail));
    }
}

const IMMUTABLE: &str = "field is immutable";

fn is_full(errors: &FieldErrors) -> bool {
    errors.as_slice().len() >= MAX_ERRORS
}

/// Text that may be repeated with every error about it.
fn shown(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SHOWN_BYTES)]
}

fn invalid(path: &FieldPath, value: &str, messages: Messages, errors: &mut FieldErrors) {
    errors.extend(messages.into_iter().map(|message| FieldError::invalid(path.clone(), value, message)));
}

fn validate_owner_references(metadata: Metadata<'_>, path: &FieldPath, errors: &mut FieldErrors) {
    let mut controller: Option<String> = None;
    for owner in metadata.owner_references() {
        if is_full(errors) {
            return;
        }
        validate_owner_reference(&owner, path, errors);
        if owner.controller != Some(true) {
            continue;
        }
        let name = format!("{}/{}", owner.kind, owner.name);
        match &controller {
            None => controller = Some(name),
            Some(first) => {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                );
                let owners: Vec<OwnerReference> = metadata.owner_references().collect();
                if go::json_of(&owners).len() > MAX_SHOWN_BYTES {
                    errors.push(FieldError::invalid(path.clone(), owners.len(), shown(&detail)));
                    return;
                }
                errors.push(FieldError::invalid_json(path.clone(), &owners, &detail));
            }
        }
    }
}

fn validate_owner_reference(owner: &OwnerReference, path: &FieldPath, errors: &mut FieldErrors) {
    // An `apiVersion` that cannot be read counts as none, and so does a lone slash.
    let version = GroupVersion::parse(&owner.api_version).unwrap_or_else(|| GroupVersion::new("", ""));
    if version.version.is_empty() {
        let detail = "version must not be empty";
        errors.push(FieldError::invalid(path.child("apiVersion"), owner.api_version.as_str(), detail));
    }
    for (field, value) in [("kind", &owner.kind), ("name", &owner.name)] {
        if value.is_empty() {
            errors.push(FieldError::invalid(path.child(field), "", "must not be empty"));
        }
    }
    if owner.uid.is_empty() {
        errors.push(FieldError::invalid(path.child("uid"), "", "must not be empty"));
    }
    // Events come and go by themselves: nothing could belong to one.
    if version.group.is_empty() && version.version == "v1" && owner.kind == "Event" {
        errors.push(FieldError::invalid_json(path.clone(), owner, "/v1, Kind=Event is disallowed from being an owner"));
    }
}

fn validate_finalizers(metadata: Metadata<'_>, path: &FieldPath, errors: &mut FieldErrors) {
    let mut finalizers: Vec<&str> = Vec::new();
    for finalizer in metadata.finalizers() {
        finalizers.push(finalizer);
        if !is_full(errors) {
            invalid(path, finalizer, qualified_name(finalizer), errors);
        }
    }
    if finalizers.contains(&FINALIZER_ORPHAN) && finalizers.contains(&FINALIZER_FOREGROUND) {
        let detail = format!("finalizer {FINALIZER_ORPHAN} and {FINALIZER_FOREGROUND} cannot be both set");
        errors.push(FieldError::invalid(path.clone(), finalizers, detail));
    }
}

fn validate_no_new_finalizers(new: Metadata<'_>, old: Metadata<'_>, path: &FieldPath, errors: &mut FieldErrors) {
    let old: BTreeSet<&str> = old.finalizers().collect();
    let added: BTreeSet<&str> = new.finalizers().filter(|finalizer| !old.contains(finalizer)).collect();
    if added.is_empty() {
        return;
    }
    // A Go literal, because that is what `%#v` makes of it.
    let added: Vec<String> = added.into_iter().map(go::quote).collect();
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        added.join(", ")
    );
    errors.push(FieldError::forbidden(path.clone(), detail));
}

fn validate_managed_fields(metadata: Metadata<'_>, path: &FieldPath, errors: &mut FieldErrors) {
    let entries = metadata.get("managedFields").and_then(Value::as_array).into_iter().flatten();
    for (index, entry) in entries.enumerate() {
        if is_full(errors) {
            return;
        }
        let path = path.index(index);
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        let operation = text("operation");
        if !matches!(operation, "Apply" | "Update") {
            let detail = "must be `Apply` or `Update`";
            errors.push(FieldError::invalid_json(path.child("operation"), &operation, detail));
        }
        let fields_type = text("fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            errors.push(FieldError::invalid(path.child("fieldsType"), fields_type, "must be `FieldsV1`"));
        }
        validate_field_manager(text("manager"), &path.child("manager"), errors);
        if text("subresource").len() > MAX_SUBRESOURCE_BYTES {
            errors.push(FieldError::too_long(path.child("subresource"), MAX_SUBRESOURCE_BYTES));
        }
    }
}

#[cfg(test)]
mod tests;
