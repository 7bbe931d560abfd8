//! What the type of a value says about merging it.

use crate::host::{Field, FieldKind, HostType, Message, Shape};

use super::{Result, StrategicError};

/// The Go type of a value.
#[derive(Clone, Copy)]
pub(super) enum DataType {
    Struct(&'static Message),
    /// A pointer to a struct.
    Pointer(&'static Message),
    /// Neither: what Go calls it.
    Other(&'static str),
}

/// How a field merges.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// `merge`, `replace`, or nothing.
    pub(super) strategy: &'static str,
    /// What tells the items of a list apart; may be empty.
    pub(super) merge_key: &'static str,
}

// === impl DataType ===

impl DataType {
    pub(super) fn root(host_type: HostType) -> Self {
        Self::Struct(host_type.message())
    }

    /// What Go calls it.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Struct(_) => "struct",
            Self::Pointer(_) => "ptr",
            Self::Other(kind) => kind,
        }
    }

    /// The type of a field, and how it merges.
    pub(super) fn field(self, name: &str) -> Result<(Self, Rule)> {
        let field = self.find(name)?;
        Ok((Self::of(field, field.shape), Rule::of(field)))
    }

    /// The type of the items of a field that is a list, and how it merges.
    pub(super) fn items(self, name: &str) -> Result<(Self, Rule)> {
        let field = self.find(name)?;
        match (field.shape, field.kind) {
            (Shape::List | Shape::Pointer, _) => Ok((Self::of(field, Shape::Plain), Rule::of(field))),
            (Shape::Plain, FieldKind::Bytes) => Ok((Self::Other("uint8"), Rule::of(field))),
            (Shape::Plain, FieldKind::Texts) => Ok((Self::Other("string"), Rule::of(field))),
            (Shape::Plain | Shape::Map, _) => Err(StrategicError::NotAList { kind: self.kind() }),
        }
    }

    fn find(self, name: &str) -> Result<&'static Field> {
        let message = match self {
            Self::Struct(message) | Self::Pointer(message) => message,
            Self::Other(kind) => return Err(StrategicError::NotAStruct { kind }),
        };
        let found = message.field(name).or_else(|| message.field_ignoring_case(name));
        found.ok_or_else(|| StrategicError::NoField { owner: message.go_name(), field: name.to_owned() })
    }

    fn of(field: &'static Field, shape: Shape) -> Self {
        match (shape, field.message()) {
            (Shape::List, _) => Self::Other("slice"),
            (Shape::Map, _) => Self::Other("map"),
            (Shape::Plain, Some(message)) => Self::Struct(message),
            (Shape::Pointer, Some(message)) => Self::Pointer(message),
            (Shape::Pointer, None) => Self::Other("ptr"),
            (Shape::Plain, None) => Self::Other(match field.kind {
                FieldKind::Text => "string",
                FieldKind::Bool => "bool",
                FieldKind::Int32 => "int32",
                FieldKind::Int64 => "int64",
                FieldKind::Bytes | FieldKind::Texts => "slice",
                _ => "struct",
            }),
        }
    }
}

// === impl Rule ===

impl Rule {
    /// Whether fields are retained is said by patches, not by types; of two strategies the other one counts.
    fn of(field: &'static Field) -> Self {
        let strategy = field.patch_strategies.split(',').find(|strategy| *strategy != "retainKeys").unwrap_or("");
        Self { strategy, merge_key: field.merge_key }
    }
}
