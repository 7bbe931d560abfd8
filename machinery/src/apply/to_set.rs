//! The fields that a value has.

use serde_json::{Map, Value};

use super::element::PathElement;
use super::item::element_of;
use super::set::FieldSet;
use super::types::{self, Form, List, Type};

/// All fields of a value: the leaves, the items of lists, the fields of free maps, and what is empty.
pub(super) fn to_set(kind: &Type, value: &Value) -> FieldSet {
    fields_of(kind, value).1
}

/// Whether the value itself is a field by what it is, and the fields below it.
fn fields_of(kind: &Type, value: &Value) -> (bool, FieldSet) {
    match (kind.form(value), value) {
        (Form::Scalar(_), _) => (true, FieldSet::default()),
        (Form::List(list), _) if list.is_atomic() => (true, FieldSet::default()),
        (Form::Map(map), _) if map.atomic => (true, FieldSet::default()),
        (Form::List(list), Value::Array(items)) => (false, of_items(list, items)),
        (Form::Map(map), Value::Object(fields)) => (false, of_fields(map, fields)),
        (Form::List(_) | Form::Map(_), _) => (false, FieldSet::default()),
    }
}

/// What occurs several times is owned together: nobody can say which of them is whose.
fn of_items(list: &List, items: &[Value]) -> FieldSet {
    let mut found: Vec<(PathElement, &Value)> = Vec::with_capacity(items.len());
    found.extend(items.iter().filter_map(|item| Some((element_of(list, item).ok()?, item))));
    found.sort_by(|left, right| left.0.cmp(&right.0));
    let mut set = FieldSet::default();
    for alike in found.chunk_by(|left, right| left.0 == right.0) {
        match alike {
            [(element, item)] => set.put(element.clone(), true, fields_of(&list.items, item).1),
            [(element, _), ..] => set.put(element.clone(), true, FieldSet::default()),
            [] => {}
        }
    }
    set
}

fn of_fields(map: &types::Map, fields: &Map<String, Value>) -> FieldSet {
    let mut set = FieldSet::default();
    for (name, value) in fields {
        let Some(kind) = map.field(name) else { continue };
        let (member, below) = fields_of(kind, value);
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        let is_named = map.fields.contains_key(name);
        set.put(PathElement::Field(name.clone()), member || is_empty || !is_named, below);
    }
    set
}
