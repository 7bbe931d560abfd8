//! ResourceCatalogEntry: what someone publishes for others to claim.

use bailiwick_api::ResourceCatalogEntry;
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameRule, Object, Scope};
use serde_json::Value;

use super::people;
use super::shown::{at, joined, text};
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

/// The ways to satisfy a claim, of which an entry has one.
const SATISFIERS: [&str; 3] = ["localResources", "resourceList", "extension"];

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<ResourceCatalogEntry>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    // A list may hold whole Secrets.
    let kind = kind.short_names(&["rce"]).with_status().with_requester().secret_bearing().columns(columns);
    Ok(kind.strategy(Entries))
}

struct Entries;

// === impl Entries ===

impl Strategy for Entries {
    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        let spec = FieldPath::new("spec");
        // What has another form has been told of by the schema.
        let Some(Value::Object(fields)) = object.fields().get("spec") else { return };
        let field = |name: &str| fields.get(name).filter(|value| !value.is_null());
        let there: Vec<&str> = SATISFIERS.into_iter().filter(|name| field(name).is_some()).collect();
        match there[..] {
            [_] => {}
            [] => {
                errors.push(FieldError::required(spec.clone(), format!("one of {} is needed", SATISFIERS.join(", "))));
            }
            [first, ..] => {
                let others = there.iter().skip(1);
                others.for_each(|name| {
                    errors.push(FieldError::forbidden(
                        spec.child(name),
                        format!("only one of {} may be given, and there is {first}", SATISFIERS.join(", ")),
                    ));
                });
            }
        }
        if field("localResources").is_some() && field("serviceAccountName").is_none() {
            let why = "the exposed resources are read as a service account of this namespace; make one for this alone";
            errors.push(FieldError::required(spec.child("serviceAccountName"), why));
        }
        if let Some(Value::Object(extension)) = field("extension") {
            for part in ["apiVersion", "kind"] {
                if extension.get(part).and_then(Value::as_str).is_none_or(str::is_empty) {
                    let why = "whoever realizes claims of the entry is found by it";
                    errors.push(FieldError::required(spec.child("extension").child(part), why));
                }
            }
        }
    }
}

fn columns() -> Columns {
    Columns::named()
        .with(text("Description", "What it provides."), at("/spec/description"))
        .with(text("Catalogs", "The catalogs that it is in."), joined("/status/catalogs"))
        .with(text("Accepted", "Whether it is in the catalogs that select it."), people::condition("Accepted"))
        .with_age()
        .with(text("Satisfier", "How claims are satisfied.").wide(), |entry, _| {
            let spec = &entry.as_value()["spec"];
            SATISFIERS.into_iter().find(|name| spec.get(name).is_some_and(|value| !value.is_null())).into()
        })
        .with(text("Service Account", "As whom exposed resources are read.").wide(), at("/spec/serviceAccountName"))
}
