//! A JSON merge patch, applied.

use bailiwick_machinery::decode::from_json;
use bailiwick_machinery::encode::json_len;
use bailiwick_machinery::patch::{MAX_RESULT, MergePatch};
use serde_json::Value;

use super::{first_line, value};

/// Words of JSON.
pub const DICTIONARY: &[&[u8]] = value::JSON;

/// The first line is a document, the rest is a patch. What it makes of the document is within the limits, and what it
/// makes of that is the same.
pub fn target(data: &[u8]) {
    let (document, patch) = first_line(data);
    let Ok(Value::Object(document)) = from_json(document).map(|decoded| decoded.value) else { return };
    let Ok(patch) = MergePatch::decode(patch) else { return };
    let Ok(once) = patch.apply(&document) else { return };
    value::check(&Value::Object(once.clone()));
    assert!(json_len(&Value::Object(once.clone())) <= MAX_RESULT, "too large a result");
    for (name, wanted) in patch.fields() {
        assert_eq!(wanted.is_null(), !once.contains_key(name), "a field is there, or is missing: {name}");
    }
    // A list that replaces an object keeps its nulls, and one that replaces a list does not: as upstream does it.
    let twice = patch.apply(&once).expect("a patch that was applied can be applied again");
    assert_eq!(patch.apply(&twice).as_ref(), Ok(&twice), "another result each time");
}
