//! What a value was before, as far as the schema can tell which part is which.
//!
//! Fields are the same by name if the schema knows them; items only in a list of type map, by their keys. What cannot be
//! told counts as changed.

use std::cmp::Ordering;

use serde_json::Value;

use crate::go;
use crate::schema::list::scalar_order;
use crate::schema::{ListType, Schema, Type};

/// A part of the old object.
#[derive(Clone, Copy)]
pub(super) struct Old<'o> {
    pub(super) schema: &'o Schema,
    pub(super) value: &'o Value,
}

/// The items of a list of type map, sorted by their keys.
pub(super) struct OldItems<'o> {
    list: Old<'o>,
    keyed: Vec<(Vec<&'o Value>, &'o Value)>,
}

// === impl Old ===

impl<'o> Old<'o> {
    pub(super) fn field(self, name: &str) -> Option<Self> {
        Some(Self { schema: self.schema.field(name)?, value: self.value.get(name)? })
    }

    pub(super) fn items(self) -> OldItems<'o> {
        let mut keyed = Vec::new();
        if self.schema.kind() == Some(Type::Array) && self.is_keyed() {
            let items = self.value.as_array().into_iter().flatten();
            keyed.extend(items.filter_map(|item| Some((keys(self.schema, item)?, item))));
            // The first of several with the same keys counts.
            keyed.sort_by(|(left, _), (right, _)| order(left, right));
            keyed.dedup_by(|(later, _), (first, _)| order(later, first) == Ordering::Equal);
        }
        OldItems { list: self, keyed }
    }

    /// Whether the value is what it was.
    pub(super) fn equals(self, value: &Value) -> bool {
        match (self.value, value) {
            (Value::Array(before), Value::Array(items)) => {
                if before.len() != items.len() {
                    return false;
                }
                if !self.is_keyed() || self.schema.items().is_none() {
                    return go::same(self.value, value);
                }
                let old = self.items();
                items.iter().all(|item| old.get(item).is_some_and(|old| old.equals(item)))
            }
            (Value::Object(before), Value::Object(fields)) => {
                let same = |(name, value): (&String, &Value)| self.field(name).is_some_and(|old| old.equals(value));
                before.len() == fields.len() && fields.iter().all(same)
            }
            (before, value) => go::same(before, value),
        }
    }

    fn is_keyed(self) -> bool {
        self.schema.list_type() == ListType::Map
    }
}

// === impl OldItems ===

impl<'o> OldItems<'o> {
    /// The item that has the keys of this one.
    pub(super) fn get(&self, item: &Value) -> Option<Old<'o>> {
        if self.keyed.is_empty() {
            return None;
        }
        let keys = keys(self.list.schema, item)?;
        let found = self.keyed.binary_search_by(|(old, _)| order(old, &keys)).ok()?;
        let (_, value) = self.keyed.get(found)?;
        Some(Old { schema: self.list.schema.items()?, value })
    }
}

/// The values that tell an item from others, if it has them all.
fn keys<'v>(schema: &Schema, item: &'v Value) -> Option<Vec<&'v Value>> {
    let key = |name| item.get(name).filter(|key| !key.is_null() && !key.is_array() && !key.is_object());
    let keys: Vec<&Value> = schema.map_keys().map(key).collect::<Option<_>>()?;
    (!keys.is_empty()).then_some(keys)
}

fn order(left: &[&Value], right: &[&Value]) -> Ordering {
    let orders = left.iter().zip(right).map(|(left, right)| scalar_order(left, right));
    orders.fold(Ordering::Equal, Ordering::then)
}
