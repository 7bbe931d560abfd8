//! Kubernetes' own kinds, as far as they make sense without a cluster: one file each.
//!
//! Such a kind is what Go's types make of it ([`Kind::host`]): JSON, protobuf and strategic merge patches follow from the
//! table in `machinery::host`. Its file adds what Kubernetes' registry adds: what is valid, what the columns are, and
//! which of its habits differ from most.

mod config_map;
mod namespace_lifecycle;

use crate::kind::{Kind, KindError};

pub use namespace_lifecycle::NamespaceLifecycle;

pub(super) fn all() -> Result<Vec<Kind>, KindError> {
    [config_map::kind()].into_iter().collect()
}

/// What Kubernetes says of a field, `spec.hard`, which is what it says of the column that shows it.
fn description(kind: &Kind, path: &str) -> String {
    let schema = kind.versions().first().map(|version| &version.schema);
    let found = path.split('.').fold(schema, |schema, name| schema.and_then(|schema| schema.property(name)));
    found.map(|schema| schema.description().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
