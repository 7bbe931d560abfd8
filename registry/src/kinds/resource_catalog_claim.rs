//! ResourceCatalogClaim: the wish to have the resources of a catalog's entry in a namespace.

use bailiwick_api::ResourceCatalogClaim;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{NameRule, Object, Scope};
use serde_json::Value;

use crate::kind::{Kind, KindError};

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<ResourceCatalogClaim>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    Ok(kind.short_names(&["rcc"]).with_status().selectable(&["spec.catalogName"]).columns(columns))
}

fn columns() -> Columns {
    let text = |name: &'static str, description: &'static str| Column::new(name, ColumnType::String, description);
    Columns::named()
        .with(text("Catalog", "The catalog that is claimed from."), |claim, _| at(claim, &["spec", "catalogName"]))
        .with(text("Entry", "The entry of the catalog."), |claim, _| {
            at(claim, &["spec", "resourceCatalogEntry", "name"])
        })
        .with(text("Ready", "Whether all resources were made."), |claim, _| condition(claim, "Ready"))
        .with_age()
}

fn at(object: &Object, path: &[&str]) -> Value {
    path.iter().try_fold(object.as_value(), |value, step| value.get(step)).cloned().unwrap_or(Value::Null)
}

fn condition(object: &Object, wanted: &str) -> Value {
    let conditions = object.as_value().pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == wanted);
    found.and_then(|condition| condition.get("status")).cloned().unwrap_or(Value::Null)
}
