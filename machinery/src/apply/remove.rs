//! An object without some of its fields.

use serde_json::{Map, Value};

use super::element::PathElement;
use super::item::element_of;
use super::set::FieldSet;
use super::types::{self, Form, List, Type};

/// Takes fields and items away. A list or map of which nothing is left becomes null.
pub(super) fn remove(kind: &Type, value: &Value, fields: &FieldSet) -> Value {
    match (kind.form(value), value) {
        (Form::Scalar(_), _) => value.clone(),
        (Form::List(list), Value::Array(items)) if !list.is_atomic() => from_list(list, items, fields),
        (Form::Map(map), Value::Object(values)) if !map.atomic => from_map(map, values, fields),
        (Form::List(_) | Form::Map(_), _) => Value::Null,
    }
}

fn from_list(list: &List, items: &[Value], fields: &FieldSet) -> Value {
    let kept = items.iter().filter_map(|item| {
        let node = element_of(list, item).ok().and_then(|element| fields.get(&element));
        match node {
            None => Some(item.clone()),
            Some(node) if node.member => None,
            Some(node) => Some(remove(&list.items, item, &node.below)),
        }
    });
    let kept: Vec<Value> = kept.collect();
    if kept.is_empty() { Value::Null } else { Value::Array(kept) }
}

fn from_map(map: &types::Map, values: &Map<String, Value>, fields: &FieldSet) -> Value {
    let kept = values.iter().filter_map(|(name, value)| match fields.get(&PathElement::Field(name.clone())) {
        None => Some((name.clone(), value.clone())),
        Some(node) if node.member => None,
        Some(node) => {
            let kind = map.field(name).unwrap_or(&Type::Untyped);
            Some((name.clone(), remove(kind, value, &node.below)))
        }
    });
    let kept: Map<String, Value> = kept.collect();
    if kept.is_empty() { Value::Null } else { Value::Object(kept) }
}
