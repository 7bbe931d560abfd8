//! A strategic merge patch, applied.

use bailiwick_machinery::GroupVersion;
use bailiwick_machinery::decode::from_json;
use bailiwick_machinery::encode::json_len;
use bailiwick_machinery::host::HostType;
use bailiwick_machinery::patch::{MAX_RESULT, StrategicPatch};
use serde_json::Value;

use super::{first_line, value};

/// Words of patches.
pub const DICTIONARY: &[&[u8]] = &[
    b"\"$patch\":\"delete\"",
    b"\"$patch\":\"replace\"",
    b"\"$patch\":\"merge\"",
    b"\"$retainKeys\":[\"name\"]",
    b"\"$setElementOrder/containers\":[{\"name\":\"a\"}]",
    b"\"$setElementOrder/finalizers\":[\"a\"]",
    b"\"$deleteFromPrimitiveList/finalizers\":[\"a\"]",
    b"\"containers\":[{\"name\":\"a\"}]",
    b"\"template\":{\"spec\":{",
    b"\"metadata\":{",
    b"null",
    b"[]",
    b"{}",
    b",",
    b"}",
    b"]",
];

/// The first line is a pod template, the rest is a patch. What it makes of it is within the limits.
pub fn target(data: &[u8]) {
    let (document, patch) = first_line(data);
    let Ok(Value::Object(document)) = from_json(document).map(|decoded| decoded.value) else { return };
    let Ok(patch) = StrategicPatch::decode(patch) else { return };
    let host_type = HostType::of(&GroupVersion::new("", "v1").kind("PodTemplate")).expect("the kind is known");
    let Ok(patched) = patch.apply(host_type, &document) else { return };
    let patched = Value::Object(patched);
    value::check(&patched);
    assert!(json_len(&patched) <= MAX_RESULT, "too large a result");
}
