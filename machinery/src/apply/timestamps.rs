//! Times that do not count: a write that changes nothing but the time of a write is none.

use serde_json::{Map, Value};

use super::managed::entries;
use crate::go;
use crate::object::Object;

/// Puts the times of `old` into `new` if nothing else differs, so that it need not be stored.
pub fn keep_timestamps(old: &Object, new: &mut Object) {
    let (Some(before), Some(after)) = (entries(old), entries(new)) else {
        return;
    };
    let same_entries = before.len() == after.len()
        && before.iter().zip(&after).all(|(before, after)| before.is_same_but_for_time(after));
    if !same_entries || before == after || !same_content(old.fields(), new.fields()) {
        return;
    }
    if let Some(entries) = old.metadata().get("managedFields") {
        new.metadata_mut().insert("managedFields".to_owned(), entries.clone());
    }
}

fn same_content(old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    all_same(old, new, |name, old, new| match (name, old, new) {
        ("metadata", Value::Object(old), Value::Object(new)) => {
            all_same(old, new, |name, old, new| name == "managedFields" || go::same(old, new))
        }
        (_, old, new) => go::same(old, new),
    })
}

fn all_same(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    is_same: impl Fn(&str, &Value, &Value) -> bool,
) -> bool {
    old.len() == new.len() && old.iter().all(|(name, old)| new.get(name).is_some_and(|new| is_same(name, old, new)))
}
