//! Whether a Bundle leaves room for its status: one whose status cannot be stored would be accepted, and never carried out.

use std::collections::HashSet;

use bailiwick_api::bundle::status_room;
use bailiwick_api::{BundleSpec, counted};
use bailiwick_machinery::{FieldError, FieldPath, Object};
use bailiwick_storage::MAX_VALUE_BYTES;
use serde_json::Value;

use super::{asks_the_same, spec_of};
use crate::error::Result;
use crate::ruled_write::RuledWrite;

/// Refuses a Bundle that wants so much that its status may not find room beside it. One that goes, or that wants what it wanted
/// before, is left as it is.
pub(super) fn check(write: RuledWrite<'_>, old: Option<&Object>, new: &Object) -> Result<()> {
    let is_going = new.metadata().deletion_timestamp().is_some();
    if is_going || old.is_some_and(|old| asks_the_same(old, new)) {
        return Ok(());
    }
    let Some(spec) = spec_of(new) else { return Ok(()) };
    let left = old.map_or_else(Vec::new, |old| left_over(old, &spec));
    let room = MAX_VALUE_BYTES.saturating_sub(status_room(&spec) + left.iter().map(size).sum::<usize>());
    let bytes = size(&without_status(new));
    if bytes <= room {
        return Ok(());
    }
    let also = match left.len() {
        0 => String::new(),
        count => format!(" and of {} that it has made before and not removed yet", counted(count, "object")),
    };
    let why = format!(
        "with what is known of it, the Bundle has {bytes} bytes, and at most {room} leave room for the status of its {} \
         resources{also}; make several Bundles of it",
        spec.resources.len()
    );
    Err(write.invalid([FieldError::invalid(FieldPath::new("spec"), "too large", why)]))
}

/// What stands in the inventory of a Bundle beside the one object that each resource of this spec is given room for there: what is
/// removed only when all that is wanted is ready, however long that takes.
fn left_over(old: &Object, spec: &BundleSpec) -> Vec<Value> {
    let mut given: HashSet<&str> = HashSet::new();
    let inventory = old.as_value().pointer("/status/inventory").and_then(Value::as_array);
    let is_left = |item: &&Value| {
        let resource = item.get("resource").and_then(Value::as_str).unwrap_or_default();
        let wanted = spec.resources.iter().find(|wanted| wanted.name == resource);
        !wanted.is_some_and(|wanted| given.insert(&wanted.name))
    };
    inventory.into_iter().flatten().filter(is_left).cloned().collect()
}

fn without_status(bundle: &Object) -> Value {
    let mut bundle = bundle.clone();
    bundle.fields_mut().remove("status");
    bundle.as_value().clone()
}

/// How many bytes a value has when it is stored. What cannot be written down is refused by whoever stores it.
fn size(value: &Value) -> usize {
    serde_json::to_vec(value).map_or(0, |bytes| bytes.len())
}

#[cfg(test)]
mod tests;
