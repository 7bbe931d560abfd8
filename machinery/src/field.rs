//! What is wrong with which field, in Kubernetes' own words.

use std::collections::HashSet;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::go;

/// Where in an object: `spec.parts[2].name`, `metadata.annotations[example.dev/x]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(String);

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// Where.
    pub field: FieldPath,
    /// In which way.
    pub kind: FieldErrorKind,
    /// What was found there, where that helps.
    pub value: Option<Value>,
    /// What would be right.
    pub detail: String,
}

/// The ways in which a field can be wrong. Clients see the name of the cause and the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldErrorKind {
    /// What it names does not exist.
    NotFound,
    /// It must be there.
    Required,
    /// It must be unique.
    Duplicate,
    /// It is malformed or out of bounds.
    Invalid,
    /// It is none of the values there are.
    NotSupported,
    /// It is well-formed, and not allowed here.
    Forbidden,
    /// It is too long; the value itself is not shown.
    TooLong,
    /// It is too short; the value itself is not shown.
    TooShort,
    /// It has too many items.
    TooMany,
    /// It has too few items.
    TooFew,
    /// It has the wrong type.
    TypeInvalid,
    /// It could not be checked.
    Internal,
}

/// The most errors that are told of one object. What is wrong beyond that is counted.
pub const MAX_FIELD_ERRORS: usize = 1_000;

/// What is wrong with an object, in the order in which it was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldErrors {
    told: Vec<FieldError>,
    more: usize,
}

// === impl FieldPath ===

impl FieldPath {
    /// The object itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// A field of the object.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// A field of what this path names.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        match self.0.as_str() {
            "" => Self(name.to_owned()),
            path => Self(format!("{path}.{name}")),
        }
    }

    /// An item of the list this path names.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// A value of the map this path names.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl FieldErrorKind ===

impl FieldErrorKind {
    /// The name in `details.causes[].reason`.
    pub fn cause(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooShort => "FieldValueTooShort",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooShort => "Too short",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }

    /// Whether the value belongs into the message.
    fn shows_value(self) -> bool {
        match self {
            Self::Required | Self::Forbidden | Self::TooLong | Self::TooShort | Self::Internal => false,
            Self::NotFound
            | Self::Duplicate
            | Self::Invalid
            | Self::TypeInvalid
            | Self::NotSupported
            | Self::TooMany
            | Self::TooFew => true,
        }
    }
}

// === impl FieldError ===

impl FieldError {
    /// A field that must be there.
    pub fn required(field: FieldPath, detail: impl Into<String>) -> Self {
        Self { field, kind: FieldErrorKind::Required, value: None, detail: detail.into() }
    }

    /// A value that is malformed or out of bounds.
    pub fn invalid(field: FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self { field, kind: FieldErrorKind::Invalid, value: Some(value.into()), detail: detail.into() }
    }

    /// A value that is malformed or out of bounds and is not a plain text in Kubernetes: its JSON is shown, with the
    /// fields in the order in which it has them. A value that is very long is not shown.
    pub fn invalid_json(field: FieldPath, value: &impl Serialize, detail: &str) -> Self {
        let detail = match go::shown_json_of(value) {
            Some(json) => format!("{json}: {detail}"),
            None => detail.to_owned(),
        };
        Self { field, kind: FieldErrorKind::Invalid, value: None, detail }
    }

    /// A value of the wrong type.
    pub fn type_invalid(field: FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self { field, kind: FieldErrorKind::TypeInvalid, value: Some(value.into()), detail: detail.into() }
    }

    /// A value that occurs twice where it must be unique.
    pub fn duplicate(field: FieldPath, value: impl Into<Value>) -> Self {
        Self { field, kind: FieldErrorKind::Duplicate, value: Some(value.into()), detail: String::new() }
    }

    /// A value that names what does not exist.
    pub fn not_found(field: FieldPath, value: impl Into<Value>) -> Self {
        Self { field, kind: FieldErrorKind::NotFound, value: Some(value.into()), detail: String::new() }
    }

    /// A value that is none of `supported`.
    pub fn not_supported(field: FieldPath, value: impl Into<Value>, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|value| go::quote(value)).collect();
        let detail = if quoted.is_empty() { String::new() } else { format!("supported values: {}", quoted.join(", ")) };
        Self { field, kind: FieldErrorKind::NotSupported, value: Some(value.into()), detail }
    }

    /// A value that is not allowed here.
    pub fn forbidden(field: FieldPath, detail: impl Into<String>) -> Self {
        Self { field, kind: FieldErrorKind::Forbidden, value: None, detail: detail.into() }
    }

    /// A value of more than `most` bytes.
    pub fn too_long(field: FieldPath, most: usize) -> Self {
        let plural = if most == 1 { "" } else { "s" };
        let detail = format!("may not be more than {most} byte{plural}");
        Self { field, kind: FieldErrorKind::TooLong, value: None, detail }
    }

    /// A list of `actual` items where `most` are allowed.
    pub fn too_many(field: FieldPath, actual: usize, most: usize) -> Self {
        let plural = if most == 1 { "" } else { "s" };
        let detail = format!("must have at most {most} item{plural}");
        Self { field, kind: FieldErrorKind::TooMany, value: Some(actual.into()), detail }
    }

    /// The message without the field's name.
    pub fn body(&self) -> String {
        let mut body = self.kind.text().to_owned();
        if let Some(value) = self.value.as_ref().filter(|_| self.kind.shows_value()) {
            body.push_str(": ");
            match value {
                Value::String(text) => body.push_str(&go::quote(text)),
                Value::Number(number) => body.push_str(&go::GoNumber::of(number).text()),
                other => body.push_str(&go::json(other)),
            }
        }
        if !self.detail.is_empty() {
            body.push_str(": ");
            body.push_str(&self.detail);
        }
        body
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

// === impl FieldErrors ===

impl FieldErrors {
    /// Notes an error.
    pub fn push(&mut self, error: FieldError) {
        if self.told.len() < MAX_FIELD_ERRORS {
            self.told.push(error);
        } else {
            self.more += 1;
        }
    }

    /// The errors.
    pub fn as_slice(&self) -> &[FieldError] {
        &self.told
    }

    /// The errors, for whoever tells of them elsewhere.
    pub fn into_vec(self) -> Vec<FieldError> {
        self.told
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// `Ok` if nothing is wrong.
    pub fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        errors.into_iter().for_each(|error| self.push(error));
    }
}

/// All messages, each once: one by itself, several as `[a, b]`.
impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut known = HashSet::with_capacity(self.told.len());
        let mut messages = Vec::with_capacity(self.told.len());
        for message in self.told.iter().map(FieldError::to_string) {
            if known.insert(message.clone()) {
                messages.push(message);
            }
        }
        if self.more > 0 {
            messages.push(format!("and {} more", self.more));
        }
        match messages.as_slice() {
            [only] => f.write_str(only),
            several => write!(f, "[{}]", several.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests;
