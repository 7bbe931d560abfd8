//! ResourceCatalog: which entries belong together, and who can have what they publish.

mod entries;

use bailiwick_api::{ResourceCatalog, ResourceCatalogEntries};
use bailiwick_machinery::label::LabelSelector;
use bailiwick_machinery::metadata::validate_labels;
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameRule, Object, Scope};
use serde::Deserialize;
use serde_json::Value;

use super::people;
use super::shown::{at, number, text};
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;
use crate::subresource::Viewed;

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<ResourceCatalog>(Scope::Cluster, NameRule::DnsSubdomain)?;
    let kind = kind.short_names(&["rcat"]).with_status().shown_to_viewers().columns(columns);
    Ok(kind.strategy(Catalogs).subresource(Viewed::<ResourceCatalogEntries>::new()?))
}

struct Catalogs;

// === impl Catalogs ===

impl Strategy for Catalogs {
    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        let spec = FieldPath::new("spec");
        let field = |pointer: &str| object.as_value().pointer(pointer).filter(|value| !value.is_null());
        if let Some(Value::Object(selector)) = field("/spec/selector") {
            let labels = selector.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
            validate_labels(labels, &spec.child("selector"), errors);
        }
        check_selector(field("/spec/claimableFrom"), &spec.child("claimableFrom"), errors);
        let accept = spec.child("accept");
        let selector = field("/spec/accept/namespaceSelector");
        check_selector(selector, &accept.child("namespaceSelector"), errors);
        let by_namespace = field("/spec/accept/policy").is_some_and(|policy| policy == "NamespaceSelector");
        match (by_namespace, selector) {
            (true, None) => errors.push(FieldError::required(
                accept.child("namespaceSelector"),
                "the policy NamespaceSelector accepts entries of the namespaces that it selects",
            )),
            (false, Some(_)) => errors.push(FieldError::forbidden(
                accept.child("namespaceSelector"),
                "is for the policy NamespaceSelector only",
            )),
            _ => {}
        }
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let selector = object.as_value().pointer("/spec/selector");
        match selector {
            Some(Value::Object(labels)) if labels.is_empty() => {
                vec!["spec.selector: {} selects every entry of every namespace".to_owned()]
            }
            _ => Vec::new(),
        }
    }
}

fn check_selector(selector: Option<&Value>, path: &FieldPath, errors: &mut FieldErrors) {
    // What has another form has been told of by the schema.
    if let Some(Ok(selector)) = selector.map(LabelSelector::deserialize) {
        selector.validate(path, errors);
    }
}

fn columns() -> Columns {
    Columns::named()
        .with(number("Entries", "How many entries are in the catalog."), at("/status/entryCount"))
        .with(text("Ready", "Whether the catalog selects entries."), people::condition("Ready"))
        .with_age()
        .with(text("Accept", "How it is decided which entries are accepted.").wide(), |catalog, _| {
            let policy = catalog.as_value().pointer("/spec/accept/policy").cloned();
            policy.unwrap_or_else(|| "Authorization".into())
        })
}
