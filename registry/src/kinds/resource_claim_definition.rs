//! ResourceClaimDefinition: a kind of claim. What is wrong with one by itself is found here; what it has to do with other kinds
//! by [`ClaimDefinitionRules`](crate::ClaimDefinitionRules).

use bailiwick_api::ResourceClaimDefinition;
use bailiwick_api::claims::{custom_resource_definition, demands_of_standard_fields, redefined_fields};
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, GroupVersion, NameRule, Object, Scope, crd};
use serde::Deserialize;
use serde_json::{Value, json};

use super::people;
use crate::kind::{Kind, KindError, Version};
use crate::strategy::Strategy;

/// Where the schema stands in what a definition becomes.
const MADE_SCHEMA: &str = "spec.versions[0].schema.openAPIV3Schema";
/// Where it stands in a definition.
const SCHEMA: &str = "spec.validation.openAPIV3Schema";

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<ResourceClaimDefinition>(Scope::Cluster, NameRule::DnsSubdomain)?;
    let fields = ["spec.group", "spec.names.kind", "spec.names.plural"];
    Ok(kind.short_names(&["rcd"]).with_status().selectable(&fields).columns(columns).strategy(Definitions))
}

/// The same kind as those know it who knew the proposal it was made for.
pub(super) fn alias() -> Result<Version, KindError> {
    let group_version = GroupVersion::new(super::ALIAS_OF_CLAIMS.0, super::ALIAS_OF_CLAIMS.1);
    Ok(Version { group_version, ..Version::native::<ResourceClaimDefinition>()? })
}

struct Definitions;

// === impl Definitions ===

impl Strategy for Definitions {
    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        // What has another form has been told by the schema.
        let Ok(definition) = ResourceClaimDefinition::deserialize(object.as_value()) else { return };
        let schema = definition.spec.validation.as_ref().and_then(|validation| validation.open_api_v3_schema.as_ref());
        for field in schema.map(redefined_fields).unwrap_or_default() {
            let path = FieldPath::new(&format!("{SCHEMA}.properties.{}", field.replace('.', ".properties.")));
            errors.push(FieldError::forbidden(path, "is the same in all claims and is filled in: leave it out"));
        }
        for demand in schema.map(demands_of_standard_fields).unwrap_or_default() {
            let path = FieldPath::new(&format!("{SCHEMA}.{demand}"));
            let why = "would keep claims from having what all claims have: demand nothing of the status, nor of standard fields";
            errors.push(FieldError::forbidden(path, why));
        }
        let group = &definition.spec.group;
        if crd::is_protected_group(group) {
            let path = FieldPath::new("spec").child("group");
            errors.push(FieldError::invalid(path, group.as_str(), "is a group of the Kubernetes community"));
            return;
        }
        let Value::Object(made) = custom_resource_definition(&definition) else { return };
        let mut made = Object::new(made);
        crd::set_defaults(&mut made);
        let mut found = FieldErrors::default();
        crd::validate(&made, &mut found);
        errors.extend(found.into_vec().into_iter().map(as_written));
    }

    fn validate_update(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        for field in
            [["spec", "group", ""], ["spec", "version", ""], ["spec", "names", "kind"], ["spec", "names", "plural"]]
        {
            let names = || field.iter().filter(|name| !name.is_empty());
            let at = |object: &Object| {
                names().try_fold(object.as_value(), |value, name| value.get(name)).cloned().unwrap_or_default()
            };
            if at(object) != at(old) {
                let path = names().fold(FieldPath::root(), |path, name| path.child(name));
                let why = "field is immutable: define another kind of claim beside this one";
                errors.push(FieldError::invalid(path, at(object), why));
            }
        }
    }
}

/// What is wrong with what is made, where it was written.
fn as_written(error: FieldError) -> FieldError {
    let path = error.field.as_str();
    let written = match path.strip_prefix(MADE_SCHEMA) {
        Some(rest) => format!("{SCHEMA}{rest}"),
        None => path.replace("spec.versions[0].name", "spec.version"),
    };
    FieldError { field: FieldPath::new(&written), ..error }
}

fn columns() -> Columns {
    let text = |name: &'static str, description: &'static str| Column::new(name, ColumnType::String, description);
    let at = |pointer: &'static str| {
        move |object: &Object, _| object.as_value().pointer(pointer).cloned().unwrap_or(Value::Null)
    };
    Columns::named()
        .with(text("Kind", "The kind of claim."), at("/spec/names/kind"))
        .with(text("API Version", "The group and version of the claims."), |object, _| {
            let text = |pointer| object.as_value().pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            json!(format!("{}/{}", text("/spec/group"), text("/spec/version")))
        })
        .with(text("Established", "Whether claims can be made."), people::condition("Established"))
        .with_age()
}
