use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::decode::tests::{canon, quickly};
use crate::encode::tests::any_value;

fn recorded() -> Value {
    serde_json::from_str(include_str!("../../../tests/data/go/jsonpatch.json")).unwrap()
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn apply(document: &Value, patch: &str) -> Result<Value, PatchError> {
    JsonPatch::decode(patch.as_bytes())?.apply(&object(document))
}

fn merge(document: &Value, patch: &str) -> Result<Value, PatchError> {
    MergePatch::decode(patch.as_bytes())?.apply(&object(document)).map(Value::Object)
}

/// Why an answer differs from the recorded one.
fn explanation(patch: &str, go: &str, ours: &str) -> Option<&'static str> {
    if go.starts_with("panic: ") {
        return Some("upstream panics, on nulls in lists and on a missing value for the root");
    }
    if patch.contains(r#""\u0074""#) || (go.contains("test failed") && patch.contains("1.0")) {
        return Some("upstream compares texts and numbers as they were written, not what they mean");
    }
    if go.contains("1e999 into Go struct field") && ours.contains("1e999 into Go value") {
        return Some("upstream names the member of the operation that the number is in");
    }
    // Go names the types of its own package in these two.
    let untyped = |text: &str| text.replace("main.", "handlers.");
    if untyped(go) == ours {
        return Some("the recorder has its own type of operations");
    }
    None
}

#[test]
fn json_patches_as_recorded() {
    check("json", 1500, &|document, patch| {
        let patch = JsonPatch::decode(patch.as_bytes()).map_err(|error| (error, Vec::new()))?;
        let problems = patch.problems().to_vec();
        patch.apply(document).map(|value| (value, problems.clone())).map_err(|error| (error, problems))
    });
}

#[test]
fn merge_patches_as_recorded() {
    check("merge", 500, &|document, patch| {
        let patch = MergePatch::decode(patch.as_bytes()).map_err(|error| (error, Vec::new()))?;
        let problems = patch.problems();
        let result = patch.apply(document).map(Value::Object);
        result.map(|value| (value, problems.clone())).map_err(|error| (error, problems))
    });
}

type Patched = Result<(Value, Vec<String>), (PatchError, Vec<String>)>;

fn check(section: &str, least: usize, patched: &dyn Fn(&Map<String, Value>, &str) -> Patched) {
    let recorded = recorded();
    let cases = recorded[section].as_array().unwrap();
    assert!(cases.len() > least, "only {} cases", cases.len());
    let mut differences = Vec::new();
    for case in cases {
        let number = usize::try_from(case[0].as_u64().unwrap()).unwrap();
        let document: Value = serde_json::from_str(recorded["docs"][number].as_str().unwrap()).unwrap();
        let patch = case[1].as_str().unwrap();
        let (value, error, problems) = match patched(&object(&document), patch) {
            Ok((value, problems)) => (canon(&value), String::new(), problems),
            Err((error, problems)) => (String::new(), error.to_string(), problems),
        };
        let go = case[3].as_str().unwrap();
        if (&Value::from(value.clone()), error.as_str(), &Value::from(problems.clone())) != (&case[2], go, &case[4])
            && explanation(patch, go, &error).is_none()
        {
            differences.push(format!("{document}\n  {case}\n  ours {value} {error} {problems:?}"));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn failures() {
    let document = json!({"a": 1});
    let failure = |patch: &str| apply(&document, patch).unwrap_err().failure();
    assert_eq!(failure("["), PatchFailure::BadRequest);
    assert_eq!(failure(r#"[{"op":1}]"#), PatchFailure::BadRequest);
    assert_eq!(failure(r#"[{"op":"test","path":"/a","value":2}]"#), PatchFailure::Unprocessable);
    assert_eq!(merge(&document, "null").unwrap_err().failure(), PatchFailure::BadRequest);
    assert_eq!(
        merge(&document, "[]").unwrap_err().to_string(),
        "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
    );
}

#[test]
fn operations_are_counted() {
    let operations = |count: usize| format!("[{}]", vec![r#"{"op":"add","path":"/b","value":1}"#; count].join(","));
    let document = json!({});
    assert_eq!(apply(&document, &operations(MAX_OPERATIONS)).unwrap(), json!({"b": 1}));
    let error = apply(&document, &operations(MAX_OPERATIONS + 1)).unwrap_err();
    assert_eq!(error, PatchError::TooManyOperations { count: MAX_OPERATIONS + 1 });
    assert_eq!(error.to_string(), "The allowed maximum operations in a JSON patch is 10000, got 10001");
    assert_eq!(error.failure(), PatchFailure::TooLarge);
}

#[test]
fn copies_are_counted() {
    let doubling = vec![r#"{"op":"copy","from":"/a","path":"/a/-"}"#; 30].join(",");
    let error = quickly(|| apply(&json!({"a": ["0123456789"]}), &format!("[{doubling}]")).unwrap_err());
    assert!(matches!(error, PatchError::TooMuchCopied { copied } if copied > MAX_COPIED), "{error:?}");
    assert_eq!(error.failure(), PatchFailure::Unprocessable);

    // Two quotes and the text, exactly as much as is allowed and one more.
    for (length, allowed) in [(MAX_COPIED / 2 - 2, true), (MAX_COPIED / 2 - 1, false)] {
        let document = json!({"a": "x".repeat(length), "b": {}});
        let patch = r#"[{"op":"copy","from":"/a","path":"/c"},{"op":"copy","from":"/a","path":"/c"},{"op":"remove","path":"/a"}]"#;
        assert_eq!(apply(&document, patch).is_ok(), allowed, "{length}");
    }
}

#[test]
fn results_are_measured() {
    let document = json!({"a": "x".repeat(MAX_RESULT - 20)});
    assert!(apply(&document, r#"[{"op":"add","path":"/b","value":1}]"#).is_ok());
    assert_eq!(
        apply(&document, r#"[{"op":"add","path":"/b","value":"0123456789"}]"#).unwrap_err(),
        PatchError::ResultTooLarge
    );
    assert!(merge(&document, r#"{"b":1}"#).is_ok());
    assert_eq!(merge(&document, r#"{"b":"0123456789"}"#).unwrap_err(), PatchError::ResultTooLarge);
}

#[test]
fn results_are_not_too_deep() {
    let lists = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let document = json!({"a": {"b": {}}});
    let add = |depth: usize| apply(&document, &format!(r#"[{{"op":"add","path":"/a/b/c","value":{}}}]"#, lists(depth)));
    assert!(add(MAX_DEPTH - 3).is_ok());
    // Here the patch itself is still allowed.
    assert_eq!(add(MAX_DEPTH - 2).unwrap_err(), PatchError::ResultTooDeep);
    assert!(matches!(add(1_500_000).unwrap_err(), PatchError::Malformed(_)));

    // Each step nests the object once more in itself, so that depth doubles.
    let steps = r#"{"op":"copy","from":"/a","path":"/a/b"},{"op":"move","from":"/a","path":"/c"},{"op":"add","path":"/a","value":{"b":{}}},{"op":"move","from":"/c","path":"/a/b/c"}"#;
    let error = apply(&document, &format!("[{}]", vec![steps; 2000].join(","))).unwrap_err();
    assert_eq!(error, PatchError::ResultTooDeep);

    let nested = format!("{}{}", r#"{"a":"#.repeat(MAX_DEPTH), "0".to_owned() + &"}".repeat(MAX_DEPTH));
    assert!(merge(&document, &nested).is_ok());
    assert!(merge(&document, &"[".repeat(1_500_000)).is_err());
    assert!(merge(&document, &r#"{"a":"#.repeat(500_000)).is_err());
}

#[test]
fn work_is_bounded() {
    let long = json!({"a": vec![1; 700_000], "b": []});
    let first = vec![r#"{"op":"move","from":"/a/0","path":"/a/-"}"#; MAX_OPERATIONS].join(",");
    let error = quickly(|| apply(&long, &format!("[{first}]")).unwrap_err());
    assert_eq!((error.clone(), error.failure()), (PatchError::TooMuchWork, PatchFailure::TooLarge));
    let carry = vec![r#"{"op":"move","from":"/a","path":"/c"},{"op":"move","from":"/c","path":"/a"}"#; 5000].join(",");
    assert_eq!(quickly(|| apply(&long, &format!("[{carry}]")).unwrap_err()), PatchError::TooMuchWork);
    // A test costs no more than the value that it is given.
    let test = vec![r#"{"op":"test","path":"/a","value":[1,1]}"#; MAX_OPERATIONS].join(",");
    assert!(matches!(quickly(|| apply(&long, &format!("[{test}]"))).unwrap_err(), PatchError::TestFailed { .. }));
    let copy = vec![r#"{"op":"copy","from":"/a","path":"/nope/x"}"#; MAX_OPERATIONS].join(",");
    assert!(quickly(|| apply(&long, &format!("[{copy}]"))).is_err());
}

#[test]
fn huge_indexes() {
    let document = json!({"a": [1]});
    for index in ["4294967295", "2", "-3", "9223372036854775807", "-9223372036854775808", "99999999999999999999"] {
        for op in ["add", "replace", "remove", "test"] {
            let patch = format!(r#"[{{"op":"{op}","path":"/a/{index}","value":1}}]"#);
            assert_eq!(apply(&document, &patch).unwrap_err().failure(), PatchFailure::Unprocessable, "{patch}");
        }
    }
}

#[test]
fn nothing_is_half_done() {
    let document = object(&json!({"a": [1, 2]}));
    let patch = JsonPatch::decode(br#"[{"op":"remove","path":"/a/0"},{"op":"remove","path":"/b"}]"#).unwrap();
    assert!(patch.apply(&document).is_err());
    assert_eq!(Value::Object(document), json!({"a": [1, 2]}));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_panics(
        document in prop::collection::vec(("[ab]", any_value()), 0..3),
        operations in prop::collection::vec(
            ("(add|remove|replace|move|copy|test)", "(/[ab0-2~-]{0,2}){0,4}", "(/[ab0-2~-]{0,2}){0,4}", any_value()), 0..5),
        patch in any_value(),
    ) {
        let document: Map<String, Value> = document.into_iter().collect();
        let operations: Vec<Value> = operations
            .into_iter()
            .map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
            .collect();
        let _ = JsonPatch::decode(&crate::encode::to_json(&json!(operations))).unwrap().apply(&document);
        let text = crate::encode::to_json(&patch);
        if let Ok(patch) = JsonPatch::decode(&text) {
            let _ = patch.apply(&document);
        }
        if let Ok(patch) = MergePatch::decode(&text) {
            let once = patch.apply(&document).unwrap();
            // A merge patch says what to have, so having it twice is having it.
            prop_assert_eq!(patch.apply(&once).unwrap(), once);
        }
    }
}
