//! A body of JSON.

use bailiwick_machinery::decode::{FieldValidation, MAX_DEPTH, MAX_PROBLEMS, from_json};
use serde_json::Value;

use super::value;

/// Words of JSON.
pub const DICTIONARY: &[&[u8]] = value::JSON;

/// A value that is read is within the limits and is read again from what is written of it. What another reader of JSON
/// takes is taken, unless it is too deep.
pub fn target(data: &[u8]) {
    let decoded = from_json(data);
    if let Ok(other) = serde_json::from_slice::<Value>(data)
        && value::depth(&other) <= MAX_DEPTH
    {
        assert!(decoded.is_ok(), "JSON is refused: {decoded:?}");
    }
    let decoded = match decoded {
        Ok(decoded) => decoded,
        Err(error) => {
            assert!(error.to_string().len() < 1024, "a long error");
            return;
        }
    };
    value::check(&decoded.value);
    assert!(decoded.duplicates.len() <= MAX_PROBLEMS, "too many problems are told");
    let problems = decoded.problems();
    assert_eq!(FieldValidation::Strict.apply(problems.clone(), &[]).is_ok(), problems.is_empty());
    let is_object = decoded.value.is_object() || decoded.value.is_null();
    match decoded.into_object() {
        Ok((object, _)) => assert!(is_object && object.as_value().is_object()),
        Err(error) => assert!(error.to_string().contains("cannot unmarshal")),
    }
}
