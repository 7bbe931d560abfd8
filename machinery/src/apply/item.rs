//! How the items of a list are told apart.

use serde_json::Value;

use super::element::PathElement;
use super::types::{List, ListMerge};
use crate::go;

/// Why an item cannot be told from others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ItemError {
    #[error("invalid indexing of non-associative list")]
    AtomicList,
    #[error("associative list with keys may not have a null element")]
    NullInMap,
    #[error("associative list with keys may not have non-map elements")]
    NoMap,
    #[error("couldn't find default value for {key}: associative list may not have non-map types")]
    NoDefault { key: String },
    #[error(
        "associative list with keys has an element that omits all key fields {keys} \
         (and doesn't have default values for any key fields)"
    )]
    NoKeys { keys: String },
    #[error("associative list without keys has an element that's a map type")]
    MapInSet,
    #[error("not supported: associative list with lists as elements")]
    ListInSet,
    #[error("associative list without keys has an element that's an explicit null")]
    NullInSet,
}

/// The path element of an item.
pub(super) fn element_of(list: &List, item: &Value) -> Result<PathElement, ItemError> {
    match &list.merge {
        ListMerge::Atomic => Err(ItemError::AtomicList),
        ListMerge::Map(keys) if !keys.is_empty() => by_keys(list, keys, item),
        // Upstream takes a map without keys for a set.
        ListMerge::Map(_) | ListMerge::Set => match item {
            Value::Object(_) => Err(ItemError::MapInSet),
            Value::Array(_) => Err(ItemError::ListInSet),
            Value::Null => Err(ItemError::NullInSet),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(PathElement::Value(item.clone())),
        },
    }
}

fn by_keys(list: &List, keys: &[String], item: &Value) -> Result<PathElement, ItemError> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err(ItemError::NullInMap),
        _ => return Err(ItemError::NoMap),
    };
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let value = match fields.get(key) {
            Some(value) => Some(value),
            None => default_of(list, key)?,
        };
        // A key that is absent tells the item from those that have it.
        found.extend(value.map(|value| (key.clone(), value.clone())));
    }
    if found.is_empty() {
        let keys: Vec<_> = keys.iter().map(|key| go::quote(key)).collect();
        return Err(ItemError::NoKeys { keys: format!("[{}]", keys.join(" ")) });
    }
    found.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(PathElement::Key(found))
}

fn default_of<'l>(list: &'l List, key: &str) -> Result<Option<&'l Value>, ItemError> {
    match &list.items.atom().map {
        Some(map) => Ok(map.fields.get(key).and_then(|field| field.default.as_ref())),
        None => Err(ItemError::NoDefault { key: key.to_owned() }),
    }
}
