//! Where in an object a field is: `.spec.forProvider.version`, `.spec.subnets[0]`, `.metadata.labels["app.example/name"]`.
//!
//! A path names one field, never several: there are no wildcards, no filters and no negative indexes, so that reading and
//! writing by a path are the inverse of each other.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

/// The longest path, in bytes.
pub const MAX_FIELD_PATH: usize = 1_024;
/// The greatest index of a list.
const MAX_INDEX: usize = 9_999;

/// Where in an object a field is. It names at least one step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldPath(Vec<Step>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// To a field of an object.
    Field(String),
    /// To an item of a list, from 0.
    Index(usize),
}

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldPathError {
    /// It names nothing.
    #[error("must name a field, such as .spec.size")]
    Empty,
    /// It is too long.
    #[error("must be no more than {MAX_FIELD_PATH} bytes")]
    TooLong,
    /// Something cannot stand where it stands.
    #[error("{what} at byte {at}")]
    Syntax {
        /// Where, from 0.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
}

/// Why nothing can be written at a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// What is there has no fields.
    #[error("{path} is not an object")]
    NotAnObject {
        /// Where.
        path: FieldPath,
    },
    /// What is there has no items.
    #[error("{path} is not a list")]
    NotAList {
        /// Where.
        path: FieldPath,
    },
    /// The list ends before the item.
    #[error("{path} has {length} items, so that item {index} cannot be set")]
    BeyondEnd {
        /// Where the list is.
        path: FieldPath,
        /// How many items it has.
        length: usize,
        /// Which item was meant.
        index: usize,
    },
}

/// What is read next.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

// === impl FieldPath ===

impl FieldPath {
    /// From its steps; none if there are none.
    pub fn new(steps: Vec<Step>) -> Option<Self> {
        (!steps.is_empty()).then_some(Self(steps))
    }

    /// Reads a path. The dot before the first name may be left out.
    pub fn parse(text: &str) -> Result<Self, FieldPathError> {
        if text.len() > MAX_FIELD_PATH {
            return Err(FieldPathError::TooLong);
        }
        if text.is_empty() || text == "." {
            return Err(FieldPathError::Empty);
        }
        let mut reader = Reader { text, at: 0 };
        let mut steps = Vec::new();
        if !text.starts_with(['.', '[']) {
            steps.push(reader.name()?);
        }
        while let Some(step) = reader.step()? {
            steps.push(step);
        }
        Ok(Self(steps))
    }

    /// The steps, of which there is at least one.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// What is left of it below `ancestor`: no steps if both are the same, none if it does not lie there.
    pub fn below(&self, ancestor: &Self) -> Option<&[Step]> {
        self.0.strip_prefix(ancestor.0.as_slice())
    }

    /// The field this many steps below it.
    #[must_use]
    pub fn join(&self, steps: &[Step]) -> Self {
        Self(self.0.iter().chain(steps).cloned().collect())
    }

    /// The value there, if there is one. Null is one.
    pub fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, step| match step {
            Step::Field(name) => value.as_object()?.get(name),
            Step::Index(index) => value.as_array()?.get(*index),
        })
    }

    /// Puts a value there. Objects and lists on the way are made where there is nothing or null; an item of a list replaces
    /// another, or is the next.
    pub fn set(&self, value: &mut Value, new: Value) -> Result<(), SetError> {
        let mut place = value;
        for (depth, step) in self.0.iter().enumerate() {
            let here = || Self(self.0[..depth].to_vec());
            place = match step {
                Step::Field(name) => {
                    if place.is_null() {
                        *place = Value::Object(Map::new());
                    }
                    let fields = place.as_object_mut().ok_or_else(|| SetError::NotAnObject { path: here() })?;
                    fields.entry(name.clone()).or_insert(Value::Null)
                }
                Step::Index(index) => {
                    if place.is_null() {
                        *place = Value::Array(Vec::new());
                    }
                    let items = place.as_array_mut().ok_or_else(|| SetError::NotAList { path: here() })?;
                    let length = items.len();
                    if *index == length {
                        items.push(Value::Null);
                    }
                    let beyond = || SetError::BeyondEnd { path: here(), length, index: *index };
                    items.get_mut(*index).ok_or_else(beyond)?
                }
            };
        }
        *place = new;
        Ok(())
    }
}

impl FromStr for FieldPath {
    type Err = FieldPathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Field(name) if is_plain(name) => write!(f, ".{name}"),
            Step::Field(name) => write!(f, "[\"{}\"]", name.replace('\\', "\\\\").replace('"', "\\\"")),
        })
    }
}

// === impl Reader ===

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&self, what: &'static str) -> FieldPathError {
        FieldPathError::Syntax { at: self.at, what }
    }

    /// The next step; none at the end.
    fn step(&mut self) -> Result<Option<Step>, FieldPathError> {
        match self.rest().chars().next() {
            None => Ok(None),
            Some('.') => {
                self.at += 1;
                self.name().map(Some)
            }
            Some('[') => {
                self.at += 1;
                self.bracket().map(Some)
            }
            Some(_) => Err(self.error("a . or a [ is missing")),
        }
    }

    fn name(&mut self) -> Result<Step, FieldPathError> {
        let length = self.rest().find(|c: char| !is_plain_char(c)).unwrap_or(self.rest().len());
        if length == 0 {
            return Err(self.error("a name is missing; one with other characters is written [\"so\"]"));
        }
        let name = self.rest().get(..length).unwrap_or_default().to_owned();
        self.at += length;
        Ok(Step::Field(name))
    }

    fn bracket(&mut self) -> Result<Step, FieldPathError> {
        let step = match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
            _ => self.index()?,
        };
        if !self.rest().starts_with(']') {
            return Err(self.error("a ] is missing"));
        }
        self.at += 1;
        Ok(step)
    }

    fn index(&mut self) -> Result<Step, FieldPathError> {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let index = rest.get(..length).and_then(|digits| digits.parse().ok()).filter(|index| *index <= MAX_INDEX);
        let index = index.ok_or_else(|| self.error("an index from 0 to 9999 or a name in quotes is missing"))?;
        self.at += length;
        Ok(Step::Index(index))
    }

    /// A name in quotes. A backslash stands before a quote or a backslash that belongs to the name.
    fn quoted(&mut self, quote: char) -> Result<Step, FieldPathError> {
        let mut name = String::new();
        let mut is_escaped = false;
        for (offset, c) in self.rest().char_indices().skip(1) {
            match c {
                '\\' if !is_escaped => is_escaped = true,
                c if c == quote && !is_escaped => {
                    if name.is_empty() {
                        return Err(self.error("a name in quotes is empty"));
                    }
                    self.at += offset + c.len_utf8();
                    return Ok(Step::Field(name));
                }
                c => {
                    is_escaped = false;
                    name.push(c);
                }
            }
        }
        Err(self.error("the quotes are not closed"))
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_plain_char)
}

fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$')
}

#[cfg(test)]
mod tests;
