//! Patches that make much of little.

use bailiwick_machinery::decode::from_json;
use bailiwick_machinery::patch::{JsonPatch, MAX_OPERATIONS, MergePatch, PatchError, PatchFailure};
use serde_json::{Map, Value, json};

use super::measure::{BODY, alone, full_of, settled};

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn apply(what: &str, document: &Map<String, Value>, patch: &str) -> Result<Value, PatchError> {
    assert!(patch.len() <= BODY, "{what} is too large to be sent");
    settled(what, || JsonPatch::decode(patch.as_bytes()).and_then(|patch| patch.apply(document)))
}

fn failure(what: &str, document: &Map<String, Value>, patch: &str) -> PatchFailure {
    apply(what, document, patch).err().unwrap_or_else(|| panic!("{what} was applied")).failure()
}

fn many(operation: &str, count: usize) -> String {
    format!("[{}]", vec![operation; count].join(","))
}

#[test]
fn floods() {
    let _alone = alone();
    let small = object(json!({"a": ["0123456789"], "b": {}}));
    let add = r#"{"op":"add","path":"/b/x","value":1}"#;
    assert_eq!(failure("one too many", &small, &many(add, MAX_OPERATIONS + 1)), PatchFailure::TooLarge);
    assert!(apply("as many as allowed", &small, &many(add, MAX_OPERATIONS)).is_ok());
    let empty = full_of("{},").trim_end_matches(',').len() / 3;
    assert_eq!(failure("empty ones", &small, &many("{}", empty)), PatchFailure::TooLarge);
    assert_eq!(failure("no operations", &small, &many("0", 1_000_000)), PatchFailure::TooLarge);
    let growing = |count| many(r#"{"op":"add","path":"/a/0","value":1}"#, count);
    assert!(apply("growing at its start", &small, &growing(MAX_OPERATIONS / 2)).is_ok());
    assert_eq!(failure("growing too much", &small, &growing(MAX_OPERATIONS)), PatchFailure::TooLarge);
}

#[test]
fn copies() {
    let _alone = alone();
    let small = object(json!({"a": ["0123456789"], "b": {}}));
    let doubling = many(r#"{"op":"copy","from":"/a","path":"/a/-"}"#, 30);
    assert_eq!(failure("doubling", &small, &doubling), PatchFailure::Unprocessable);
    let nesting = many(r#"{"op":"copy","from":"/b","path":"/b/b"}"#, 200);
    assert_eq!(failure("nesting", &small, &nesting), PatchFailure::Unprocessable);
    let large = object(json!({"a": "x".repeat(1_000_000)}));
    let over = many(r#"{"op":"copy","from":"/a","path":"/b"}"#, MAX_OPERATIONS);
    assert_eq!(failure("over and over", &large, &over), PatchFailure::Unprocessable);
}

#[test]
fn work() {
    let _alone = alone();
    let long = object(json!({"a": vec![1; 200_000], "t": "x".repeat(1_000_000)}));
    let turn = many(r#"{"op":"move","from":"/a/0","path":"/a/-"}"#, MAX_OPERATIONS);
    assert_eq!(failure("turning a list", &long, &turn), PatchFailure::TooLarge);
    let carry =
        many(r#"{"op":"move","from":"/a","path":"/c"},{"op":"move","from":"/c","path":"/a"}"#, MAX_OPERATIONS / 2);
    assert_eq!(failure("to and fro", &long, &carry), PatchFailure::TooLarge);
    let into_itself = r#"[{"op":"move","from":"/a","path":"/a/b"}]"#;
    assert_eq!(failure("into its own child", &long, into_itself), PatchFailure::Unprocessable);
    let test = many(r#"{"op":"test","path":"/t","value":"x"}"#, MAX_OPERATIONS);
    assert_eq!(failure("tests that fail", &long, &test), PatchFailure::Unprocessable);
    let path = format!(r#"[{{"op":"test","path":"{}","value":1}}]"#, full_of("/a").split_off(100));
    assert_eq!(failure("a long path", &long, &path), PatchFailure::Unprocessable);
    let tildes = format!(r#"[{{"op":"test","path":"/{}","value":1}}]"#, "~0~1".repeat(700_000));
    assert_eq!(failure("an escaped path", &long, &tildes), PatchFailure::Unprocessable);
}

/// Crossplane's GHSA-v829-x6hh-cqfq: an index is never a length to allocate.
#[test]
fn indexes() {
    let _alone = alone();
    let document = object(json!({"a": [1]}));
    for index in [
        "4294967295",
        "2147483648",
        "18446744073709551615",
        "9223372036854775807",
        "-9223372036854775808",
        "1e9",
        "0x10",
        "٣",
    ] {
        for operation in ["add", "replace", "remove", "test", "copy", "move"] {
            let patch = format!(r#"[{{"op":"{operation}","path":"/a/{index}","from":"/a/{index}","value":1}}]"#);
            assert_eq!(failure(&patch, &document, &patch), PatchFailure::Unprocessable);
        }
    }
}

#[test]
fn depth() {
    let _alone = alone();
    let document = object(json!({"a": {}}));
    let deep = "[".repeat(1_500_000);
    let value = format!(r#"[{{"op":"add","path":"/a/b","value":{deep}"#);
    assert_eq!(failure("a deep value", &document, &value), PatchFailure::BadRequest);
    for patch in [deep.clone(), format!(r#"{{"a":{deep}"#), full_of(r#"{"a":"#)] {
        let error = settled("a deep merge", || MergePatch::decode(patch.as_bytes())).unwrap_err();
        assert_eq!(error.failure(), PatchFailure::BadRequest);
    }
}

#[test]
fn merges() {
    let _alone = alone();
    let fields: String = (0..100_000).map(|number| format!(r#""{number}":null,"#)).collect();
    let patch = settled("many nulls", || MergePatch::decode(format!("{{{fields}\"x\":1}}").as_bytes())).unwrap();
    let result = settled("many removals", || patch.apply(&object(json!({"a": 1})))).unwrap();
    assert_eq!(Value::Object(result), json!({"a": 1, "x": 1}));
    let large = format!(r#"{{"b":"{}"}}"#, "x".repeat(BODY - 10));
    let document = object(from_json(format!(r#"{{"a":"{}"}}"#, "x".repeat(1_000_000)).as_bytes()).unwrap().value);
    let patch = MergePatch::decode(large.as_bytes()).unwrap();
    assert_eq!(settled("too large a result", || patch.apply(&document)).unwrap_err(), PatchError::ResultTooLarge);
}
