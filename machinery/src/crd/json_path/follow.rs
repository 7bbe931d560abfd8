//! From a path to values.

use std::cmp::Ordering;

use serde_json::Value;

use super::{Filter, JsonPath, MAX_VALUES, Operator, Slice, SliceEnd, Step};
use crate::go::GoNumber;

/// What a path has led to so far.
struct Found<'v> {
    values: Vec<&'v Value>,
    /// Something did not fit, such as an index of what is no list.
    failed: bool,
}

// === impl JsonPath ===

impl JsonPath {
    /// The first value that the path leads to. None if there is none, or something on the way does not fit.
    pub fn first<'v>(&'v self, value: &'v Value) -> Option<&'v Value> {
        let found = self.follow(vec![value]);
        found.values.into_iter().next().filter(|_| !found.failed)
    }

    fn follow<'v>(&'v self, mut values: Vec<&'v Value>) -> Found<'v> {
        for step in &self.0 {
            let found = step.follow(values);
            if found.failed || is_too_much(&found.values) {
                return Found { failed: true, ..found };
            }
            values = found.values;
        }
        Found { values, failed: false }
    }
}

// === impl Step ===

impl Step {
    fn follow<'v>(&'v self, values: Vec<&'v Value>) -> Found<'v> {
        let found = |values: Vec<&'v Value>| Found { values, failed: false };
        match self {
            Self::Field(name) => found(values.into_iter().filter_map(|value| value.as_object()?.get(name)).collect()),
            Self::All => found(values.into_iter().flat_map(parts).take(MAX_VALUES + 1).collect()),
            Self::Below => {
                let mut all = Vec::new();
                values.into_iter().for_each(|value| below(value, &mut all));
                found(all)
            }
            Self::Items(slice) => match slice.of_each(&values) {
                Some(items) => found(items),
                None => Found { values, failed: true },
            },
            Self::Union(paths) => {
                let mut all = Vec::new();
                for path in paths {
                    let one = path.follow(values.clone());
                    if one.failed || is_too_much(&all) {
                        return Found { values, failed: true };
                    }
                    all.extend(one.values);
                }
                found(all)
            }
            Self::Where(filter) => match filter.of_each(&values) {
                Some(items) => found(items),
                None => Found { values, failed: true },
            },
            Self::Literal(literal) => found(values.iter().map(|_| literal).collect()),
            Self::Word => Found { values, failed: true },
        }
    }
}

/// Whether there are more values than a path may lead to. Who gathers them stops then: a step can make of each as many as there
/// are.
fn is_too_much(found: &[&Value]) -> bool {
    found.len() > MAX_VALUES
}

/// The values directly inside of one.
fn parts(value: &Value) -> impl Iterator<Item = &Value> {
    let (fields, items) = match value {
        Value::Object(fields) => (Some(fields.values()), None),
        Value::Array(items) => (None, Some(items.iter())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (None, None),
    };
    fields.into_iter().flatten().chain(items.into_iter().flatten())
}

/// A value and all inside it, as far as they have parts. Objects are not deeper than what can be read.
fn below<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    let mut parts = parts(value).peekable();
    if parts.peek().is_some() && !is_too_much(found) {
        found.push(value);
        parts.for_each(|part| below(part, found));
    }
}

// === impl Slice ===

impl Slice {
    /// The items of each list. None if something is no list, or has no such items.
    fn of_each<'v>(&self, values: &[&'v Value]) -> Option<Vec<&'v Value>> {
        let mut found = Vec::new();
        for value in values.iter().filter(|value| !value.is_null()) {
            if is_too_much(&found) {
                return None;
            }
            let items = value.as_array()?;
            let length = i64::try_from(items.len()).ok()?;
            let from = self.from.unwrap_or(0);
            let to = match self.to {
                SliceEnd::Open => length,
                // The item after the last one is the first one, unless it was said so.
                SliceEnd::AfterFirst if from == -1 => length,
                SliceEnd::AfterFirst => from.checked_add(1)?,
                SliceEnd::At(to) => to,
            };
            let counted = |at: i64| if at < 0 { at.saturating_add(length) } else { at };
            let (from, to) = (counted(from), counted(to));
            if from == to {
                return Some(found);
            }
            if from < 0 || from > to || to > length || from >= length {
                return None;
            }
            let every = usize::try_from(self.every.unwrap_or(1)).ok().filter(|every| *every > 0)?;
            let items = items.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)?;
            found.extend(items.iter().step_by(every));
        }
        Some(found)
    }
}

// === impl Filter ===

impl Filter {
    /// The items of each list that are let through. None if something cannot be compared.
    fn of_each<'v>(&'v self, values: &[&'v Value]) -> Option<Vec<&'v Value>> {
        let mut found = Vec::new();
        for value in values {
            for item in value.as_array()? {
                if is_too_much(&found) {
                    return None;
                }
                if self.takes(item)? {
                    found.push(item);
                }
            }
        }
        Some(found)
    }

    fn takes(&self, item: &Value) -> Option<bool> {
        let left = self.left.follow(vec![item]);
        let Some((operator, right)) = &self.test else {
            return Some(!left.values.is_empty());
        };
        let left = match left.values.as_slice() {
            _ if left.failed => return None,
            [] => return Some(false),
            [left] => *left,
            _ => return None,
        };
        let right = right.follow(vec![item]);
        match right.values.as_slice() {
            _ if right.failed => None,
            [] => Some(false),
            [right] => operator.holds(left, right),
            _ => None,
        }
    }
}

// === impl Operator ===

impl Operator {
    /// None if the two cannot be compared: a whole number and a fraction cannot.
    fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        let order = match (left, right) {
            (Value::Bool(left), Value::Bool(right)) => match self {
                Self::Equal => return Some(left == right),
                Self::NotEqual => return Some(left != right),
                _ => return None,
            },
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) => match (GoNumber::of(left), GoNumber::of(right)) {
                (GoNumber::Int(left), GoNumber::Int(right)) => left.cmp(&right),
                (GoNumber::Float(left), GoNumber::Float(right)) => left.partial_cmp(&right)?,
                (GoNumber::Int(_), GoNumber::Float(_)) | (GoNumber::Float(_), GoNumber::Int(_)) => return None,
            },
            _ => return None,
        };
        match self {
            Self::Equal => Some(order == Ordering::Equal),
            Self::NotEqual => Some(order != Ordering::Equal),
            Self::Less => Some(order == Ordering::Less),
            Self::LessOrEqual => Some(order != Ordering::Greater),
            Self::Greater => Some(order == Ordering::Greater),
            Self::GreaterOrEqual => Some(order != Ordering::Less),
            Self::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests;
