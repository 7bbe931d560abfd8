//! What must hold of a definition when it is created and when it is updated.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::approval::validate_approval;
use super::definition::{Definition, DefinitionSpec, Version};
use super::names::validate_names;
use super::shared::{Shared, VersionsInGo};
use super::version::{validate_columns, validate_deprecation, validate_selectable_fields, validate_subresources};
use crate::name::{Messages, dns1035_label, dns1123_subdomain};
use crate::schema::{Known, StatusSubresource, check_definition, has_defaults};
use crate::{FieldError, FieldErrors, FieldPath, Object};

/// The most fields that the objects of a version can be selected by.
pub const MAX_SELECTABLE_FIELDS: usize = 8;

/// How often the list of stored versions is shown in errors.
const MAX_STORED_SHOWN: usize = 8;

/// Notes what is wrong with a definition that is to be created, beyond what holds for metadata of all kinds.
pub fn validate(object: &Object, errors: &mut FieldErrors) {
    let Some(new) = read(object, errors) else {
        return;
    };
    let metadata = object.metadata();
    let expected = format!("{}.{}", new.spec.names.plural, new.spec.group);
    for (field, name) in [("generateName", metadata.generate_name()), ("name", metadata.name())] {
        if !name.is_empty() && name != expected {
            let detail = "must be spec.names.plural+\".\"+spec.group";
            errors.push(FieldError::invalid(FieldPath::new("metadata").child(field), name, detail));
        }
    }
    validate_spec(&new.spec, None, errors);
    validate_status(&new, errors);
    validate_approval(&new, None, errors);
    validate_preserve_unknown_fields(&new.spec, errors);
}

/// Notes what is wrong with a definition that is to take the place of `old`. What was let pass in the past is let pass
/// again, as long as it stays as it is.
pub fn validate_update(object: &Object, old: &Object, errors: &mut FieldErrors) {
    let (Some(new), Some(old)) = (read(object, errors), read(old, errors)) else {
        return;
    };
    validate_spec(&new.spec, Some(&old.spec), errors);
    let path = FieldPath::new("spec");
    let mut immutable = |field: FieldPath, new: &str, old: &str| {
        if new != old {
            errors.push(FieldError::invalid(field, new, "field is immutable"));
        }
    };
    if old.is("Established") {
        immutable(path.child("scope"), &new.spec.scope, &old.spec.scope);
        immutable(path.child("names").child("kind"), &new.spec.names.kind, &old.spec.names.kind);
    }
    immutable(path.child("group"), &new.spec.group, &old.spec.group);
    immutable(path.child("names").child("plural"), &new.spec.names.plural, &old.spec.names.plural);
    validate_status(&new, errors);
    validate_approval(&new, Some(&old), errors);
    validate_preserve_unknown_fields(&new.spec, errors);
}

/// Notes what is wrong with the status of a definition that is to take the place of another.
pub fn validate_status_update(object: &Object, errors: &mut FieldErrors) {
    if let Some(new) = read(object, errors) {
        validate_names(&new.status.accepted_names, &FieldPath::new("status").child("acceptedNames"), errors);
    }
}

fn read(object: &Object, errors: &mut FieldErrors) -> Option<Definition> {
    match Definition::from_object(object) {
        Ok(definition) => Some(definition),
        Err(error) => {
            errors.push(FieldError::invalid(FieldPath::new(error.part), "", error.source.to_string()));
            None
        }
    }
}

fn validate_spec(spec: &DefinitionSpec, old: Option<&DefinitionSpec>, errors: &mut FieldErrors) {
    let path = FieldPath::new("spec");
    validate_group(&spec.group, &path.child("group"), errors);
    match spec.scope.as_str() {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(FieldError::required(path.child("scope"), "")),
        scope => errors.push(FieldError::not_supported(path.child("scope"), scope, &["Cluster", "Namespaced"])),
    }
    validate_versions(spec, old, &path, errors);
    let names = path.child("names");
    for (field, name) in [
        ("plural", &spec.names.plural),
        ("singular", &spec.names.singular),
        ("kind", &spec.names.kind),
        ("listKind", &spec.names.list_kind),
    ] {
        if name.is_empty() {
            errors.push(FieldError::required(names.child(field), ""));
        }
    }
    validate_names(&spec.names, &names, errors);
    validate_conversion(spec, &path.child("conversion"), errors);
}

fn validate_group(group: &str, path: &FieldPath, errors: &mut FieldErrors) {
    if group.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
        return;
    }
    let messages = dns1123_subdomain(group);
    if !messages.is_empty() {
        errors.push(FieldError::invalid(path.clone(), group, joined(&messages)));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid(path.clone(), group, "should be a domain with at least one dot"));
    }
}

fn validate_versions(spec: &DefinitionSpec, old: Option<&DefinitionSpec>, path: &FieldPath, errors: &mut FieldErrors) {
    let shared = Shared::of(spec);
    let versions = path.child("versions");
    let missing = |version: &Version| version.written_schema().is_none();
    for (i, _) in spec.versions.iter().enumerate().filter(|(_, version)| missing(version)) {
        errors.push(FieldError::required(versions.index(i).child("schema").child("openAPIV3Schema"), ""));
    }
    if spec.preserve_unknown_fields && spec.versions.iter().filter_map(Version::written_schema).any(has_defaults) {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid(path.child("preserveUnknownFields"), true, detail));
    }
    let known = old.map(|old| Known::of(old.versions.iter().filter_map(Version::written_schema))).unwrap_or_default();
    let old_versions: HashMap<&str, &Version> =
        old.into_iter().flat_map(|old| &old.versions).map(|version| (version.name.as_str(), version)).collect();
    for (i, version) in spec.versions.iter().enumerate() {
        let path = versions.index(i);
        let messages = dns1035_label(&version.name);
        if !messages.is_empty() {
            errors.push(FieldError::invalid(path.child("name"), version.name.as_str(), joined(&messages)));
        }
        validate_deprecation(version, &path, errors);
        let old = old_versions.get(version.name.as_str()).copied();
        let parts = Parts { present: shared.apart(), schema: "schema", known, old, status: version.has_status() };
        parts.validate(version, &path, errors);
    }
    let in_go = VersionsInGo { versions: &spec.versions, shared };
    let names: HashSet<&str> = spec.versions.iter().map(|version| version.name.as_str()).collect();
    if names.len() < spec.versions.len() {
        errors.push(FieldError::invalid_json(versions.clone(), &in_go, "must contain unique version names"));
    }
    if spec.versions.iter().filter(|version| version.storage).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid_json(versions, &in_go, detail));
    }
    let Some(first) = spec.versions.first() else {
        return;
    };
    let messages = dns1035_label(&first.name);
    if !first.name.is_empty() && !messages.is_empty() {
        errors.push(FieldError::invalid(path.child("version"), first.name.as_str(), joined(&messages)));
    }
    let old = old.filter(|old| Shared::of(old).selectable_fields).and_then(|old| old.versions.first());
    let status = spec.versions.iter().any(Version::has_status);
    Parts { present: shared, schema: "validation", known, old, status }.validate(first, path, errors);
}

/// The parts of a version that stand at one place.
struct Parts<'o> {
    /// Which these are.
    present: Shared,
    /// What the schema is called there.
    schema: &'static str,
    known: Known,
    /// The same version in the past.
    old: Option<&'o Version>,
    /// Whether the status is written apart.
    status: bool,
}

// === impl Parts ===

impl Parts<'_> {
    fn validate(&self, version: &Version, path: &FieldPath, errors: &mut FieldErrors) {
        let schema = version.written_schema().filter(|_| self.present.schema);
        if let Some(schema) = schema {
            let status = if self.status { StatusSubresource::Enabled } else { StatusSubresource::Disabled };
            let path = path.child(self.schema).child("openAPIV3Schema");
            check_definition(schema, status, self.known, &path, errors);
        }
        if let Some(subresources) = version.subresources.as_ref().filter(|_| self.present.subresources) {
            validate_subresources(subresources, &path.child("subresources"), errors);
        }
        if self.present.columns {
            validate_columns(&version.additional_printer_columns, &path.child("additionalPrinterColumns"), errors);
        }
        if !self.present.selectable_fields || version.selectable_fields.is_empty() {
            return;
        }
        let path = path.child("selectableFields");
        match schema {
            Some(schema) => validate_selectable_fields(version, schema, self.old, &path, errors),
            // Where the schema stands elsewhere, upstream does not find it, and says so in these words.
            None => {
                let detail = match self.schema {
                    "schema" => "may only be set when `version.schema.openAPIV3Schema` is not included",
                    _ => "may only be set when validations.schema is included",
                };
                errors.push(FieldError::invalid(path, "", detail));
            }
        }
    }
}

fn validate_conversion(spec: &DefinitionSpec, path: &FieldPath, errors: &mut FieldErrors) {
    let Some(conversion) = &spec.conversion else {
        return;
    };
    let strategy = path.child("strategy");
    let name = conversion.strategy.as_str();
    if name != "None" && spec.preserve_unknown_fields {
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid(strategy.clone(), name, detail));
    }
    match name {
        "None" => {}
        "" => errors.push(FieldError::required(strategy, "")),
        "Webhook" => {
            let detail =
                "conversion webhooks are not called by this server; use None, which changes the apiVersion only";
            errors.push(FieldError::forbidden(strategy, detail));
            return;
        }
        other => errors.push(FieldError::not_supported(strategy, other, &["None", "Webhook"])),
    }
    let Some(webhook) = &conversion.webhook else {
        return;
    };
    let detail = "should not be set when strategy is not set to Webhook";
    if webhook.get("clientConfig").is_some_and(|config| !config.is_null()) {
        errors.push(FieldError::forbidden(path.child("webhookClientConfig"), detail));
    }
    if webhook.get("conversionReviewVersions").and_then(Value::as_array).is_some_and(|list| !list.is_empty()) {
        errors.push(FieldError::forbidden(path.child("conversionReviewVersions"), detail));
    }
}

fn validate_preserve_unknown_fields(spec: &DefinitionSpec, errors: &mut FieldErrors) {
    if spec.preserve_unknown_fields {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        errors.push(FieldError::invalid(FieldPath::new("spec").child("preserveUnknownFields"), true, detail));
    }
}

fn validate_status(definition: &Definition, errors: &mut FieldErrors) {
    let path = FieldPath::new("status");
    validate_names(&definition.status.accepted_names, &path.child("acceptedNames"), errors);
    let (stored, path) = (&definition.status.stored_versions, path.child("storedVersions"));
    if stored.is_empty() {
        errors.push(FieldError::invalid(path, Value::Null, "must have at least one stored version"));
        return;
    }
    let versions = &definition.spec.versions;
    // Of names that are there twice, the last place is told.
    let places: BTreeMap<&str, usize> = stored.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let storage = versions.iter().filter(|version| version.storage && !places.contains_key(version.name.as_str()));
    // Each of these shows the list, and one would do.
    for version in storage.take(MAX_STORED_SHOWN) {
        let detail = format!("must have the storage version {}", version.name);
        errors.push(FieldError::invalid(path.clone(), stored.clone(), detail));
    }
    let names: HashSet<&str> = versions.iter().map(|version| version.name.as_str()).collect();
    for (name, i) in places {
        if !names.contains(name) {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            errors.push(FieldError::invalid(path.index(i), name, detail));
        }
    }
}

pub(super) fn joined(messages: &Messages) -> String {
    messages.join(",")
}
