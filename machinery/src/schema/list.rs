//! Lists that are sets or maps: what must be unique in them.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::notes::Notes;
use super::path::Path;
use super::{ListType, Schema};
use crate::FieldError;
use crate::go::{self, GoNumber};

/// Notes what occurs twice in lists that are sets or maps.
pub(super) fn validate(schema: &Schema, value: &Value, path: &Path<'_>, notes: &mut Notes<'_>) {
    if !schema.0.below.keyed_lists {
        return;
    }
    match value {
        Value::Object(fields) => {
            if let Some(additional) = schema.additional() {
                for (name, value) in fields {
                    validate(additional, value, &path.key(name), notes);
                }
            }
            for (name, value) in fields {
                if let Some(property) = schema.property(name) {
                    validate(property, value, &path.field(name), notes);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type() {
                ListType::Atomic => {}
                ListType::Set => {
                    let keys: Vec<Key<'_>> = items.iter().map(Key::of).collect();
                    for i in repeated(&keys) {
                        if let Some(item) = items.get(i) {
                            notes.push(&path.index(i), |field| FieldError::duplicate(field, item.clone()));
                        }
                    }
                }
                ListType::Map => validate_map(schema, items, path, notes),
            }
            if let Some(schema) = schema.items() {
                for (i, item) in items.iter().enumerate() {
                    validate(schema, item, &path.index(i), notes);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn validate_map(schema: &Schema, items: &[Value], path: &Path<'_>, notes: &mut Notes<'_>) {
    if let Some((i, item)) = items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null()) {
        let detail = "must be an object for an array of list-type map";
        notes.push(&path.index(i), |field| FieldError::invalid(field, item.clone(), detail));
        return;
    }
    let mut names = schema.map_keys();
    let keys: Vec<Key<'_>> = match (names.next(), names.len()) {
        (Some(name), 0) => items.iter().map(|item| item.get(name).map_or(Key::Absent, Key::of)).collect(),
        _ => items.iter().map(|item| Key::Compound(go::json(&identity(schema, item)))).collect(),
    };
    for i in repeated(&keys) {
        if let Some(item) = items.get(i) {
            notes.push(&path.index(i), |field| FieldError::duplicate(field, identity(schema, item)));
        }
    }
}

/// The fields of an item that tell it from others.
fn identity(schema: &Schema, item: &Value) -> Value {
    let fields = schema.map_keys().filter_map(|name| Some((name.to_owned(), item.get(name)?.clone())));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// What an item is compared by: lists and maps by their text, in which `1` and `1.0` are the same; all else by value.
#[derive(Debug)]
enum Key<'v> {
    Absent,
    Scalar(&'v Value),
    Compound(String),
}

// === impl Key ===

impl<'v> Key<'v> {
    fn of(value: &'v Value) -> Self {
        if value.is_object() || value.is_array() { Self::Compound(go::json(value)) } else { Self::Scalar(value) }
    }

    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Scalar(left), Self::Scalar(right)) => scalar_order(left, right),
            (Self::Compound(left), Self::Compound(right)) => left.cmp(right),
            (left, right) => left.rank().cmp(&right.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Absent => 0,
            Self::Scalar(_) => 1,
            Self::Compound(_) => 2,
        }
    }
}

pub(super) fn scalar_order(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::String(_) => 2,
        Value::Number(number) => match GoNumber::of(number) {
            GoNumber::Int(_) => 3,
            GoNumber::Float(_) => 4,
        },
        Value::Array(_) | Value::Object(_) => 5,
    };
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => match (GoNumber::of(left), GoNumber::of(right)) {
            (GoNumber::Int(left), GoNumber::Int(right)) => left.cmp(&right),
            (GoNumber::Float(left), GoNumber::Float(right)) => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
            (GoNumber::Int(_), GoNumber::Float(_)) => Ordering::Less,
            (GoNumber::Float(_), GoNumber::Int(_)) => Ordering::Greater,
        },
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

/// Where each key that is not unique occurs the second time.
fn repeated(keys: &[Key<'_>]) -> Vec<usize> {
    let mut sorted: Vec<(usize, &Key<'_>)> = keys.iter().enumerate().collect();
    sorted.sort_by(|(_, left), (_, right)| left.order(right));
    let same = |left: &(usize, &Key<'_>), right: &(usize, &Key<'_>)| left.1.order(right.1) == Ordering::Equal;
    let seconds = sorted.chunk_by(same).filter_map(|group| group.get(1)).map(|(i, _)| *i);
    let mut seconds: Vec<usize> = seconds.collect();
    seconds.sort_unstable();
    seconds
}

/// Whether an item occurs twice, where `1` and `1.0` differ.
pub(super) fn has_duplicates(items: &[Value]) -> bool {
    /// Up to here, comparing all with all is quicker than sorting.
    const FEW: usize = 16;
    let after = |i: usize| items.get(i + 1..).unwrap_or_default();
    if items.len() <= FEW {
        return items.iter().enumerate().any(|(i, item)| after(i).iter().any(|other| go::same(item, other)));
    }
    let is_compound = |item: &Value| item.is_array() || item.is_object();
    let key = |item| if is_compound(item) { Key::Compound(go::identity(item)) } else { Key::Scalar(item) };
    !repeated(&items.iter().map(key).collect::<Vec<_>>()).is_empty()
}
