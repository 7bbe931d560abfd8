use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// A recorded case: the input, and the value or the error, and what a strict reader says.
struct Case {
    input: Vec<u8>,
    value: String,
    error: String,
    strict: Vec<String>,
}

fn cases(section: &str) -> Vec<Case> {
    let recorded: Value = serde_json::from_str(include_str!("../../../tests/data/go/decode.json")).unwrap();
    let case = |case: &Value| Case {
        input: bytes(case[0].as_str().unwrap()),
        value: case[1].as_str().unwrap().to_owned(),
        error: case[2].as_str().unwrap().to_owned(),
        strict: case[3].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect(),
    };
    recorded[section].as_array().unwrap().iter().map(case).collect()
}

fn bytes(text: &str) -> Vec<u8> {
    match text.strip_prefix("x:") {
        None => text.as_bytes().to_vec(),
        Some(hex) => hex.as_bytes().chunks(2).map(|byte| u8::from_str_radix(ascii(byte), 16).unwrap()).collect(),
    }
}

fn ascii(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A value as the recorder writes it.
pub(crate) fn canon(value: &Value) -> String {
    fn quote(text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' | '\0'..='\x1f' | '\x7f'.. => write!(out, "<{:x}>", u32::from(c)).unwrap(),
                c => out.push(c),
            }
        }
        out.push('"');
    }
    fn walk(value: &Value, out: &mut String) {
        match value {
            Value::Number(number) if number.is_f64() => {
                let text = format!("{:e}", number.as_f64().unwrap());
                let (mantissa, exponent) = text.split_once('e').unwrap();
                let exponent: i32 = exponent.parse().unwrap();
                let sign = if exponent < 0 { '-' } else { '+' };
                write!(out, "f{mantissa}e{sign}{:02}", exponent.abs()).unwrap();
            }
            Value::Number(number) => write!(out, "i{number}").unwrap(),
            Value::String(text) => quote(text, out),
            Value::Array(items) => {
                out.push('[');
                for (position, item) in items.iter().enumerate() {
                    out.push_str(if position > 0 { "," } else { "" });
                    walk(item, out);
                }
                out.push(']');
            }
            Value::Object(fields) => {
                out.push('{');
                for (position, (key, value)) in fields.iter().enumerate() {
                    out.push_str(if position > 0 { "," } else { "" });
                    quote(key, out);
                    out.push(':');
                    walk(value, out);
                }
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
    }
    let mut out = String::new();
    walk(value, &mut out);
    out
}

#[test]
fn json_as_recorded() {
    let cases = cases("json");
    assert!(cases.len() > 2000, "only {} cases", cases.len());
    let mut differences = Vec::new();
    for case in cases {
        let decoded = from_json(&case.input);
        let (value, error, strict) = match &decoded {
            Ok(decoded) => (canon(&decoded.value), String::new(), decoded.problems()),
            Err(error) => (String::new(), error.to_string(), Vec::new()),
        };
        if (&value, &error, &strict) != (&case.value, &case.error, &case.strict) {
            let input = String::from_utf8_lossy(&case.input).into_owned();
            differences.push(format!(
                "{input:?}\n  go   {} {} {:?}\n  ours {value} {error} {strict:?}",
                case.value, case.error, case.strict
            ));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// What YAML means is as upstream has it; what is YAML is not always: go-yaml reads version 1.1 with mistakes of its own,
/// and ours is a reader of version 1.2. The file names each recorded case in which that shows, with the reason.
#[test]
fn yaml_as_recorded() {
    let cases = cases("yaml");
    assert!(cases.len() > 2000, "only {} cases", cases.len());
    let explained: BTreeMap<String, Vec<String>> =
        serde_json::from_str(include_str!("../../../tests/data/yaml-differences.json")).unwrap();
    let mut explained: BTreeSet<Vec<u8>> = explained.into_values().flatten().map(|input| bytes(&input)).collect();
    let mut differences = Vec::new();
    for case in cases {
        let decoded = from_yaml(&case.input);
        let (value, error, strict) = match &decoded {
            Ok(decoded) => (canon(&decoded.value), String::new(), decoded.problems()),
            Err(error) => (String::new(), error.to_string(), Vec::new()),
        };
        if (&value, error.is_empty(), &strict) != (&case.value, case.error.is_empty(), &case.strict)
            && !explained.remove(&case.input)
        {
            let input = String::from_utf8_lossy(&case.input).into_owned();
            differences.push(format!(
                "{input:?}\n  go   {} {} {:?}\n  ours {value} {error} {strict:?}",
                case.value, case.error, case.strict
            ));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(explained.is_empty(), "these do not differ: {explained:?}");
}

#[test]
fn field_validation() {
    let decoded = from_json(br#"{"spec":{"replicas":1,"replicas":2}}"#).unwrap();
    let unknown = ["spec.foo".to_owned()];
    let apply = |validation: FieldValidation| validation.apply(decoded.problems(), &unknown);
    assert_eq!(apply(FieldValidation::Ignore).unwrap(), Vec::<String>::new());
    let warnings = [r#"duplicate field "spec.replicas""#, r#"unknown field "spec.foo""#];
    assert_eq!(apply(FieldValidation::Warn).unwrap(), warnings);
    assert_eq!(
        apply(FieldValidation::Strict).unwrap_err().to_string(),
        r#"strict decoding error: duplicate field "spec.replicas", unknown field "spec.foo""#
    );
    assert_eq!(FieldValidation::Strict.apply(Vec::new(), &[]).unwrap(), Vec::<String>::new());
    for (text, validation) in
        [("", Some(FieldValidation::Warn)), ("Strict", Some(FieldValidation::Strict)), ("x", None)]
    {
        assert_eq!(FieldValidation::parse(text), validation);
    }
}

#[test]
fn yaml_duplicates_have_paths_too() {
    let decoded = from_yaml(b"spec:\n  parts:\n  - name: a\n    name: b\n").unwrap();
    assert_eq!(decoded.duplicates[0].path, "spec.parts[0].name");
    assert_eq!(decoded.problems(), ["yaml: unmarshal errors:\n  line 4: key \"name\" already set in map"]);
}

#[test]
fn objects_only() {
    let error = |text: &[u8]| from_json(text).unwrap().into_object().unwrap_err().to_string();
    assert_eq!(error(b"[]"), "json: cannot unmarshal array into Go value of type map[string]interface {}");
    assert_eq!(error(b"1"), "json: cannot unmarshal number into Go value of type map[string]interface {}");
    let (object, duplicates) = decode(MediaType::Yaml, b"kind: A\nkind: B").unwrap().into_object().unwrap();
    assert_eq!((object.kind(), duplicates.len()), ("B", 1));
    assert!(decode(MediaType::Protobuf, b"").is_err());
}

pub(crate) fn quickly<T>(what: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = what();
    // Unoptimised code on a busy machine is no measure of anything but loops that do not end.
    let most = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 1 });
    assert!(start.elapsed() < most, "took {:?}", start.elapsed());
    result
}

#[test]
fn depth_is_bounded() {
    let lists = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth)).into_bytes();
    let block =
        |depth: usize| (0..depth).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<String>().into_bytes();
    let dashes = |depth: usize| "- ".repeat(depth).into_bytes();
    for (depth, allowed) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false)] {
        assert_eq!(from_json(&lists(depth)).is_ok(), allowed);
        for text in [lists(depth), block(depth), dashes(depth)] {
            assert_eq!(from_yaml(&text).is_ok(), allowed, "{:?}", from_yaml(&text));
        }
    }
    assert_eq!(from_json(&lists(200)).unwrap_err().to_string(), "invalid character '[' exceeded max depth");
    for text in [
        "[".repeat(1_500_000),
        r#"{"a":"#.repeat(500_000),
        "{".repeat(1_500_000),
        "- ".repeat(1_000_000),
        "? ".repeat(1_000_000),
    ] {
        assert!(quickly(|| from_json(text.as_bytes())).is_err());
        assert!(quickly(|| from_yaml(text.as_bytes())).is_err());
    }
    // What is at the limit can be read by others.
    serde_json::from_slice::<Value>(&lists(MAX_DEPTH)).unwrap();
}

#[test]
fn aliases_are_bounded() {
    let laughs: String = std::iter::once("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned())
        .chain((1..10).map(|level| {
            let item = format!("*a{}", level - 1);
            format!("a{level}: &a{level} [{}]\n", [item.as_str(); 9].join(", "))
        }))
        .collect();
    assert_eq!(quickly(|| from_yaml(laughs.as_bytes())).unwrap_err(), DecodeError::ExcessiveAliasing);

    let merges: String = std::iter::once("a0: &a0 {x: 1, y: 2}\n".to_owned())
        .chain((1..30).map(|level| format!("a{level}: &a{level} {{<<: [*a{0}, *a{0}, *a{0}]}}\n", level - 1)))
        .collect();
    assert_eq!(quickly(|| from_yaml(merges.as_bytes())).unwrap_err(), DecodeError::ExcessiveAliasing);

    // One long text, and many aliases to it: few nodes and many bytes.
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), vec!["*a"; 100_000].join(", "));
    assert_eq!(quickly(|| from_yaml(long.as_bytes())).unwrap_err(), DecodeError::ExcessiveAliasing);

    let once = format!("a: &a {}\nb: *a\n", "x".repeat(MAX_ALIASED - 32));
    assert!(from_yaml(once.as_bytes()).is_ok());
    let once = format!("a: &a {}\nb: *a\n", "x".repeat(MAX_ALIASED - 31));
    assert_eq!(from_yaml(once.as_bytes()).unwrap_err(), DecodeError::ExcessiveAliasing);

    assert_eq!(from_yaml(b"a: &a [*a]").unwrap_err().to_string(), "yaml: anchor 'a' value contains itself");
    assert_eq!(from_yaml(b"a: *b").unwrap_err().to_string(), "yaml: unknown anchor 'b' referenced");

    let anchors: String = (0..50_000).map(|number| format!("- &a{number} x\n")).collect();
    assert!(quickly(|| from_yaml(anchors.as_bytes())).is_ok());
    let deep: String = std::iter::once("a0: &a0 [1]\n".to_owned())
        .chain((1..200).map(|level| format!("a{level}: &a{level} [*a{}]\n", level - 1)))
        .collect();
    assert_eq!(quickly(|| from_yaml(deep.as_bytes())).unwrap_err(), DecodeError::YamlTooDeep);
}

/// A list of the smallest objects is the dearest: as many as there is memory for, and one more.
#[test]
fn values_are_bounded() {
    let list = |count: usize| format!("[{}0]", "{\"\":0},".repeat(count));
    // Each object is an item, and has room for fields and a key of no bytes.
    let most = (MAX_DECODED - 96 - 64) / (96 + 640 + 16);
    assert!(quickly(|| from_json(list(most).as_bytes())).is_ok());
    assert_eq!(quickly(|| from_json(list(most + 1).as_bytes())).unwrap_err(), DecodeError::TooManyValues);
    assert!(quickly(|| from_yaml(list(most / 4).as_bytes())).is_ok());
    assert_eq!(quickly(|| from_yaml(list(most).as_bytes())).unwrap_err(), DecodeError::TooManyValues);
}

#[test]
fn duplicates_are_bounded() {
    let many: String = (0..1000).map(|number| format!("\"a{number}\":1,\"a{number}\":2,")).collect();
    let decoded = from_json(format!("{{{many}\"z\":1}}").as_bytes()).unwrap();
    assert_eq!(decoded.duplicates.len(), MAX_PROBLEMS);
    // The same ones again and again inside of a long name.
    let inner = r#""x":{"a":1,"a":1},"#.repeat(20_000);
    let text = format!(r#"{{"{}":{{{inner}"y":1}}}}"#, "k".repeat(1_500_000));
    let decoded = quickly(|| from_json(text.as_bytes()).unwrap());
    assert!(decoded.duplicates.iter().all(|duplicate| duplicate.path.len() < MAX_PATH + 16));
}

#[test]
fn nasty_texts() {
    let number = format!("1e{}", "9".repeat(1_000_000));
    let error = quickly(|| from_json(number.as_bytes())).unwrap_err().to_string();
    assert!(error.len() < 200, "{error}");
    let digits = "9".repeat(2_000_000);
    assert!(quickly(|| from_json(digits.as_bytes())).is_err());
    assert_eq!(quickly(|| from_yaml(digits.as_bytes())).unwrap().value, Value::from(digits));
    assert_eq!(from_json(br#""\ud800""#).unwrap().value, Value::from("\u{fffd}"));
    assert_eq!(from_json(br#""\u0000""#).unwrap().value, Value::from("\0"));
    assert_eq!(
        from_json(b"\xef\xbb\xbf{}").unwrap_err().to_string(),
        "invalid character 'ï' looking for beginning of value"
    );
    assert_eq!(from_yaml(b"a: \0").unwrap_err().to_string(), "yaml: control characters are not allowed");
    let halves = r"\ud800".repeat(400_000);
    assert!(quickly(|| from_json(format!("\"{halves}\"").as_bytes())).is_ok());
    let broken = vec![0xff_u8; 2_000_000];
    assert!(quickly(|| from_json(&[b"\"", broken.as_slice(), b"\""].concat())).is_ok());
    for text in [
        "a: b\n".repeat(200_000),
        "[a, ".repeat(100),
        "a ".repeat(1_000_000),
        "\n".repeat(500_000),
        "#\n".repeat(300_000),
        "!".repeat(1_000_000),
        "&a ".repeat(500_000),
        "*a ".repeat(500_000),
        "{a: ".repeat(20_000),
        "'".repeat(1_000_001),
        "\"\\".repeat(500_000),
        "|\n".repeat(500_000),
        "? a\n".repeat(200_000),
        "--- a\n".repeat(300_000),
        ": ".repeat(500_000),
        "%TAG ! x\n".repeat(100_000),
        "a:\n - ".repeat(30_000),
        "[".repeat(100) + &"a,".repeat(200_000),
        format!("{{{}}}", "a: 1, ".repeat(100_000)),
        "\"".to_owned() + &"a\n".repeat(500_000),
    ] {
        let _ = quickly(|| from_yaml(text.as_bytes()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_never_panics(text in prop::collection::vec(prop_oneof![
        Just(b'"'), Just(b'\\'), Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b','), Just(b':'), Just(b'u'), Just(b'1'), any::<u8>(),
    ], 0..40)) {
        let decoded = from_json(&text);
        // A reader of JSON that was written by others agrees on what is JSON, but for texts that are no UTF-8, for
        // halves of characters and for numbers that are too large.
        if serde_json::from_slice::<Value>(&text).is_ok() {
            prop_assert!(decoded.is_ok());
        }
    }

    #[test]
    fn yaml_never_panics(text in "([ \\n:\\-\\[\\]{},#&*!|>'\"%@?a0~<.]|yes|!!int|\\PC|[\\x00-\\xff]){0,30}") {
        let _ = from_yaml(text.as_bytes());
    }

    #[test]
    fn bytes_never_panic(text in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = from_yaml(&text);
    }

    /// JSON is YAML, with the same meaning.
    #[test]
    fn json_is_yaml(value in crate::encode::tests::any_value()) {
        let text = crate::encode::to_json(&value);
        // DEL and the controls above it may stand in JSON as they are and in YAML not, and some are line ends there; a
        // key has a limit in YAML; and a merge is a merge.
        let plain = std::str::from_utf8(&text).unwrap().chars().all(|c| c < '\u{7f}' || (c > '\u{9f}' && c < '\u{2028}'));
        if plain && !text.windows(4).any(|window| window == b"\"<<\"") {
            prop_assert_eq!(from_yaml(&text).map(|decoded| decoded.value), from_json(&text).map(|decoded| decoded.value));
        }
    }
}
