//! A schema that somebody defines, and a value for it.

use bailiwick_machinery::decode::from_json;
use bailiwick_machinery::schema::Schema;

use super::{first_line, schema, value};

/// Words of schemas.
pub const DICTIONARY: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"null",
    b"\"type\":\"object\"",
    b"\"type\":\"array\"",
    b"\"type\":\"string\"",
    b"\"type\":\"integer\"",
    b"\"type\":\"number\"",
    b"\"properties\":{\"a\":{\"type\":\"string\"}}",
    b"\"items\":{\"type\":\"string\"}",
    b"\"additionalProperties\":{\"type\":\"string\"}",
    b"\"additionalProperties\":true",
    b"\"required\":[\"a\"]",
    b"\"default\":",
    b"\"nullable\":true",
    b"\"enum\":[\"a\"]",
    b"\"pattern\":\"^a+$\"",
    b"\"pattern\":\"(a*)*b\"",
    b"\"pattern\":\"((a{100}){100}){100}\"",
    b"\"format\":\"date-time\"",
    b"\"format\":\"int32\"",
    b"\"minimum\":1",
    b"\"exclusiveMaximum\":true",
    b"\"multipleOf\":0.1",
    b"\"maxLength\":1",
    b"\"uniqueItems\":true",
    b"\"allOf\":[{\"minimum\":1}]",
    b"\"not\":{\"required\":[\"a\"]}",
    b"\"oneOf\":[{},{}]",
    b"\"x-kubernetes-list-type\":\"map\"",
    b"\"x-kubernetes-list-map-keys\":[\"a\"]",
    b"\"x-kubernetes-list-type\":\"set\"",
    b"\"x-kubernetes-preserve-unknown-fields\":true",
    b"\"x-kubernetes-embedded-resource\":true",
    b"\"x-kubernetes-int-or-string\":true",
    b"\"x-kubernetes-map-type\":\"atomic\"",
    b"\"x-kubernetes-validations\":[{\"rule\":\"true\"}]",
    b"\"description\":\"d\"",
    b"\"$ref\":\"x\"",
];

/// The first line is a schema, the rest a value. A schema that is taken is taken again from what is written of it, and
/// the value meets what [`super::schema`] checks.
pub fn target(data: &[u8]) {
    let (definition, rest) = first_line(data);
    let Ok(definition) = from_json(definition) else { return };
    let Ok(parsed) = Schema::from_json(&definition.value) else { return };
    let written = parsed.to_json();
    value::check(&written);
    let read = Schema::from_json(&written).expect("what was written is a schema");
    assert_eq!(read.to_json(), written, "written differently");
    if let Ok(decoded) = from_json(rest) {
        schema::check(&parsed, &decoded.value);
        if !written.to_string().contains("\"default\":") {
            schema::check_defaults(&parsed, &decoded.value);
        }
    }
}
