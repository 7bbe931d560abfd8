//! The schemas of a document, by name. Until a document is written, a reference is the bare name.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Resource, kind, meta};

/// Which version of OpenAPI a schema is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edition {
    V2,
    V3,
}

pub(super) type Components = BTreeMap<String, Map<String, Value>>;

/// The schemas of the resources, and those of `meta/v1` that are needed: what `roots` refer to, however indirectly.
pub(super) fn needed(resources: &[Resource<'_>], edition: Edition, roots: Vec<String>) -> Components {
    let mut all = meta::all();
    for resource in resources {
        all.extend(kind::components(resource, edition));
    }
    let mut needed = Components::new();
    let mut open = roots;
    while let Some(name) = open.pop() {
        if let Some(mut schema) = all.remove(&name) {
            references(&mut schema, &mut |name| open.push(name.to_owned()));
            needed.insert(name, schema);
        }
    }
    needed
}

/// The schemas of the values inside this one; not those of `allOf` and its like, which speak of the value itself.
pub(super) fn children(schema: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    schema.iter_mut().flat_map(|(keyword, value)| match (keyword.as_str(), value) {
        ("properties", Value::Object(named)) => named.values_mut().filter_map(Value::as_object_mut).collect(),
        ("items" | "additionalProperties", Value::Object(schema)) => vec![schema],
        _ => Vec::new(),
    })
}

fn references(schema: &mut Map<String, Value>, found: &mut impl FnMut(&str)) {
    if let Some(Value::String(name)) = schema.get("$ref") {
        found(name);
    }
    for child in children(schema) {
        references(child, found);
    }
}
