//! Paths to fields of objects: `status.message`, `spec.ports[0].port`, `metadata.labels['a.b/c']`, and `{$.status.message}`.
//!
//! A path names one place. There are no wildcards, filters or recursion, so that finding a value takes as many steps as the
//! path has, and what a path can reach is seen by reading it.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// The most segments of a path.
pub const MAX_SEGMENTS: usize = 32;
/// The most digits of an index: no list in an object is longer.
const MAX_DIGITS: usize = 7;

/// A path to a field of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ObjectPath(Vec<Segment>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// Into a field of an object.
    Key(String),
    /// Into an item of a list.
    Index(usize),
}

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// There is none.
    #[error("the path is empty")]
    Empty,
    /// Two separators follow each other, or one ends the path.
    #[error("a field has no name")]
    EmptySegment,
    /// It is too long.
    #[error("a path has at most {MAX_SEGMENTS} segments")]
    TooDeep,
    /// It has something that paths do not have.
    #[error("{0:?} is not part of a path: only names, [index] and ['key'] are")]
    Unexpected(char),
    /// An index is no small number.
    #[error("an index is a number of at most {MAX_DIGITS} digits")]
    Index,
    /// A bracket or a quotation does not end.
    #[error("a bracket or a quotation does not end")]
    Unterminated,
}

/// A place in a text that is being read.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'t>(&'t str);

// === impl ObjectPath ===

impl ObjectPath {
    /// The object itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// Its segments.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The path with one more segment.
    #[must_use]
    pub fn with(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }

    /// Goes one segment further.
    pub(super) fn push(&mut self, segment: Segment) {
        self.0.push(segment);
    }

    /// Goes one segment back.
    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    /// Whether the path begins with these names.
    pub fn begins_with(&self, names: &[&str]) -> bool {
        self.0.len() >= names.len() && self.0.iter().zip(names).all(|(segment, name)| segment.is_key(name))
    }

    /// Whether one of both is the other, or something within it.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(one, other)| one == other)
    }

    /// What is there.
    pub fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, segment| match segment {
            Segment::Key(key) => value.as_object()?.get(key),
            Segment::Index(index) => value.as_array()?.get(*index),
        })
    }

    /// As errors name it, below another field.
    pub fn below(&self, field: &str) -> String {
        let path = self.to_string();
        if path.is_empty() || path.starts_with('[') { format!("{field}{path}") } else { format!("{field}.{path}") }
    }

    /// Reads segments, up to what cannot be part of a path.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, PathError> {
        let mut segments = Vec::new();
        loop {
            let segment = if cursor.eat('.') {
                Segment::Key(cursor.name()?)
            } else if cursor.eat('[') {
                cursor.bracket()?
            } else {
                break;
            };
            segments.push(segment);
            if segments.len() > MAX_SEGMENTS {
                return Err(PathError::TooDeep);
            }
        }
        if segments.is_empty() { Err(PathError::Empty) } else { Ok(Self(segments)) }
    }
}

impl FromStr for ObjectPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
        let inner = inner.strip_prefix('$').unwrap_or(inner);
        let mut cursor = Cursor::new(inner);
        let first = match cursor.peek() {
            None => return Err(PathError::Empty),
            Some('.' | '[') => None,
            Some(_) => Some(Segment::Key(cursor.name()?)),
        };
        let rest = match Self::read(&mut cursor) {
            Err(PathError::Empty) => Self::root(),
            rest => rest?,
        };
        if let Some(found) = cursor.peek() {
            return Err(PathError::Unexpected(found));
        }
        let segments: Vec<Segment> = first.into_iter().chain(rest.0).collect();
        if segments.len() > MAX_SEGMENTS { Err(PathError::TooDeep) } else { Ok(Self(segments)) }
    }
}

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if key.is_empty() || !key.chars().all(is_bare) => {
                    write!(f, "['{}']", key.replace('\\', "\\\\").replace('\'', "\\'"))?;
                }
                Segment::Key(key) => write!(f, "{}{key}", if place == 0 { "" } else { "." })?,
            }
        }
        Ok(())
    }
}

// === impl Segment ===

impl Segment {
    fn is_key(&self, name: &str) -> bool {
        matches!(self, Self::Key(key) if key == name)
    }
}

// === impl Cursor ===

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self(text)
    }

    /// What has not been read.
    pub(super) fn rest(&self) -> &'t str {
        self.0
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.0.chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let mut chars = self.0.chars();
        let next = chars.next();
        self.0 = chars.as_str();
        next
    }

    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let rest = self.0.strip_prefix(wanted);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    pub(super) fn eat_text(&mut self, wanted: &str) -> bool {
        let rest = self.0.strip_prefix(wanted);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Everything up to the first character that is not like this.
    pub(super) fn take_while(&mut self, is_like: impl Fn(char) -> bool) -> &'t str {
        let (taken, rest) = self.0.split_at(self.0.find(|found| !is_like(found)).unwrap_or(self.0.len()));
        self.0 = rest;
        taken
    }

    fn name(&mut self) -> Result<String, PathError> {
        match (self.take_while(is_bare), self.peek()) {
            ("", None | Some('.' | '[' | ')' | '}')) => Err(PathError::EmptySegment),
            ("", Some(found)) => Err(PathError::Unexpected(found)),
            (name, _) => Ok(name.to_owned()),
        }
    }

    fn bracket(&mut self) -> Result<Segment, PathError> {
        let segment = match self.peek() {
            Some(quote @ ('\'' | '"')) => {
                self.next();
                Segment::Key(self.quoted(quote)?)
            }
            Some(_) => {
                let digits = self.take_while(|found| found.is_ascii_digit());
                if digits.len() > MAX_DIGITS {
                    return Err(PathError::Index);
                }
                Segment::Index(digits.parse().map_err(|_| PathError::Index)?)
            }
            None => return Err(PathError::Unterminated),
        };
        match self.next() {
            Some(']') => Ok(segment),
            Some(found) => Err(PathError::Unexpected(found)),
            None => Err(PathError::Unterminated),
        }
    }

    /// A key, up to its quotation mark. A backslash takes the next character as it is.
    fn quoted(&mut self, quote: char) -> Result<String, PathError> {
        let mut key = String::new();
        loop {
            match self.next().ok_or(PathError::Unterminated)? {
                '\\' => key.push(self.next().ok_or(PathError::Unterminated)?),
                found if found == quote => return Ok(key),
                found => key.push(found),
            }
        }
    }
}

/// Whether a character can stand in a name without quotation.
fn is_bare(found: char) -> bool {
    found.is_alphanumeric() || matches!(found, '-' | '_' | '/')
}

#[cfg(test)]
mod tests;
