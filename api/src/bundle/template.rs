//! Objects with references in them, and what they become once the values are known.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::path::{ObjectPath, Segment};
use super::plan::MAX_REFERENCES;
use super::reference::{Parsed, Piece, Reference, ReferenceError};

/// The most bytes of a value that takes the place of a reference.
pub const MAX_VALUE_BYTES: usize = 64 * 1024;
/// The most bytes of all values that take the places of references in one object: no host stores a larger object.
pub const MAX_VALUES_BYTES: usize = 1536 * 1024;
/// The deepest object that is looked through: no server accepts a deeper one.
const MAX_DEPTH: usize = 128;
/// How many references, and how much that is wrong, are looked for in an object. Whoever has more has too many of them anyway.
const MAX_FOUND: usize = MAX_REFERENCES + 1;

/// An object with references in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    object: Value,
    uses: Vec<Use>,
}

/// A reference where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Use {
    /// The field it stands in.
    pub at: ObjectPath,
    /// What it names.
    pub reference: Reference,
    /// What becomes of the value.
    pub form: Form,
}

/// What becomes of a value that takes the place of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// A text, or a part of one.
    Text,
    /// The value as it is.
    Value,
}

/// What is wrong with a field of a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Its text cannot be read.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A name of a field has a reference in it.
    #[error("references are replaced in values only, not in names of fields")]
    InKey,
    /// It is too deep.
    #[error("must not be more than {MAX_DEPTH} deep")]
    TooDeep,
}

/// Why a template does not become an object. No value is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The field is not there, or not yet.
    #[error("{reference} is not there")]
    Missing {
        /// Where it is wanted.
        at: ObjectPath,
        /// What is not there.
        reference: Reference,
    },
    /// The value is none that a text can have in it.
    #[error(
        "{reference} is {found}, and only text, numbers and booleans can stand in \"$(…)\"; use \"$((…))\" for all of {at}"
    )]
    NotText {
        /// Where it is wanted.
        at: ObjectPath,
        /// What was found.
        reference: Reference,
        /// Its type.
        found: &'static str,
    },
    /// The value is too large.
    #[error(
        "{reference}, which is wanted in {at}, has more than the {MAX_VALUE_BYTES} bytes that a reference can carry"
    )]
    TooLarge {
        /// Where it is wanted.
        at: ObjectPath,
        /// What was found.
        reference: Reference,
    },
    /// The values are too large together.
    #[error(
        "with what is wanted in {at}, the values that references bring into the object have more than {MAX_VALUES_BYTES} bytes"
    )]
    TooMuch {
        /// Where that is so.
        at: ObjectPath,
    },
}

/// An object that is being read. Where one is, is written down only for what is found there.
#[derive(Default)]
struct Reading {
    at: ObjectPath,
    uses: Vec<Use>,
    errors: Vec<(ObjectPath, TemplateError)>,
}

/// A template that is becoming an object.
struct Rendering<'f, 'v> {
    at: ObjectPath,
    find: &'f dyn Fn(&Reference) -> Option<Cow<'v, Value>>,
    /// How many bytes values may still have.
    room: usize,
}

// === impl TemplateError ===

impl TemplateError {
    /// What was found. Never a value, which may be meant for few.
    pub fn found(&self) -> &'static str {
        match self {
            Self::Reference(_) | Self::InKey => "$(",
            Self::TooDeep => "…",
        }
    }
}

// === impl Template ===

impl Template {
    /// Reads all texts of an object. If some cannot be read, it says which. Of more references than a Bundle may have, only so
    /// many are found that this can be seen.
    pub fn read(object: &Value) -> Result<Self, Vec<(ObjectPath, TemplateError)>> {
        let mut reading = Reading::default();
        reading.collect(object);
        let Reading { uses, errors, .. } = reading;
        if errors.is_empty() { Ok(Self { object: object.clone(), uses }) } else { Err(errors) }
    }

    /// The object as it was written.
    pub fn object(&self) -> &Value {
        &self.object
    }

    /// The references in it.
    pub fn uses(&self) -> &[Use] {
        &self.uses
    }

    /// The object with values in place of all references.
    pub fn render<'v>(&self, find: &dyn Fn(&Reference) -> Option<Cow<'v, Value>>) -> Result<Value, RenderError> {
        Rendering { at: ObjectPath::root(), find, room: MAX_VALUES_BYTES }.render(&self.object)
    }
}

// === impl Reading ===

impl Reading {
    fn collect(&mut self, value: &Value) {
        if self.at.segments().len() > MAX_DEPTH {
            return self.note(TemplateError::TooDeep);
        }
        match value {
            Value::String(text) => match Parsed::read(text) {
                Ok(Parsed::Value(reference)) => self.found(reference, Form::Value),
                Ok(Parsed::Text(pieces)) => {
                    for piece in pieces {
                        if let Piece::Reference(reference) = piece {
                            self.found(reference, Form::Text);
                        }
                    }
                }
                Err(error) => self.note(error.into()),
            },
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.below(Segment::Index(index), item);
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields {
                    self.below(Segment::Key(key.clone()), field);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn below(&mut self, segment: Segment, value: &Value) {
        if self.uses.len() >= MAX_FOUND || self.errors.len() >= MAX_FOUND {
            return;
        }
        let is_in_key = matches!(&segment, Segment::Key(key) if key.contains("$("));
        self.at.push(segment);
        if is_in_key {
            self.note(TemplateError::InKey);
        }
        self.collect(value);
        self.at.pop();
    }

    fn found(&mut self, reference: Reference, form: Form) {
        if self.uses.len() < MAX_FOUND {
            self.uses.push(Use { at: self.at.clone(), reference, form });
        }
    }

    fn note(&mut self, error: TemplateError) {
        if self.errors.len() < MAX_FOUND {
            self.errors.push((self.at.clone(), error));
        }
    }
}

// === impl Rendering ===

impl<'v> Rendering<'_, 'v> {
    fn render(&mut self, value: &Value) -> Result<Value, RenderError> {
        match value {
            Value::String(text) => self.render_text(text),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, item)| self.below(Segment::Index(index), item)).collect()
            }
            Value::Object(fields) => {
                let fields = fields.iter();
                let rendered: Result<Map<String, Value>, RenderError> = fields
                    .map(|(key, field)| Ok((key.clone(), self.below(Segment::Key(key.clone()), field)?)))
                    .collect();
                rendered.map(Value::Object)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
        }
    }

    fn below(&mut self, segment: Segment, value: &Value) -> Result<Value, RenderError> {
        self.at.push(segment);
        let rendered = self.render(value);
        self.at.pop();
        rendered
    }

    fn render_text(&mut self, text: &str) -> Result<Value, RenderError> {
        // What cannot be read is no template.
        match Parsed::read(text) {
            Err(_) => Ok(Value::from(text)),
            Ok(Parsed::Value(reference)) => self.found(&reference).map(Cow::into_owned),
            Ok(Parsed::Text(pieces)) => {
                let mut whole = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Literal(literal) => whole.push_str(&literal),
                        Piece::Reference(reference) => match &*self.found(&reference)? {
                            Value::String(text) => whole.push_str(text),
                            value @ (Value::Number(_) | Value::Bool(_)) => whole.push_str(&value.to_string()),
                            Value::Null => return Err(not_text(&self.at, reference, "null")),
                            Value::Array(_) => return Err(not_text(&self.at, reference, "a list")),
                            Value::Object(_) => return Err(not_text(&self.at, reference, "an object")),
                        },
                    }
                }
                Ok(Value::String(whole))
            }
        }
    }

    /// What takes the place of a reference, if there is room for it.
    fn found(&mut self, reference: &Reference) -> Result<Cow<'v, Value>, RenderError> {
        let Some(value) = (self.find)(reference) else {
            return Err(RenderError::Missing { at: self.at.clone(), reference: reference.clone() });
        };
        let size = size(&value);
        if size > MAX_VALUE_BYTES {
            return Err(RenderError::TooLarge { at: self.at.clone(), reference: reference.clone() });
        }
        match self.room.checked_sub(size) {
            Some(room) => self.room = room,
            None => return Err(RenderError::TooMuch { at: self.at.clone() }),
        }
        Ok(value)
    }
}

fn not_text(at: &ObjectPath, reference: Reference, found: &'static str) -> RenderError {
    RenderError::NotText { at: at.clone(), reference, found }
}

/// How large a value is, about; nothing is written down to find out.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| 1 + size(item)).sum(),
        Value::Object(fields) => fields.iter().map(|(key, field)| 4 + key.len() + size(field)).sum(),
    }
}

#[cfg(test)]
mod tests;
