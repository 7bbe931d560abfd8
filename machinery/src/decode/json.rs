//! JSON, read as sigs.k8s.io/json reads it into an untyped value.
//!
//! The reader keeps its own stack. Syntax errors come before numbers that are out of range, because upstream checks the
//! syntax of the whole text first.

use std::collections::BTreeSet;

use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::budget::Budget;
use super::{DecodeError, Decoded, Duplicate, MAX_DEPTH, MAX_PROBLEMS};

/// The most bytes of a path that are told. Without it, a long key around many duplicates makes many long texts.
pub(crate) const MAX_PATH: usize = 1024;

/// Reads one JSON value.
pub fn from_json(text: &[u8]) -> Result<Decoded, DecodeError> {
    let mut reader = Reader {
        text,
        position: 0,
        open: Vec::new(),
        budget: Budget::new(),
        duplicates: Duplicates::default(),
        out_of_range: None,
    };
    let value = reader.document()?;
    match reader.out_of_range {
        Some(error) => Err(error),
        None => Ok(Decoded { value, duplicates: reader.duplicates.found }),
    }
}

/// The fields of a value that must be an object.
pub(crate) fn object_or_error(value: Value) -> Result<Map<String, Value>, DecodeError> {
    let found = match value {
        Value::Object(fields) => return Ok(fields),
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    };
    Err(DecodeError::NotAnObject { found })
}

/// Text of any bytes: each byte that is no part of a character becomes U+FFFD, as Go does it.
pub(crate) fn sound_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    push_sound(&mut text, bytes);
    text
}

struct Reader<'t> {
    text: &'t [u8],
    position: usize,
    open: Vec<Open>,
    budget: Budget,
    duplicates: Duplicates,
    out_of_range: Option<DecodeError>,
}

/// A list or an object whose end has not been reached.
enum Open {
    List(Vec<Value>),
    Object { fields: Map<String, Value>, key: String },
}

/// What follows.
enum Next {
    /// A value; after `[`, the end of the list as well.
    Value { or_end: bool },
    /// A key; after `{`, the end of the object as well.
    Key { or_end: bool },
    /// What comes after a value.
    After(Value),
}

#[derive(Default)]
struct Duplicates {
    found: Vec<Duplicate>,
    seen: BTreeSet<String>,
}

// === impl Reader ===

impl Reader<'_> {
    fn document(&mut self) -> Result<Value, DecodeError> {
        let mut next = Next::Value { or_end: false };
        loop {
            next = match next {
                Next::Value { or_end } => self.value(or_end)?,
                Next::Key { or_end } => self.key(or_end)?,
                Next::After(value) => match self.open.pop() {
                    None => {
                        self.skip_space();
                        return match self.peek() {
                            None => Ok(value),
                            Some(found) => Err(unexpected(found, "after top-level value")),
                        };
                    }
                    Some(open) => self.after(open, value)?,
                },
            };
        }
    }

    fn value(&mut self, or_end: bool) -> Result<Next, DecodeError> {
        self.skip_space();
        let value = match self.peek().ok_or(DecodeError::UnexpectedEnd)? {
            b']' if or_end => {
                self.position += 1;
                match self.open.pop() {
                    Some(Open::List(items)) => return Ok(Next::After(Value::Array(items))),
                    _ => return Err(unexpected(b']', "looking for beginning of value")),
                }
            }
            b'[' => {
                self.open(Open::List(Vec::new()), b'[')?;
                return Ok(Next::Value { or_end: true });
            }
            b'{' => {
                self.open(Open::Object { fields: Map::new(), key: String::new() }, b'{')?;
                return Ok(Next::Key { or_end: true });
            }
            b'"' => Value::String(self.string()?),
            b't' => {
                let expected = [
                    "",
                    "in literal true (expecting 'r')",
                    "in literal true (expecting 'u')",
                    "in literal true (expecting 'e')",
                ];
                self.word(b"true", expected)?;
                Value::Bool(true)
            }
            b'f' => {
                let expected = [
                    "",
                    "in literal false (expecting 'a')",
                    "in literal false (expecting 'l')",
                    "in literal false (expecting 's')",
                    "in literal false (expecting 'e')",
                ];
                self.word(b"false", expected)?;
                Value::Bool(false)
            }
            b'n' => {
                let expected = [
                    "",
                    "in literal null (expecting 'u')",
                    "in literal null (expecting 'l')",
                    "in literal null (expecting 'l')",
                ];
                self.word(b"null", expected)?;
                Value::Null
            }
            b'-' | b'0'..=b'9' => self.number()?,
            found => return Err(unexpected(found, "looking for beginning of value")),
        };
        Ok(Next::After(value))
    }

    fn key(&mut self, or_end: bool) -> Result<Next, DecodeError> {
        self.skip_space();
        match self.peek().ok_or(DecodeError::UnexpectedEnd)? {
            b'}' if or_end => {
                self.position += 1;
                match self.open.pop() {
                    Some(Open::Object { fields, .. }) => return Ok(Next::After(Value::Object(fields))),
                    _ => return Err(unexpected(b'}', "looking for beginning of object key string")),
                }
            }
            b'"' => {}
            found => return Err(unexpected(found, "looking for beginning of object key string")),
        }
        let name = self.string()?;
        self.skip_space();
        match self.peek().ok_or(DecodeError::UnexpectedEnd)? {
            b':' => self.position += 1,
            found => return Err(unexpected(found, "after object key")),
        }
        let taken = match self.open.last_mut() {
            Some(Open::Object { fields, key }) => {
                let taken = fields.contains_key(&name);
                *key = name;
                taken
            }
            _ => false,
        };
        if taken && self.duplicates.found.len() < MAX_PROBLEMS {
            let path = path(&self.open);
            self.duplicates.push(path);
        }
        Ok(Next::Value { or_end: false })
    }

    /// After a value inside of what is open.
    fn after(&mut self, open: Open, value: Value) -> Result<Next, DecodeError> {
        self.skip_space();
        let byte = self.peek();
        self.position += 1;
        match open {
            Open::List(mut items) => {
                self.budget.item(items.len())?;
                items.push(value);
                match byte.ok_or(DecodeError::UnexpectedEnd)? {
                    b',' => {
                        self.open.push(Open::List(items));
                        Ok(Next::Value { or_end: false })
                    }
                    b']' => Ok(Next::After(Value::Array(items))),
                    found => Err(unexpected(found, "after array element")),
                }
            }
            Open::Object { mut fields, key } => {
                self.budget.field(fields.len())?;
                match fields.entry(key) {
                    Entry::Vacant(place) => drop(place.insert(value)),
                    Entry::Occupied(mut place) => drop(place.insert(value)),
                }
                match byte.ok_or(DecodeError::UnexpectedEnd)? {
                    b',' => {
                        self.open.push(Open::Object { fields, key: String::new() });
                        Ok(Next::Key { or_end: false })
                    }
                    b'}' => Ok(Next::After(Value::Object(fields))),
                    found => Err(unexpected(found, "after object key:value pair")),
                }
            }
        }
    }

    fn open(&mut self, open: Open, found: u8) -> Result<(), DecodeError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(unexpected(found, "exceeded max depth"));
        }
        self.position += 1;
        self.open.push(open);
        Ok(())
    }

    fn word<const N: usize>(&mut self, word: &[u8; N], expected: [&'static str; N]) -> Result<(), DecodeError> {
        for (want, expected) in word.iter().zip(expected) {
            let found = self.peek_or_space();
            if found != *want {
                return Err(unexpected(found, expected));
            }
            self.position += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, DecodeError> {
        let start = self.position;
        if self.peek_or_space() == b'-' {
            self.position += 1;
        }
        match self.peek_or_space() {
            b'0' => self.position += 1,
            b'1'..=b'9' => self.skip_digits(),
            found => return Err(unexpected(found, "in numeric literal")),
        }
        if self.peek_or_space() == b'.' {
            self.position += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek_or_space(), b'e' | b'E') {
            self.position += 1;
            if matches!(self.peek_or_space(), b'+' | b'-') {
                self.position += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        let text = self.text.get(start..self.position).and_then(|digits| std::str::from_utf8(digits).ok());
        let text = text.unwrap_or_default();
        Ok(number(text).map_or_else(
            || {
                let number = super::yaml::cut(text, 64);
                self.out_of_range.get_or_insert(DecodeError::NumberOutOfRange { number });
                Value::Null
            },
            Value::Number,
        ))
    }

    fn digits(&mut self, expected: &'static str) -> Result<(), DecodeError> {
        match self.peek_or_space() {
            b'0'..=b'9' => self.skip_digits(),
            found => return Err(unexpected(found, expected)),
        }
        Ok(())
    }

    fn skip_digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
    }

    /// A string, from its first quote to behind its last.
    fn string(&mut self) -> Result<String, DecodeError> {
        self.position += 1;
        let mut text = String::new();
        loop {
            let rest = self.text.get(self.position..).unwrap_or_default();
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(rest.len());
            let (run, _) = rest.split_at(plain);
            push_sound(&mut text, run);
            self.position += plain;
            match self.peek().ok_or(DecodeError::UnexpectedEnd)? {
                b'"' => {
                    self.position += 1;
                    self.budget.text(text.len())?;
                    return Ok(text);
                }
                b'\\' => {
                    self.position += 1;
                    let c = self.escape()?;
                    text.push(c);
                }
                found => return Err(unexpected(found, "in string literal")),
            }
        }
    }

    /// What follows a backslash. Half of a surrogate pair becomes U+FFFD.
    fn escape(&mut self) -> Result<char, DecodeError> {
        let found = self.peek_or_space();
        let c = match found {
            b'"' | b'\\' | b'/' => char::from(found),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.position += 1;
                let first = self.hex()?;
                return Ok(match char::from_u32(first) {
                    Some(c) => c,
                    None => self.second_half(first).unwrap_or(char::REPLACEMENT_CHARACTER),
                });
            }
            found => return Err(unexpected(found, "in string escape code")),
        };
        self.position += 1;
        Ok(c)
    }

    fn hex(&mut self) -> Result<u32, DecodeError> {
        let mut code = 0;
        for _ in 0..4 {
            let found = self.peek_or_space();
            let digit = char::from(found).to_digit(16);
            code = code * 16 + digit.ok_or_else(|| unexpected(found, "in \\u hexadecimal character escape"))?;
            self.position += 1;
        }
        Ok(code)
    }

    /// The character of a surrogate pair whose second half follows. If none follows, nothing is consumed.
    fn second_half(&mut self, first: u32) -> Option<char> {
        let [b'\\', b'u', digits @ ..] = self.text.get(self.position..self.position + 6)? else { return None };
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        let second = u16::from_str_radix(digits, 16).ok()?;
        let pair = [u16::try_from(first).ok()?, second];
        let c = char::decode_utf16(pair).next()?.ok()?;
        self.position += 6;
        Some(c)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.position += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    /// Upstream ends the text with a space where a word, a number or an escape is cut off.
    fn peek_or_space(&self) -> u8 {
        self.peek().unwrap_or(b' ')
    }
}

// === impl Duplicates ===

impl Duplicates {
    fn push(&mut self, path: String) {
        if self.seen.insert(path.clone()) {
            self.found.push(Duplicate { path, yaml: None });
        }
    }
}

/// The path of the field that is being read.
fn path(open: &[Open]) -> String {
    let mut path = String::new();
    for level in open {
        match level {
            Open::List(items) => path.push_str(&format!("[{}]", items.len())),
            Open::Object { key, .. } => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&super::yaml::cut(key, MAX_PATH));
            }
        }
        if path.len() > MAX_PATH {
            return super::yaml::cut(&path, MAX_PATH);
        }
    }
    path
}

/// A whole number of 64 bits stays one unless it has a point; anything else becomes a floating-point number.
pub(super) fn number(text: &str) -> Option<Number> {
    if !text.contains('.')
        && let Ok(whole) = text.parse::<i64>()
    {
        return Some(whole.into());
    }
    Number::from_f64(text.parse::<f64>().ok()?)
}

fn unexpected(found: u8, expected: &'static str) -> DecodeError {
    DecodeError::UnexpectedByte { found, expected }
}

fn push_sound(text: &mut String, mut bytes: &[u8]) {
    loop {
        match std::str::from_utf8(bytes) {
            Ok(sound) => return text.push_str(sound),
            Err(error) => {
                let (sound, rest) = bytes.split_at(error.valid_up_to());
                text.push_str(std::str::from_utf8(sound).unwrap_or_default());
                text.push(char::REPLACEMENT_CHARACTER);
                bytes = rest.get(1..).unwrap_or_default();
            }
        }
    }
}
