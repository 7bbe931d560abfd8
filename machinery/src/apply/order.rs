//! The order of values, by which field sets are sorted: numbers, texts, booleans, lists, maps, null.
//!
//! A whole number and a floating one are compared as numbers, so that `1` and `1.0` are the same: what was read from a
//! stored field set is always floating.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use crate::go::{self, GoNumber, sorted};

/// Whether two values are the same.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    go::same_by(left, right, |left, right| numbers(left, right).is_eq())
}

/// Which value comes first.
pub(super) fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => lists(left, right),
        (Value::Object(left), Value::Object(right)) => maps(left, right),
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn numbers(left: &Number, right: &Number) -> Ordering {
    match (GoNumber::of(left), GoNumber::of(right)) {
        (GoNumber::Int(left), GoNumber::Int(right)) => left.cmp(&right),
        (left, right) => left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal),
    }
}

fn lists(left: &[Value], right: &[Value]) -> Ordering {
    let items = left.iter().zip(right).map(|(left, right)| order(left, right));
    items.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
}

fn maps(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    let (left, right) = (sorted(left), sorted(right));
    let fields = left.iter().zip(&right);
    let mut fields = fields.map(|(left, right)| left.0.cmp(right.0).then_with(|| order(left.1, right.1)));
    fields.find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
}
