//! JSON that is deep or wide.

use bailiwick_machinery::decode::{DecodeError, MAX_DEPTH, from_json};

use super::measure::{BODY, alone, full_of, settled};

fn refused(what: &str, text: &str) -> DecodeError {
    assert!(text.len() <= BODY, "{what} is too large to be sent");
    settled(what, || from_json(text.as_bytes())).err().unwrap_or_else(|| panic!("{what} was taken"))
}

#[test]
fn deep() {
    let _alone = alone();
    for text in ["[".repeat(1_500_000), full_of("{\"\":"), full_of("[{\"\":")] {
        assert!(refused("deep", &text).to_string().ends_with("exceeded max depth"));
    }
    assert!(from_json(nested(MAX_DEPTH).as_bytes()).is_ok());
    assert!(from_json(nested(MAX_DEPTH + 1).as_bytes()).is_err());
}

fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

#[test]
fn wide() {
    let _alone = alone();
    for (what, piece) in [
        ("numbers", "0,"),
        ("floats", "1.5,"),
        ("texts", "\"\","),
        ("short texts", "\"a\","),
        ("lists", "[],"),
        ("lists of one", "[0],"),
        ("objects", "{},"),
        ("objects of one", "{\"\":0},"),
        ("objects in objects", "{\"\":{\"\":0}},"),
        ("nested lists", "[[[[0]]]],"),
    ] {
        let text = format!("[{}0]", piece.repeat((BODY - 3) / piece.len()));
        let _ = settled(what, || from_json(text.as_bytes()).map(drop));
    }
    let fields: String = (0..BODY / 12).map(|number| format!("\"{number:06}\":0,")).collect();
    let _ = settled("fields", || from_json(format!("{{{fields}\"\":0}}").as_bytes()).map(drop));
}

#[test]
fn long() {
    let _alone = alone();
    let text = format!("\"{}\"", "a".repeat(BODY - 2));
    assert!(settled("text", || from_json(text.as_bytes())).is_ok());
    let text = format!("\"{}\"", "\\u0000".repeat(BODY / 6 - 1));
    assert!(settled("escapes", || from_json(text.as_bytes())).is_ok());
    let text = format!("\"{}\"", "\\ud800".repeat(BODY / 6 - 1));
    assert!(settled("halves of characters", || from_json(text.as_bytes())).is_ok());
    let text = [&b"\""[..], &vec![0xff; BODY - 2], b"\""].concat();
    assert!(settled("no characters", || from_json(&text)).is_ok());
    let text = " ".repeat(BODY);
    assert_eq!(settled("space", || from_json(text.as_bytes())).unwrap_err(), DecodeError::UnexpectedEnd);
    let digits = "9".repeat(BODY);
    assert!(matches!(refused("digits", &digits), DecodeError::NumberOutOfRange { .. }));
    let exponent = format!("1e{}", "9".repeat(BODY - 2));
    assert!(matches!(refused("exponent", &exponent), DecodeError::NumberOutOfRange { .. }));
    let fraction = format!("0.{}1", "0".repeat(BODY - 3));
    let _ = settled("fraction", || from_json(fraction.as_bytes()).map(drop));
}

#[test]
fn repeated() {
    let _alone = alone();
    let text = format!("{{{}\"a\":0}}", "\"a\":0,".repeat(BODY / 6 - 2));
    let decoded = settled("one field many times", || from_json(text.as_bytes())).unwrap();
    assert_eq!(decoded.duplicates.len(), 1);
    let inner = "\"x\":{\"a\":1,\"a\":1},".repeat(20_000);
    let text = format!("{{\"{}\":{{{inner}\"y\":1}}}}", "k".repeat(1_500_000));
    assert!(settled("duplicates in a long name", || from_json(text.as_bytes())).is_ok());
}
