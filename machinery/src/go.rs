//! Values as Go prints them: the texts that Kubernetes' clients compare and its users know.

use std::io;

use serde::Serialize;
use serde_json::{Map, Number, Value};

/// A number as Kubernetes' decoder reads it: whole numbers that fit are integers, all others are floating.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum GoNumber {
    Int(i64),
    Float(f64),
}

// === impl GoNumber ===

impl GoNumber {
    pub(crate) fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(whole) => Self::Int(whole),
            None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "what Go's conversion does")]
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    /// As `%v` prints it.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Int(whole) => whole.to_string(),
            Self::Float(float) => general(float),
        }
    }
}

/// What `encoding/json` calls the type of a value.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Text in quotes, as `%q` prints it.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{07}' => quoted.push_str("\\a"),
            '\u{08}' => quoted.push_str("\\b"),
            '\u{0b}' => quoted.push_str("\\v"),
            '\u{0c}' => quoted.push_str("\\f"),
            c if is_printable(c) => quoted.push(c),
            c if c.is_ascii() => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if u32::from(c) < 0x1_0000 => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    quoted.push('"');
    quoted
}

/// `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space. The standard library knows these
/// as what it need not escape; the letter in front keeps it from escaping marks too, as it does at the start of a text.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let mut bytes = [b'a', 0, 0, 0, 0];
    let end = 1 + c.encode_utf8(&mut bytes[1..]).len();
    std::str::from_utf8(&bytes[..end]).is_ok_and(|text| text.escape_debug().nth(1) != Some('\\'))
}

/// JSON of something whose fields have an order of their own.
pub(crate) fn json_of(value: &impl Serialize) -> String {
    escaped_for_html(&serde_json::to_string(value).unwrap_or_default())
}

/// The same for errors, if it is short enough to be shown.
pub(crate) fn shown_json_of(value: &impl Serialize) -> Option<String> {
    let mut bounded = Bounded(Vec::new());
    serde_json::to_writer(&mut bounded, value).ok()?;
    String::from_utf8(bounded.0).ok().map(|json| escaped_for_html(&json))
}

/// What HTML and JavaScript could misread is escaped. Those characters stand in texts only, so they can be replaced
/// wherever they are.
fn escaped_for_html(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

/// How much of a value is shown in an error. Kubernetes writes fields that are absent, too, so that a small object can be
/// a long text.
const MAX_SHOWN_BYTES: usize = 256 << 10;

/// What is written, as long as it is not too much.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_SHOWN_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A floating number as `%v` prints it: `1`, `0.5`, `1e+06`.
pub(crate) fn general(float: f64) -> String {
    let Some((sign, digits, exponent)) = decimal(float) else {
        return special(float);
    };
    if (-4..GENERAL_EXPONENT).contains(&exponent) {
        return format!("{sign}{}", plain(&digits, exponent));
    }
    let mark = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{}e{mark}{:02}", mantissa(&digits), exponent.abs())
}

/// A value as `encoding/json` writes it for people: keys in order, `<`, `>` and `&` escaped, `1.0` as `1`.
pub(crate) fn json(value: &Value) -> String {
    let mut text = String::new();
    write_json(value, &mut text, Dialect::Standard);
    text
}

/// A text that two values share only if they are the [`same`].
pub(crate) fn identity(value: &Value) -> String {
    let mut text = String::new();
    write_json(value, &mut text, Dialect::Marked);
    text
}

/// Whether two values are the same to Go, where `1` and `1.0` are not.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    same_by(left, right, |left, right| GoNumber::of(left) == GoNumber::of(right))
}

/// Whether two values are the same, where it is said which numbers are.
pub(crate) fn same_by(left: &Value, right: &Value, same_number: fn(&Number, &Number) -> bool) -> bool {
    let same = |left: &Value, right: &Value| same_by(left, right, same_number);
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        (left, right) => left == right,
    }
}

/// The fields of a map by their names.
pub(crate) fn sorted(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut sorted: Vec<_> = fields.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    sorted
}

/// From this exponent on, `%v` writes an exponent.
const GENERAL_EXPONENT: i32 = 6;

/// Which JSON is written.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Dialect {
    /// That of `encoding/json`.
    Standard,
    /// The same, where `1.0` can be told from `1`.
    Marked,
    /// That of the library behind upstream's field sets: it has no short form for form feeds and backspaces, and its
    /// exponents have two digits at least.
    FieldSets,
}

/// What becomes of `<`, `>`, `&` and the separators of JavaScript.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Html {
    Plain,
    Escaped,
}

pub(crate) fn write_json(value: &Value, text: &mut String, dialect: Dialect) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => write_json_number(GoNumber::of(number), text, dialect),
        Value::String(string) => write_json_text(string, text, dialect, Html::Escaped),
        Value::Array(items) => {
            text.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                write_json(item, text, dialect);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            text.push('{');
            for (i, (name, field)) in sorted(fields).into_iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                write_json_text(name, text, dialect, Html::Escaped);
                text.push(':');
                write_json(field, text, dialect);
            }
            text.push('}');
        }
    }
}

pub(crate) fn write_json_text(string: &str, text: &mut String, dialect: Dialect, html: Html) {
    text.push('"');
    for c in string.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{08}' if dialect != Dialect::FieldSets => text.push_str("\\b"),
            '\u{0c}' if dialect != Dialect::FieldSets => text.push_str("\\f"),
            '\0'..='\u{1f}' => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if html == Html::Escaped => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text.push('"');
}

fn write_json_number(number: GoNumber, text: &mut String, dialect: Dialect) {
    let json = json_number(number);
    match (json.split_once("e-"), dialect, number) {
        (Some((digits, exponent)), Dialect::FieldSets, _) if exponent.len() == 1 => {
            text.push_str(&format!("{digits}e-0{exponent}"));
        }
        (_, Dialect::Marked, GoNumber::Float(_)) => {
            text.push_str(&json);
            text.push('f');
        }
        _ => text.push_str(&json),
    }
}

fn json_number(number: GoNumber) -> String {
    let float = match number {
        GoNumber::Int(whole) => return whole.to_string(),
        GoNumber::Float(float) => float,
    };
    let Some((sign, digits, exponent)) = decimal(float) else {
        return special(float);
    };
    if (-6..21).contains(&exponent) {
        return format!("{sign}{}", plain(&digits, exponent));
    }
    let mark = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{}e{mark}{}", mantissa(&digits), exponent.abs())
}

/// Sign, shortest digits and decimal exponent of the first of them; `None` for what has none.
fn decimal(float: f64) -> Option<(&'static str, String, i32)> {
    if !float.is_finite() {
        return None;
    }
    let text = format!("{:e}", float.abs());
    let (mantissa, exponent) = text.split_once('e')?;
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    Some((if float.is_sign_negative() { "-" } else { "" }, digits, exponent.parse().ok()?))
}

fn plain(digits: &str, exponent: i32) -> String {
    let Ok(whole) = usize::try_from(exponent) else {
        return format!("0.{:0>width$}", digits, width = digits.len() + exponent.unsigned_abs() as usize - 1);
    };
    match digits.split_at_checked(whole + 1) {
        Some((before, "")) => before.to_owned(),
        Some((before, after)) => format!("{before}.{after}"),
        None => format!("{digits:0<width$}", width = whole + 1),
    }
}

fn mantissa(digits: &str) -> String {
    match digits.split_at_checked(1) {
        Some((first, rest)) if !rest.is_empty() => format!("{first}.{rest}"),
        _ => digits.to_owned(),
    }
}

fn special(float: f64) -> String {
    match float {
        f if f.is_nan() => "NaN",
        f if f > 0.0 => "+Inf",
        _ => "-Inf",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_printed_as_go_prints_them() {
        for (float, as_v, as_json) in [
            (1.0, "1", "1"),
            (0.5, "0.5", "0.5"),
            (-1.25, "-1.25", "-1.25"),
            (1e6, "1e+06", "1000000"),
            (123_456.0, "123456", "123456"),
            (123_456_789.0, "1.23456789e+08", "123456789"),
            (1e20, "1e+20", "100000000000000000000"),
            (1e21, "1e+21", "1e+21"),
            (1e-4, "0.0001", "0.0001"),
            (1e-5, "1e-05", "0.00001"),
            (1.5e-7, "1.5e-07", "1.5e-7"),
            (0.0, "0", "0"),
        ] {
            assert_eq!(general(float), as_v);
            assert_eq!(json(&json!(float)), as_json);
        }
    }

    #[test]
    fn json_is_written_as_go_writes_it() {
        let value = json!({"b": ["<&>", 1.0, 2], "a": null});
        assert_eq!(json(&value), r#"{"a":null,"b":["\u003c\u0026\u003e",1,2]}"#);
    }
}
