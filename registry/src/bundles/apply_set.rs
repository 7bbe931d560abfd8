//! What a Bundle says to tools that know ApplySets. It follows from the Bundle, so that it is there before anything is made for it,
//! and nobody else can say it.

use bailiwick_api::bundle::{
    APPLY_SET_ID_LABEL, GROUP_KINDS_ANNOTATION, TOOLING_ANNOTATION, apply_set_id, group_kinds,
};
use bailiwick_api::{BundleObject, BundleSpec, InventoryItem};
use bailiwick_machinery::Object;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Who looks after the parts.
const TOOLING: &str = concat!("bailiwick/v", env!("CARGO_PKG_VERSION"));

/// Says that a Bundle stands for what it wants, and for what was made for it and may still exist.
pub(super) fn mark(bundle: &mut Object, spec: &BundleSpec) {
    let id = apply_set_id(bundle.metadata().namespace(), bundle.metadata().name());
    let text = |object: &Value, field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let wanted = spec.resources.iter().map(|resource| BundleObject {
        api_version: text(resource.object(), "apiVersion"),
        kind: text(resource.object(), "kind"),
        ..BundleObject::default()
    });
    let made = bundle.as_value().pointer("/status/inventory").map(Vec::<InventoryItem>::deserialize);
    let made = made.and_then(Result::ok).unwrap_or_default().into_iter().map(|item| item.object);
    let kinds = group_kinds(&wanted.chain(made).collect::<Vec<_>>());
    say(bundle, "labels", APPLY_SET_ID_LABEL, &id);
    say(bundle, "annotations", TOOLING_ANNOTATION, TOOLING);
    say(bundle, "annotations", GROUP_KINDS_ANNOTATION, &kinds);
}

fn say(object: &mut Object, field: &str, key: &str, value: &str) {
    let said = object.metadata_mut().entry(field).or_insert_with(|| Value::Object(Map::new()));
    // What is something else is refused when the object is validated.
    if let Value::Object(said) = said {
        said.insert(key.to_owned(), value.into());
    }
}
