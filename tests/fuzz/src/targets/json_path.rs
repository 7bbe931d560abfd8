//! A path of a column, and an object that it leads into.

use bailiwick_machinery::crd::JsonPath;
use bailiwick_machinery::decode::from_json;

use super::first_line;

/// Words of paths.
pub const DICTIONARY: &[&[u8]] = &[
    b".",
    b"..",
    b"*",
    b"[",
    b"]",
    b"[*]",
    b"[0]",
    b"[-1]",
    b"[1:2]",
    b"[::2]",
    b"[0,1]",
    b"['a']",
    b"['a','b']",
    b"[?(",
    b")]",
    b"@.a==\"b\"",
    b"@.a>=1",
    b"@.a<1.5",
    b"@.a!=true",
    b"\\.",
    b"$",
    b"{",
    b"}",
    b"'",
    b"\"",
    b"\\u0041",
    b"9223372036854775807",
    b"-9223372036854775808",
];

/// The first line is a path, the rest an object. Following it ends, and ends the same way each time.
pub fn target(data: &[u8]) {
    let (path, rest) = first_line(data);
    let Ok(text) = std::str::from_utf8(path) else { return };
    let Ok(path) = JsonPath::parse(text) else { return };
    let Ok(decoded) = from_json(rest) else { return };
    assert_eq!(path.first(&decoded.value), path.clone().first(&decoded.value));
}
