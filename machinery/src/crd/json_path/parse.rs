//! From text to a path.

use serde_json::Value;
use thiserror::Error;

use super::{Filter, JsonPath, Operator, Slice, SliceEnd, Step};

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path:?} is no JSONPath: {reason} at byte {at}")]
pub struct JsonPathError {
    /// The text.
    pub path: String,
    /// Where it ends to be a path.
    pub at: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

// === impl JsonPath ===

impl JsonPath {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        let mut parser = Parser { text, at: 0 };
        parser.path().map_err(|reason| JsonPathError { path: text.to_owned(), at: parser.at, reason })
    }

    fn parse_part(text: &str) -> Result<Self, &'static str> {
        Parser { text, at: 0 }.path()
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

// === impl Parser ===

impl<'t> Parser<'t> {
    /// All steps. A closing brace ends a path: what comes after it is shown elsewhere, not in columns.
    fn path(&mut self) -> Result<JsonPath, &'static str> {
        let mut steps = Vec::new();
        loop {
            let rest = self.rest();
            let Some(first) = rest.chars().next() else {
                return Ok(JsonPath(steps));
            };
            match first {
                '}' => return Ok(JsonPath(steps)),
                ' ' | '@' | '$' => self.at += 1,
                '[' if rest.starts_with("[?(") => steps.push(self.filter()?),
                '[' => self.brackets(&mut steps)?,
                '.' if rest.starts_with("..") => {
                    if steps.last() == Some(&Step::Below) {
                        return Err("there are four points");
                    }
                    self.at += 2;
                    steps.push(Step::Below);
                    if self.rest().starts_with(is_alphanumeric) {
                        steps.push(self.field());
                    }
                }
                '.' => {
                    self.at += 1;
                    steps.push(self.field());
                }
                '"' | '\'' => steps.push(Step::Literal(self.quoted(first)?.into())),
                '+' | '-' => steps.push(self.number()?),
                digit if digit.is_numeric() => steps.push(self.number()?),
                letter if is_alphanumeric(letter) => steps.push(self.word()),
                _ => return Err("there is a character that means nothing"),
            }
        }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> &'t str {
        let taken = self.rest().get(..length).unwrap_or_default();
        self.at += length;
        taken
    }

    fn field(&mut self) -> Step {
        let mut letters = self.rest().char_indices();
        let mut length = self.rest().len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => drop(letters.next()),
                letter if is_terminator(letter) => {
                    length = at;
                    break;
                }
                _ => {}
            }
        }
        match self.take(length) {
            "*" => Step::All,
            name => Step::Field(name.replace('\\', "")),
        }
    }

    fn word(&mut self) -> Step {
        let length = self.rest().find(is_terminator).unwrap_or(self.rest().len());
        match self.take(length) {
            "true" => Step::Literal(true.into()),
            "false" => Step::Literal(false.into()),
            _ => Step::Word,
        }
    }

    fn number(&mut self) -> Result<Step, &'static str> {
        let rest = self.rest();
        let sign = usize::from(rest.starts_with(['+', '-']));
        let digits = rest.get(sign..).unwrap_or_default();
        let end = digits.find(|c: char| c != '.' && !c.is_numeric()).unwrap_or(digits.len());
        let text = self.take(sign + end);
        let plain = text.strip_prefix('+').unwrap_or(text);
        if let Ok(whole) = plain.parse::<i64>() {
            return Ok(Step::Literal(whole.into()));
        }
        let float = plain.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
        float.map(|float| Step::Literal(Value::Number(float))).ok_or("there is no number")
    }

    fn quoted(&mut self, quote: char) -> Result<String, &'static str> {
        let rest = self.rest();
        let mut before = quote;
        for (at, letter) in rest.char_indices().skip(1) {
            match letter {
                '\n' => break,
                letter if letter == quote && before != '\\' => {
                    let inner = self.take(at + 1).get(1..at).unwrap_or_default();
                    return unescape(inner, quote).ok_or("there is an escape that means nothing");
                }
                letter => before = letter,
            }
        }
        Err("a quote has no end")
    }

    fn brackets(&mut self, steps: &mut Vec<Step>) -> Result<(), &'static str> {
        let end = self.rest().find([']', '\n']).filter(|at| self.rest().as_bytes().get(*at) == Some(&b']'));
        let length = end.ok_or("a bracket has no end")?;
        let inner = self.take(length + 1).get(1..length).unwrap_or_default();
        if inner.contains(',') {
            let one = |part: &str| JsonPath::parse_part(&format!("[{}]", part.trim_matches(' ')));
            steps.push(Step::Union(inner.split(',').map(one).collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = inner.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        if let Some(key) = key.filter(|key| !key.contains('\'')) {
            steps.extend(JsonPath::parse_part(&format!(".{key}"))?.0);
            return Ok(());
        }
        steps.push(Step::Items(slice(inner).ok_or("there is no index")?));
        Ok(())
    }

    fn filter(&mut self) -> Result<Step, &'static str> {
        let start = "[?(".len();
        let rest = self.rest();
        let mut quotes = None;
        let mut closed = false;
        let mut before = '(';
        for (at, letter) in rest.char_indices().skip(start) {
            match (quotes, letter) {
                (_, '\n') => break,
                (None, '"' | '\'') => quotes = Some(letter),
                (Some(quote), letter) if letter == quote && before != '\\' => closed = true,
                (quotes, ')') if quotes.is_some() == closed => {
                    if rest.as_bytes().get(at + 1) != Some(&b']') {
                        return Err("a filter has no end");
                    }
                    let inner = self.take(at + 2).get(start..at).unwrap_or_default();
                    return condition(inner).map(Step::Where);
                }
                _ => {}
            }
            before = letter;
        }
        Err("a filter has no end")
    }
}

/// What stands in a filter: two paths and an operator, or one path.
fn condition(text: &str) -> Result<Filter, &'static str> {
    let is_sign = |c: char| matches!(c, '!' | '<' | '>' | '=');
    let left = text.find(is_sign).filter(|at| *at > 0);
    let split = left.and_then(|left| {
        let signs = text.get(left..)?;
        let length = signs.find(|c| !is_sign(c)).unwrap_or(signs.len());
        // To the right there is something, if need be the last sign.
        let length = if length == signs.len() { length - 1 } else { length };
        (length > 0).then_some((left, left + length))
    });
    let Some((left, right)) = split else {
        return Ok(Filter { left: JsonPath::parse_part(text)?, test: None });
    };
    let part = |part: Option<&str>| JsonPath::parse_part(part.unwrap_or_default());
    let operator = match text.get(left..right).unwrap_or_default() {
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        _ => Operator::Unknown,
    };
    Ok(Filter { left: part(text.get(..left))?, test: Some((operator, part(text.get(right..))?)) })
}

/// `2`, `1:`, `:-1`, `::2` or `*`.
fn slice(text: &str) -> Option<Slice> {
    let text = if text == "*" { ":" } else { text };
    let number = |text: &str| match text {
        "" => Some(None),
        text if text.starts_with('+') => None,
        text => text.parse::<i64>().ok().map(Some),
    };
    let mut parts = text.splitn(3, ':');
    let from = number(parts.next()?)?;
    let to = match parts.next() {
        None => SliceEnd::AfterFirst,
        Some(text) => number(text)?.map_or(SliceEnd::Open, SliceEnd::At),
    };
    let every = parts.next().map_or(Some(None), number)?;
    Some(Slice { from, to, every })
}

/// The escapes of Go's texts.
fn unescape(text: &str, quote: char) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        let escaped = letters.next()?;
        plain.push(match escaped {
            'a' => '\u{07}',
            'b' => '\u{08}',
            'f' => '\u{0c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{0b}',
            '\\' => '\\',
            'x' => code(&mut letters, 2)?,
            'u' => code(&mut letters, 4)?,
            'U' => code(&mut letters, 8)?,
            escaped if escaped == quote => escaped,
            _ => return None,
        });
    }
    Some(plain)
}

fn code(letters: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let mut value = 0;
    for _ in 0..digits {
        value = value * 16 + letters.next()?.to_digit(16)?;
    }
    char::from_u32(value)
}

fn is_terminator(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
