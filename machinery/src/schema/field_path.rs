//! Paths to a field of an object, as selectable fields and rules in CEL name it: `.spec.size`, `.spec['a.b']`.

use thiserror::Error;

use super::props::{Additional, Props};
use crate::FieldPath;

/// Why a path names no field.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum FieldPathError {
    #[error("does not refer to a valid field")]
    NoField,
    #[error("array notation is not allowed")]
    Brackets,
    #[error("unexpected end of JSON path")]
    End,
    #[error("expected single quoted string but got {0}")]
    NotQuoted(String),
    #[error("invalid string literal: invalid escape char \\{0}")]
    Escape(char),
    #[error("expected ] but got {0}")]
    NotClosed(String),
    #[error("expected [ or . but got: {0}")]
    NoStep(String),
}

/// Whether `['name']` may stand for `.name`.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Brackets {
    Allowed,
    Forbidden,
}

/// What a path leads to.
pub(super) struct Target<'j> {
    /// The names on the way.
    pub(super) names: Vec<String>,
    /// The same as it is shown.
    pub(super) path: FieldPath,
    /// Absent where any field is allowed.
    pub(super) schema: Option<Props<'j>>,
}

/// Follows a path through a schema.
pub(super) fn resolve<'j>(path: &str, schema: Props<'j>, brackets: Brackets) -> Result<Target<'j>, FieldPathError> {
    let mut target = Target { names: Vec::new(), path: FieldPath::root(), schema: Some(schema) };
    let mut tokens = Tokens(path);
    while let Some(token) = tokens.next() {
        match token {
            "[" if brackets == Brackets::Forbidden => return Err(FieldPathError::Brackets),
            "[" => {
                let quoted = tokens.next().ok_or(FieldPathError::End)?;
                let inner = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let inner = inner.ok_or_else(|| FieldPathError::NotQuoted(quoted.to_owned()))?;
                step(&mut target, &unescape(inner)?)?;
                match tokens.next().ok_or(FieldPathError::End)? {
                    "]" => {}
                    other => return Err(FieldPathError::NotClosed(other.to_owned())),
                }
            }
            "." => step(&mut target, tokens.next().ok_or(FieldPathError::End)?)?,
            other => return Err(FieldPathError::NoStep(other.to_owned())),
        }
    }
    Ok(target)
}

fn step(target: &mut Target<'_>, name: &str) -> Result<(), FieldPathError> {
    let schema = target.schema.ok_or(FieldPathError::NoField)?;
    if schema.properties().next().is_some() {
        target.path = target.path.child(name);
        target.schema = Some(schema.property(name).ok_or(FieldPathError::NoField)?);
    } else {
        target.path = target.path.key(name);
        target.schema = match schema.additional() {
            Additional::Unset => return Err(FieldPathError::NoField),
            Additional::Allowed(_) => None,
            Additional::Schema(schema) => Some(schema),
        };
    }
    target.names.push(name.to_owned());
    Ok(())
}

fn unescape(text: &str) -> Result<String, FieldPathError> {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        // A backslash at the end escapes nothing, and stays.
        let Some(escaped) = (c == '\\').then(|| chars.next()).flatten() else {
            plain.push(c);
            continue;
        };
        plain.push(match escaped {
            'a' => '\u{07}',
            'b' => '\u{08}',
            'f' => '\u{0c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{0b}',
            '\'' | '\\' => escaped,
            other => return Err(FieldPathError::Escape(other)),
        });
    }
    Ok(plain)
}

/// `.`, `[` and `]`, and what stands between them; a quoted name is one.
struct Tokens<'p>(&'p str);

impl<'p> Tokens<'p> {
    fn next(&mut self) -> Option<&'p str> {
        let length = match self.0.chars().next()? {
            '.' | '[' | ']' => 1,
            '\'' => closing_quote(self.0).map_or(self.0.len(), |quote| quote + 1),
            _ => self.0.find(['.', '[', ']']).unwrap_or(self.0.len()),
        };
        let (token, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(token)
    }
}

/// Where the text that starts with a quote has the next one that is not escaped.
fn closing_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    bytes.windows(2).position(|pair| pair[1] == b'\'' && pair[0] != b'\\').map(|before| before + 1)
}
