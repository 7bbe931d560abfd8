//! What holds for every value that a reader lets through.

use bailiwick_machinery::decode::{MAX_DEPTH, from_json};
use bailiwick_machinery::encode::{json_len, to_json, to_json_pretty};
use serde_json::Value;

/// Words of JSON.
pub(super) const JSON: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\"",
    b"\\",
    b"null",
    b"true",
    b"false",
    b"{}",
    b"[]",
    b"\"\"",
    b"\\u0000",
    b"\\ud800",
    b"\\udc00",
    b"\\ud83d\\ude00",
    b"\\u2028",
    b"\"a\":",
    b",\"a\":1",
    b"[[[[[[[[",
    b"1.0",
    b"1E5",
    b"-",
    b"\"metadata\":{",
    b"\"name\":\"x\"",
    b"<",
    b"&",
    b"\x7f",
];

/// A value that was let through is not too deep, and is the same after it was written and read.
pub(super) fn check(value: &Value) {
    assert!(depth(value) <= MAX_DEPTH, "deeper than {MAX_DEPTH}");
    let compact = to_json(value);
    assert_eq!(json_len(value), compact.len(), "the length is not that of the text");
    let read = from_json(&compact).expect("what was written can be read");
    assert_same(&read.value, value);
    assert_eq!(read.duplicates, [], "what was written has duplicates");
    let pretty = from_json(&to_json_pretty(value)).expect("what was written can be read");
    assert_eq!(pretty.value, read.value, "the layout changed the value");
    let again = to_json(&read.value);
    let twice = from_json(&again).expect("what was written can be read");
    assert_eq!(to_json(&twice.value), again, "the same value was written differently");
}

/// The values are equal, but for whole numbers that had a point or an exponent: these are written without, as Go does it.
pub(super) fn assert_same(left: &Value, right: &Value) {
    assert!(is_same(left, right), "another value was read than was written: {left} and {right}");
}

fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let mut pairs = left.iter().zip(right);
            left.len() == right.len() && pairs.all(|((a, left), (b, right))| a == b && is_same(left, right))
        }
        (left, right) => left == right,
    }
}

/// How deep lists and objects are nested.
pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
