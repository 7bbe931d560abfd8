//! A JSON patch, applied.

use bailiwick_machinery::decode::from_json;
use bailiwick_machinery::encode::json_len;
use bailiwick_machinery::patch::{JsonPatch, MAX_OPERATIONS, MAX_RESULT};
use serde_json::Value;

use super::{first_line, value};

/// Words of JSON patches.
pub const DICTIONARY: &[&[u8]] = &[
    b"[",
    b"]",
    b"{",
    b"}",
    b"\"",
    b":",
    b",",
    b"null",
    b"[]",
    b"{}",
    b"{\"op\":\"add\",\"path\":\"/a\",\"value\":1}",
    b"{\"op\":\"remove\",\"path\":\"/a\"}",
    b"{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}",
    b"{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}",
    b"{\"op\":\"test\",\"path\":\"\",\"value\":{}}",
    b"\"add\"",
    b"\"remove\"",
    b"\"replace\"",
    b"\"move\"",
    b"\"copy\"",
    b"\"test\"",
    b"/",
    b"/-",
    b"/0",
    b"/-1",
    b"/4294967295",
    b"~0",
    b"~1",
    b"~01",
    b"/a/b",
    b"\"from\":",
    b"\"path\":\"\"",
];

/// The first line is a document, the rest is a patch. What it makes of the document is within the limits, and the same
/// each time; errors are short.
pub fn target(data: &[u8]) {
    let (document, patch) = first_line(data);
    let Ok(Value::Object(document)) = from_json(document).map(|decoded| decoded.value) else { return };
    let patch = match JsonPatch::decode(patch) {
        Ok(patch) => patch,
        Err(error) => return assert!(error.to_string().len() < 2048, "a long error"),
    };
    assert!(patch.operations().len() <= MAX_OPERATIONS);
    let before = document.clone();
    match patch.apply(&document) {
        Ok(result) => {
            value::check(&result);
            assert!(json_len(&result) <= MAX_RESULT, "too large a result");
            assert_eq!(patch.apply(&document), Ok(result), "another result the second time");
        }
        Err(error) => assert!(error.to_string().len() < 8192, "a long error"),
    }
    assert_eq!(document, before, "the document itself was changed");
}
