//! Where two answers differ, place by place.

use std::fmt;

use serde_json::Value;

/// How much of a value is shown.
const SHOWN_CHARS: usize = 300;

/// A place where two answers differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The step: `file/scenario/number`.
    pub step: String,
    /// What was asked.
    pub title: String,
    /// Where: `status`, `headers.warning[0]`, `body.metadata.name`.
    pub place: String,
    /// What one has there. None for nothing.
    pub left: Option<Value>,
    /// What the other has there.
    pub right: Option<Value>,
}

/// Finds all places where two values differ. Where only one has a value, its insides are not looked at.
pub fn places(left: &Value, right: &Value) -> Vec<(String, Option<Value>, Option<Value>)> {
    let mut found = Vec::new();
    walk(String::new(), Some(left), Some(right), &mut found);
    found
}

fn walk(
    place: String,
    left: Option<&Value>,
    right: Option<&Value>,
    found: &mut Vec<(String, Option<Value>, Option<Value>)>,
) {
    match (left, right) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let dot = if place.is_empty() { "" } else { "." };
                walk(format!("{place}{dot}{key}"), left.get(key), right.get(key), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                walk(format!("{place}[{index}]"), left.get(index), right.get(index), found);
            }
        }
        (left, right) if left == right => {}
        (left, right) => found.push((place, left.cloned(), right.cloned())),
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.place)?;
        writeln!(f, "    - {}", shown(self.left.as_ref()))?;
        writeln!(f, "    + {}", shown(self.right.as_ref()))
    }
}

/// A value as a report shows it: cut if it is long.
pub(crate) fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "(nothing)".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARS) {
        None => text,
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
    }
}

#[cfg(test)]
mod tests;
