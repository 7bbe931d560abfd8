//! ResourceCatalogClaim: the wish to have the resources of a catalog's entry in a namespace.

use bailiwick_api::ResourceCatalogClaim;
use bailiwick_machinery::metadata::validate_labels;
use bailiwick_machinery::name::{dns1123_label, dns1123_subdomain};
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameRule, Object, Scope};
use serde_json::Value;

use super::people;
use super::shown::{at, number, text};
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

/// What cannot be changed: it would be another claim.
const IMMUTABLE: [&str; 3] =
    ["/spec/catalogName", "/spec/resourceCatalogEntry/namespace", "/spec/resourceCatalogEntry/name"];

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<ResourceCatalogClaim>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    let kind = kind.short_names(&["rcc"]).with_status().with_requester();
    Ok(kind.selectable(&["spec.catalogName", "status.realizer"]).columns(columns).strategy(Claims))
}

struct Claims;

// === impl Claims ===

impl Strategy for Claims {
    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        let spec = FieldPath::new("spec");
        let field = |pointer: &str| object.as_value().pointer(pointer);
        let name = |pointer: &str| field(pointer).and_then(Value::as_str);
        for (pointer, path) in [
            ("/spec/catalogName", spec.child("catalogName")),
            ("/spec/resourceCatalogEntry/name", spec.child("resourceCatalogEntry").child("name")),
            ("/spec/serviceAccountName", spec.child("serviceAccountName")),
        ] {
            check(&path, name(pointer), dns1123_subdomain, errors);
        }
        let namespace = spec.child("resourceCatalogEntry").child("namespace");
        check(&namespace, name("/spec/resourceCatalogEntry/namespace"), dns1123_label, errors);
        if let Some(prefix) = name("/spec/namePrefix") {
            // Whatever follows it in a name is in order by itself.
            for why in dns1123_subdomain(&format!("{prefix}a")) {
                errors.push(FieldError::invalid(spec.child("namePrefix"), prefix, why.into_owned()));
            }
        }
        if let Some(Value::Object(labels)) = field("/spec/additionalLabels") {
            let labels = labels.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
            validate_labels(labels, &spec.child("additionalLabels"), errors);
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        for pointer in IMMUTABLE {
            let value = |object: &Object| object.as_value().pointer(pointer).cloned().unwrap_or_default();
            if value(object) != value(old) {
                let path =
                    pointer.trim_start_matches('/').split('/').fold(FieldPath::root(), |path, step| path.child(step));
                errors.push(FieldError::invalid(path, value(object), "field is immutable"));
            }
        }
    }
}

/// Notes a name that nothing has. One that is absent has been told of by the schema.
fn check(
    path: &FieldPath,
    name: Option<&str>,
    rule: fn(&str) -> bailiwick_machinery::name::Messages,
    errors: &mut FieldErrors,
) {
    let Some(name) = name else { return };
    for why in rule(name) {
        errors.push(FieldError::invalid(path.clone(), name, why.into_owned()));
    }
}

fn columns() -> Columns {
    Columns::named()
        .with(text("Catalog", "The catalog that is claimed from."), at("/spec/catalogName"))
        .with(text("Entry", "The entry of the catalog."), at("/spec/resourceCatalogEntry/name"))
        .with(text("Ready", "Whether all resources were made."), people::condition("Ready"))
        .with_age()
        .with(text("Synced", "Whether it follows its entry.").wide(), people::condition("Synced"))
        .with(number("Resources", "How many resources were made.").wide(), |claim, _| {
            let made = claim.as_value().pointer("/status/createdResources").and_then(Value::as_array);
            made.map_or(0, Vec::len).into()
        })
        .with(text("Service Account", "As whom they are made.").wide(), |claim, _| {
            let account = claim.as_value().pointer("/spec/serviceAccountName").cloned();
            account.unwrap_or_else(|| bailiwick_api::ServiceAccountRef::DEFAULT.into())
        })
}
