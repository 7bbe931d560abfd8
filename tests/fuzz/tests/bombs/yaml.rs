//! YAML that refers to itself, and YAML that is deep or wide.

use bailiwick_machinery::decode::{DecodeError, from_yaml};
use serde_json::json;

use super::measure::{BODY, alone, full_of, settled};

fn read(what: &str, text: &str) -> Result<serde_json::Value, DecodeError> {
    assert!(text.len() <= BODY, "{what} is too large to be sent");
    settled(what, || from_yaml(text.as_bytes())).map(|decoded| decoded.value)
}

fn refused(what: &str, text: &str) -> DecodeError {
    read(what, text).err().unwrap_or_else(|| panic!("{what} was taken"))
}

/// Each level refers to the one before it so many times.
fn levels(count: usize, width: usize, first: &str, level: impl Fn(String) -> String) -> String {
    let mut text = format!("a0: &a0 {first}\n");
    for number in 1..count {
        let aliases = vec![format!("*a{}", number - 1); width].join(", ");
        text.push_str(&format!("a{number}: &a{number} {}\n", level(aliases)));
    }
    text
}

#[test]
fn laughs() {
    let _alone = alone();
    let list = |aliases| format!("[{aliases}]");
    assert_eq!(refused("a billion laughs", &levels(10, 9, "[lol]", list)), DecodeError::ExcessiveAliasing);
    assert_eq!(refused("a tree of aliases", &levels(30, 2, "[x]", list)), DecodeError::ExcessiveAliasing);
    assert_eq!(refused("a long chain of aliases", &levels(200, 1, "[x]", list)), DecodeError::YamlTooDeep);
    let merge = |aliases| format!("{{<<: [{aliases}]}}");
    assert_eq!(refused("merges", &levels(30, 3, "{x: 1, y: 2}", merge)), DecodeError::ExcessiveAliasing);
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), vec!["*a"; 100_000].join(", "));
    assert_eq!(refused("many aliases of one text", &long), DecodeError::ExcessiveAliasing);
    let wide = format!("a: &a [{}]\nb: [{}]\n", vec!["x"; 10_000].join(","), vec!["*a"; 10_000].join(","));
    assert_eq!(refused("many aliases of one list", &wide), DecodeError::ExcessiveAliasing);
}

#[test]
fn itself() {
    let _alone = alone();
    for text in ["a: &a [*a]", "a: &a {b: *a}", "a: &a\n  b: {c: [*a]}", "&a [*a]"] {
        assert!(matches!(refused(text, text), DecodeError::SelfAlias { .. }), "{text}");
    }
    assert!(matches!(refused("unknown", "a: *b"), DecodeError::Yaml { .. }));
}

#[test]
fn anchors() {
    let _alone = alone();
    let anchors = |count| (0..count).map(|number| format!("- &a{number} x\n")).collect::<String>();
    assert_eq!(refused("many anchors", &anchors(100_000)), DecodeError::TooManyValues);
    assert_eq!(read("fewer anchors", &anchors(50_000)).unwrap().as_array().map(Vec::len), Some(50_000));
    assert!(read("one anchor many times", &"- &a x\n".repeat(50_000)).is_ok());
    let aliases = "- &a x\n".to_owned() + &"- *a\n".repeat(100_000);
    assert_eq!(refused("aliases", &aliases), DecodeError::ExcessiveAliasing);
}

#[test]
fn deep() {
    let _alone = alone();
    for piece in ["[", "{a: ", "- ", "? ", "[{a: "] {
        let error = refused(piece, &full_of(piece));
        assert!(matches!(error, DecodeError::YamlTooDeep | DecodeError::Yaml { .. }), "{piece}: {error}");
    }
    let indented: String = (0..2_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    assert_eq!(refused("indented", &indented), DecodeError::YamlTooDeep);
}

#[test]
fn wide() {
    let _alone = alone();
    for (what, piece) in [
        ("items", "- a\n"),
        ("numbers", "- 0\n"),
        ("lists", "- []\n"),
        ("objects", "- {}\n"),
        ("objects of one", "- a: 0\n"),
        ("flow", "- [a, b, {c: d}]\n"),
        ("documents", "--- a\n"),
        ("comments", "#\n"),
        ("lines", "\n"),
        ("tags", "- !a b\n"),
        ("explicit keys", "? a\n"),
        ("empty keys", ": \n"),
        ("directives", "%TAG !a! b\n"),
        ("quotes", "'"),
        ("block", "|\n"),
    ] {
        let text = full_of(piece);
        let _ = settled(what, || from_yaml(text.as_bytes()).map(drop));
    }
}

#[test]
fn odd() {
    let _alone = alone();
    assert_eq!(read("documents", "a: 1\n---\nb: 2\n").unwrap(), json!({"a": 1}));
    assert!(matches!(refused("tags", "!!int x"), DecodeError::WrongTag { .. }));
    assert_eq!(refused("binary", "!!binary '%'"), DecodeError::BadBinary);
    for number in [".inf", "-.Inf", ".NaN"] {
        assert!(matches!(refused(number, number), DecodeError::NotFinite { .. }), "{number}");
    }
    assert!(matches!(refused("merge", "<<: 1"), DecodeError::BadMerge));
    assert!(matches!(refused("key", "? [a]\n: b"), DecodeError::CollectionKey { .. }));
    assert!(matches!(refused("NUL", "a: \0"), DecodeError::Yaml { .. }));
    assert_eq!(read("BOM", "\u{feff}a: b").unwrap(), json!({"a": "b"}));
}
