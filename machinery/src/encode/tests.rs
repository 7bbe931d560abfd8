use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};

use super::*;
use crate::decode::{from_json, from_yaml};

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn as_recorded() {
    let recorded: Value = serde_json::from_str(include_str!("../../../tests/data/go/encode.json")).unwrap();
    let cases = recorded["encode"].as_array().unwrap();
    assert!(cases.len() > 1000, "only {} cases", cases.len());
    let mut differences = Vec::new();
    for case in cases {
        let value = from_json(text(&case[0]).as_bytes()).unwrap().value;
        let compact = String::from_utf8(encode(MediaType::Json, Layout::Compact, &value)).unwrap();
        let pretty = String::from_utf8(encode(MediaType::Json, Layout::Pretty, &value)).unwrap();
        let yaml = to_yaml(&value);
        assert_eq!(compact, text(&case[1]));
        assert_eq!(pretty, text(&case[2]));
        assert_eq!(json_len(&value) + 1, compact.len());
        let again = from_yaml(yaml.as_bytes()).map(|decoded| decoded.value);
        assert_eq!(again.as_ref(), Ok(&whole_floats(&value)), "{yaml}");
        // Upstream reads its own JSON as YAML on the way, and fails on what YAML does not allow unescaped.
        let failed = text(&case[3]).starts_with("error: ");
        // In YAML 1.1 these three are line ends: upstream makes spaces of some and writes others as they are.
        let line_ends = [r"\N", r"\L", r"\P"].iter().any(|escape| yaml.contains(escape));
        // Upstream writes this key plainly, and then reads it as a merge.
        let merge = yaml.contains(r#""<<":"#);
        if yaml != text(&case[3]) && !(failed || line_ends || merge) {
            differences.push(format!("{}\n  go\n{}\n  ours\n{yaml}", case[0], text(&case[3])));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// What reading makes of a value: floating-point numbers without a fraction are whole, because they have no point.
fn whole_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let text = super::number::json_float(number.as_f64().unwrap());
            text.parse::<i64>().map_or_else(|_| value.clone(), Value::from)
        }
        Value::Array(items) => items.iter().map(whole_floats).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), whole_floats(value))).collect(),
        other => other.clone(),
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        "[-#:,?!&*|>'\"%@`{}~<=.\\[\\]\\\\]",
        "[a-z]{1,12}",
        "[0-9]{1,3}",
        Just("yes".to_owned()),
        Just("null".to_owned()),
        Just(": ".to_owned()),
        Just("- ".to_owned()),
        Just(" #".to_owned()),
        any::<char>().prop_map(String::from),
        "[\\x00-\\x20\\x7f-\\xa0]",
        Just("\u{2028}".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("some words that go on and on ".to_owned()),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |float| Number::from_f64(float).map(Value::Number)),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_is_read_as_it_was_written(value in any_value()) {
        let expected = whole_floats(&value);
        prop_assert_eq!(&from_json(&to_json(&value)).unwrap().value, &expected);
        prop_assert_eq!(&from_json(&to_json_pretty(&value)).unwrap().value, &expected);
        prop_assert_eq!(json_len(&value), to_json(&value).len());
        let mut whole = value;
        make_whole(&mut whole);
        prop_assert_eq!(&whole, &expected);
    }

    #[test]
    fn yaml_is_read_as_it_was_written(value in any_value()) {
        let yaml = to_yaml(&value);
        prop_assert_eq!(from_yaml(yaml.as_bytes()).map(|decoded| decoded.value), Ok(whole_floats(&value)), "{}", yaml);
    }
}

/// A number is what it is when it is read again, and is written as before, but for the sign of zero.
#[test]
fn numbers_without_a_fraction_are_whole() {
    for (float, expected) in [
        (1.0, json!(1)),
        (-0.0, json!(0)),
        (0.5, json!(0.5)),
        (-3e9, json!(-3_000_000_000_i64)),
        (9_007_199_254_740_991.0, json!(9_007_199_254_740_991_i64)),
        (2_f64.powi(60), json!(1_152_921_504_606_847_000_i64)),
        (1e19, json!(1e19)),
        (1e300, json!(1e300)),
    ] {
        let mut value = json!({"a": [{"b": float}]});
        make_whole(&mut value);
        assert_eq!(value, json!({"a": [{"b": expected}]}), "{float}");
    }
}

#[test]
fn html_is_escaped() {
    let value = json!({"<a>": "b & c\u{2028}\u{7f}\u{8}\u{c}\u{1}é"});
    let expected = "{\"\\u003ca\\u003e\":\"b \\u0026 c\\u2028\u{7f}\\b\\f\\u0001é\"}\n";
    assert_eq!(String::from_utf8(encode(MediaType::Json, Layout::Compact, &value)).unwrap(), expected);
}
