//! Numbers and texts at the edges: taken exactly, or refused.

use bailiwick_machinery::decode::{DecodeError, from_json, from_yaml};
use bailiwick_machinery::name::{annotation_key, label_value, qualified_name};
use bailiwick_machinery::{Quantity, QuantityError};
use serde_json::{Value, json};

use super::measure::{alone, settled};

#[test]
fn numbers() {
    let _alone = alone();
    let read = |text: &str| from_json(text.as_bytes()).map(|decoded| decoded.value);
    for text in ["9223372036854775807", "-9223372036854775808", "0", "-1"] {
        assert_eq!(read(text), Ok(text.parse::<i64>().unwrap().into()), "{text}");
    }
    for text in ["9223372036854775808", "18446744073709551616", "-9223372036854775809", "0.1", "1e300", "1e-400"] {
        assert_eq!(read(text), Ok(text.parse::<f64>().unwrap().into()), "{text}");
    }
    assert_eq!(read("-0").map(|value| value.as_i64()), Ok(Some(0)));
    for text in ["1e999999", "-1e999999", "1e309", &"9".repeat(400)] {
        assert!(matches!(read(text), Err(DecodeError::NumberOutOfRange { .. })), "{text}");
    }
    for text in ["NaN", "Infinity", "+1", "01", ".5", "1.", "0x1", "1_000", "--1", "1e", "-"] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn quantities() {
    let _alone = alone();
    let parse = |text: &str| settled("quantity", || Quantity::parse(text));
    for (text, written) in [
        ("0.1", "100m"),
        ("-0", "0"),
        ("1e999999", ""),
        ("1e-999999", "1e-9"),
        ("1e-2147483648", "1e-9"),
        ("1e2147483647", ""),
        ("1e99999999999999999999", ""),
        ("0.0000000001", "1n"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("8Ei", "9223372036854775807"),
        ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
        ("999999999999999999999999999999999999999", ""),
        (&"1Ei".repeat(1000), ""),
        (&"9".repeat(1 << 20), ""),
        (&format!("0.{}1", "0".repeat(1 << 20)), "1n"),
        ("NaN", ""),
    ] {
        let shown = &text[..text.len().min(60)];
        match parse(text) {
            Ok(quantity) => {
                let canonical = settled("canonical", || quantity.canonical());
                assert_eq!(Quantity::parse(&canonical).as_ref(), Ok(&quantity), "{shown}");
                assert_eq!(canonical, written, "{shown}");
            }
            Err(error) => assert_eq!(written, "", "{shown} was refused: {error}"),
        }
    }
    assert_eq!(parse("1e10001"), Err(QuantityError::OutOfRange));
}

#[test]
fn texts() {
    let _alone = alone();
    let read = |text: &[u8]| from_json(text).map(|decoded| decoded.value);
    assert_eq!(read(br#""\u0000""#), Ok(json!("\0")));
    for half in [&br#""\ud800""#[..], br#""\udc00""#, b"\"\xff\"", b"\"\xc0\""] {
        assert_eq!(read(half), Ok(json!("\u{fffd}")), "{half:?}");
    }
    assert_eq!(read(br#""\ud83d\ude00""#), Ok(json!("\u{1f600}")));
    assert!(matches!(read(b"\xef\xbb\xbf{}"), Err(DecodeError::UnexpectedByte { found: 0xef, .. })));
    assert!(matches!(read(b"\0"), Err(DecodeError::UnexpectedByte { found: 0, .. })));
    assert!(read(b"\"\n\"").is_err() && read(b"{}\0").is_err());
    assert_eq!(from_yaml(b"\"\\u0000\"").map(|decoded| decoded.value), Ok(Value::from("\0")));
}

#[test]
fn names() {
    let _alone = alone();
    let long = "a".repeat(64 * 1024);
    for rule in [label_value, qualified_name, annotation_key] {
        for text in [&long, "a\0b", "\u{202e}a", "а", "a/b/c", "..", "%2e%2e", "a b", "\u{feff}a"] {
            assert!(!settled("a name", || rule(text)).is_empty(), "{text} is a name");
        }
    }
    let dots = ".".repeat(1 << 20);
    assert!(!settled("dots", || qualified_name(&dots)).is_empty());
}
