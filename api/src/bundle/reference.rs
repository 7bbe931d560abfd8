//! References in texts: `$(dep.path)` and `$((dep.path))`, with braces inside if one likes, and `$$(` for a plain `$(`.
//!
//! A text is read once, from left to right. What is put in place of a reference is never read again.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use super::path::{Cursor, ObjectPath, PathError, Segment};

/// What begins a reference.
const OPEN: &str = "$(";
/// What stands for [`OPEN`] itself.
const ESCAPED: &str = "$$(";
/// Annotations that are somebody's records, not values.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const OURS: &str = "bailiwick.dev/";
/// Who owns which field.
const MANAGED_FIELDS: &str = "managedFields";

/// Names a field of a dependency, or of what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The dependency, as the Bundle calls it.
    pub resource: String,
    /// Of what.
    pub part: Part,
    /// The field.
    pub path: ObjectPath,
}

/// What a reference looks into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The object of the dependency.
    Object,
    /// The object whose existence makes it ready.
    Binding,
    /// The Secret or ConfigMap that the binding names. Data of a Secret is decoded.
    Output,
}

/// A text, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// All of it is replaced by a value of any type.
    Value(Reference),
    /// Pieces, which are put together.
    Text(Vec<Piece>),
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Literal(String),
    Reference(Reference),
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// Something other than a reference follows what begins one.
    #[error("\"$(\" begins a reference such as \"$(name.path)\", and {0}; write \"$$(\" for the characters themselves")]
    Malformed(Malformed),
    /// A reference to a value of any type stands in a longer text.
    #[error("\"$((…))\" must be all of the text; use \"$(…)\" within a text")]
    NotAlone,
    /// What it names is nobody's value.
    #[error("{0} cannot be used")]
    Blocked(ObjectPath),
}

/// What is wrong with a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It names no resource.
    #[error("this one names no resource")]
    NoResource,
    /// It names none of the objects that a resource has.
    #[error("after \":\" comes \"binding\" or \"output\"")]
    UnknownPart,
    /// It does not end.
    #[error("this one does not end")]
    Unterminated,
    /// Its path is none.
    #[error(transparent)]
    Path(#[from] PathError),
}

// === impl Parsed ===

impl Parsed {
    /// Reads a text.
    pub(super) fn read(text: &str) -> Result<Self, ReferenceError> {
        let mut cursor = Cursor::new(text);
        if cursor.eat_text("$((") {
            let reference = Reference::read(&mut cursor, "))")?;
            return if cursor.rest().is_empty() { Ok(Self::Value(reference)) } else { Err(ReferenceError::NotAlone) };
        }
        let (mut pieces, mut literal) = (Vec::new(), String::new());
        while !cursor.rest().is_empty() {
            literal.push_str(cursor.take_while(|found| found != '$'));
            if cursor.eat_text(ESCAPED) {
                literal.push_str(OPEN);
            } else if cursor.rest().starts_with("$((") {
                return Err(ReferenceError::NotAlone);
            } else if cursor.eat_text(OPEN) {
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Reference(Reference::read(&mut cursor, ")")?));
            } else {
                literal.extend(cursor.next());
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self::Text(pieces))
    }
}

// === impl Reference ===

impl Reference {
    /// Reads what follows the opening brackets, and the closing ones.
    fn read(cursor: &mut Cursor<'_>, close: &str) -> Result<Self, ReferenceError> {
        let reference = Self::read_inner(cursor, close).map_err(ReferenceError::Malformed)?;
        match reference.is_blocked() {
            true => Err(ReferenceError::Blocked(reference.path)),
            false => Ok(reference),
        }
    }

    fn read_inner(cursor: &mut Cursor<'_>, close: &str) -> Result<Self, Malformed> {
        let braced = cursor.eat('{');
        let resource = cursor.take_while(|found| found.is_ascii_alphanumeric() || matches!(found, '-' | '_'));
        if resource.is_empty() {
            return Err(Malformed::NoResource);
        }
        let part = match cursor.eat(':') {
            false => Part::Object,
            true => match cursor.take_while(|found| found.is_ascii_alphanumeric()) {
                "binding" => Part::Binding,
                "output" => Part::Output,
                _ => return Err(Malformed::UnknownPart),
            },
        };
        let path = match (ObjectPath::read(cursor), cursor.peek()) {
            (Err(PathError::Empty), Some(found)) if !matches!(found, ')' | '}') => {
                return Err(PathError::Unexpected(found).into());
            }
            (Err(PathError::Unterminated), _) => return Err(Malformed::Unterminated),
            (path, _) => path?,
        };
        if (braced && !cursor.eat('}')) || !cursor.eat_text(close) {
            return Err(match cursor.peek() {
                Some(found) if found != ')' => PathError::Unexpected(found).into(),
                Some(_) | None => Malformed::Unterminated,
            });
        }
        Ok(Self { resource: resource.to_owned(), part, path })
    }

    /// What it names in an object, if that is there. Records that are kept about the object are not part of it.
    pub fn find<'v>(&self, object: &'v Value) -> Option<Cow<'v, Value>> {
        let found = self.path.find(object)?;
        let annotations = match self.path.segments() {
            [] => "/metadata/annotations",
            [Segment::Key(metadata)] if metadata == "metadata" => "/annotations",
            [Segment::Key(metadata), Segment::Key(field)] if metadata == "metadata" && field == "annotations" => "",
            _ => return Some(Cow::Borrowed(found)),
        };
        let mut found = found.clone();
        if let Some(annotations) = found.pointer_mut(annotations).and_then(Value::as_object_mut) {
            annotations.retain(|key, _| !is_record(key));
        }
        if let Some(metadata) = annotations.strip_suffix("/annotations").and_then(|at| found.pointer_mut(at))
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.remove(MANAGED_FIELDS);
        }
        Some(Cow::Owned(found))
    }

    /// Whether it looks into what is kept about an object, rather than what the object says.
    fn is_blocked(&self) -> bool {
        match self.path.segments() {
            [Segment::Key(metadata), Segment::Key(field), ..] if metadata == "metadata" && field == MANAGED_FIELDS => {
                true
            }
            [Segment::Key(metadata), Segment::Key(field), Segment::Key(key), ..] => {
                metadata == "metadata" && field == "annotations" && is_record(key)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match self.part {
            Part::Object => "",
            Part::Binding => ":binding",
            Part::Output => ":output",
        };
        let path = self.path.to_string();
        let separator = if path.starts_with('[') { "" } else { "." };
        write!(f, "{}{part}{separator}{path}", self.resource)
    }
}

fn is_record(annotation: &str) -> bool {
    annotation == LAST_APPLIED || annotation.contains(OURS)
}

#[cfg(test)]
mod tests;
