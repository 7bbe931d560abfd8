//! What columns show of objects that have a spec and a status.

use std::time::SystemTime;

use bailiwick_machinery::Object;
use bailiwick_machinery::table::{Column, ColumnType};
use serde_json::Value;

/// A column of texts.
pub(super) fn text(name: &'static str, description: &'static str) -> Column {
    Column::new(name, ColumnType::String, description)
}

/// A column of numbers.
pub(super) fn number(name: &'static str, description: &'static str) -> Column {
    Column::new(name, ColumnType::Integer, description)
}

/// What is at a place of the object: `/spec/catalogName`.
pub(super) fn at(pointer: &'static str) -> impl Fn(&Object, SystemTime) -> Value + Send + Sync + 'static {
    move |object, _| object.as_value().pointer(pointer).cloned().unwrap_or(Value::Null)
}

/// The texts of a list, with commas between them.
pub(super) fn joined(pointer: &'static str) -> impl Fn(&Object, SystemTime) -> Value + Send + Sync + 'static {
    move |object, _| {
        let texts = object.as_value().pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        texts.filter_map(Value::as_str).collect::<Vec<_>>().join(",").into()
    }
}
