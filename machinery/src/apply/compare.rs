//! What differs between two objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::PathElement;
use super::item::element_of;
use super::order::same;
use super::set::FieldSet;
use super::types::{self, Form, List, Type};

/// The fields that differ. None is in two of the sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// Only the new object has them.
    pub(super) added: FieldSet,
    /// Both have them, and not the same.
    pub(super) modified: FieldSet,
    /// Only the old object has them.
    pub(super) removed: FieldSet,
}

/// What differs at a place, and below it.
#[derive(Default)]
struct Change {
    added: bool,
    modified: bool,
    removed: bool,
    below: Comparison,
}

/// Compares two objects of a type.
pub(super) fn compare(kind: &Type, old: &Value, new: &Value) -> Comparison {
    change(kind, Some(old), Some(new)).below
}

// === impl Comparison ===

impl Comparison {
    /// Without these fields and all below them.
    pub(super) fn without(self, fields: Option<&FieldSet>) -> Self {
        match fields {
            None => self,
            Some(fields) => Self {
                added: self.added.recursive_difference(fields),
                modified: self.modified.recursive_difference(fields),
                removed: self.removed.recursive_difference(fields),
            },
        }
    }

    fn put(&mut self, element: &PathElement, change: Change) {
        self.added.put_ref(element, change.added, change.below.added);
        self.modified.put_ref(element, change.modified, change.below.modified);
        self.removed.put_ref(element, change.removed, change.below.removed);
    }

    fn union(self, other: Self) -> Self {
        Self {
            added: self.added.union(other.added),
            modified: self.modified.union(other.modified),
            removed: self.removed.union(other.removed),
        }
    }
}

fn change(kind: &Type, old: Option<&Value>, new: Option<&Value>) -> Change {
    let Some(last) = new.or(old) else {
        return Change::default();
    };
    // Nothing differs in what is equal: most of an object, most of the time.
    if old == new {
        return Change::default();
    }
    let mut change = changed_as(kind.form(last), old, new);
    if let (Some(old_value), Some(new_value)) = (old, new) {
        let as_old = kind.form(old_value);
        // What became something else is looked at as both.
        if !as_old.is_like(kind.form(new_value)) {
            let before = changed_as(as_old, old, new);
            change.modified |= before.modified;
            change.below = change.below.union(before.below);
        }
    }
    change.added = old.is_none();
    change.removed = new.is_none();
    change
}

fn changed_as(form: Form<'_>, old: Option<&Value>, new: Option<&Value>) -> Change {
    match form {
        Form::Scalar(_) => leaf(old, new),
        Form::List(list) => {
            if list.is_atomic() || (items_of(old).is_empty() && items_of(new).is_empty()) {
                return leaf(old, new);
            }
            Change { below: lists(list, old, new), ..Change::default() }
        }
        Form::Map(map) => {
            let fields = |value: Option<&Value>| value.and_then(Value::as_object).is_some_and(|map| !map.is_empty());
            if map.atomic || !(fields(old) || fields(new)) {
                return leaf(old, new);
            }
            Change { below: maps(map, old, new), ..Change::default() }
        }
    }
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Change {
    let modified = matches!((old, new), (Some(old), Some(new)) if !same(old, new));
    Change { modified, ..Change::default() }
}

fn maps(map: &types::Map, old: Option<&Value>, new: Option<&Value>) -> Comparison {
    let empty = Map::new();
    let old = old.and_then(Value::as_object).unwrap_or(&empty);
    let new = new.and_then(Value::as_object).unwrap_or(&empty);
    let mut comparison = Comparison::default();
    for name in old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))) {
        let kind = map.field(name).unwrap_or(&Type::Untyped);
        let change = change(kind, old.get(name), new.get(name));
        comparison.put(&PathElement::Field(name.clone()), change);
    }
    comparison
}

/// The items of both lists that are told apart by the same.
#[derive(Default)]
struct Alike<'v> {
    old: Vec<&'v Value>,
    new: Vec<&'v Value>,
}

fn lists(list: &List, old: Option<&Value>, new: Option<&Value>) -> Comparison {
    let mut alike: BTreeMap<PathElement, Alike<'_>> = BTreeMap::new();
    for item in items_of(old) {
        if let Ok(element) = element_of(list, item) {
            alike.entry(element).or_default().old.push(item);
        }
    }
    for item in items_of(new) {
        if let Ok(element) = element_of(list, item) {
            alike.entry(element).or_default().new.push(item);
        }
    }
    let mut comparison = Comparison::default();
    for (element, alike) in &alike {
        comparison.put(element, alike.change(list));
    }
    comparison
}

fn items_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

// === impl Alike ===

impl Alike<'_> {
    /// What occurs several times is looked at as a whole.
    fn change(&self, list: &List) -> Change {
        match (self.old.as_slice(), self.new.as_slice()) {
            ([] | [_], [] | [_]) => change(&list.items, self.old.first().copied(), self.new.first().copied()),
            ([_, _, ..], [_, _, ..]) => {
                let equal =
                    self.old.len() == self.new.len() && self.old.iter().zip(&self.new).all(|(old, new)| same(old, new));
                Change { modified: !equal, ..Change::default() }
            }
            ([_, _, ..], new) => {
                let only = new.first().map(|item| change(&list.items, None, Some(item))).unwrap_or_default();
                Change { removed: true, ..only }
            }
            (old, [_, _, ..]) => {
                let only = old.first().map(|item| change(&list.items, Some(item), None)).unwrap_or_default();
                Change { added: true, ..only }
            }
        }
    }
}
