//! A body of YAML.

use bailiwick_machinery::decode::{MAX_ALIASED, from_yaml};
use bailiwick_machinery::encode::{json_len, to_yaml};

use super::value;

/// Words of YAML.
pub const DICTIONARY: &[&[u8]] = &[
    b": ",
    b"- ",
    b"\n",
    b"\n  ",
    b"\n- ",
    b"? ",
    b"---\n",
    b"...\n",
    b"&a ",
    b"*a",
    b"<<: ",
    b"<<: *a",
    b"<<: [*a, *b]",
    b"!!binary ",
    b"!!int ",
    b"!!str ",
    b"!!null ",
    b"!!float ",
    b"!!timestamp ",
    b"!!merge ",
    b"!x ",
    b"%YAML 1.1\n",
    b"%TAG ! x\n",
    b"|\n ",
    b">-\n ",
    b"|2+\n",
    b"yes",
    b"off",
    b"~",
    b".inf",
    b"-.Inf",
    b".nan",
    b"0x1f",
    b"0o17",
    b"017",
    b"0b101",
    b"1_000",
    b"1:30:00",
    b"2001-01-01",
    b"'",
    b"\"",
    b"\\x41",
    b"\\N",
    b"#c\n",
    b"{a: 1}",
    b"[a, b]",
    b"\t",
    b"\r\n",
    b"@",
    b"`",
];

/// A value that is read is within the limits, no larger than the input and its aliases allow, and is read again from what
/// is written of it, in JSON and in YAML.
pub fn target(data: &[u8]) {
    let decoded = match from_yaml(data) {
        Ok(decoded) => decoded,
        Err(error) => {
            assert!(error.to_string().len() < 2048, "a long error");
            return;
        }
    };
    value::check(&decoded.value);
    // A byte becomes six at most: `\u003c`.
    let most = 6 * data.len().saturating_add(MAX_ALIASED).saturating_add(64);
    assert!(json_len(&decoded.value) <= most, "larger than its aliases allow");
    let written = to_yaml(&decoded.value);
    match from_yaml(written.as_bytes()) {
        Ok(read) => value::assert_same(&read.value, &decoded.value),
        Err(error) => panic!("what was written cannot be read: {error}: {written}"),
    }
}
