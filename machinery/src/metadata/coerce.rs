//! Metadata as Kubernetes types it: what has another type is refused, and what nobody knows is dropped.

use serde_json::{Map, Value};

use crate::go::json_type;
use crate::object::Object;
use crate::time::{RFC3339_LAYOUT, parse_rfc3339, quote, where_unread};

/// Why metadata is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// A field has another type.
    #[error("json: cannot unmarshal {found} into Go struct field {owner}.{field} of type {expected}")]
    Type {
        /// What was found.
        found: &'static str,
        /// The type that the field belongs to.
        owner: &'static str,
        /// The field.
        field: &'static str,
        /// What should be there.
        expected: &'static str,
    },
    /// It is no object.
    #[error("json: cannot unmarshal {found} into Go value of type v1.ObjectMeta")]
    NoObject {
        /// What was found.
        found: &'static str,
    },
    /// A time is none.
    #[error("parsing time {text} as \"2006-01-02T15:04:05Z07:00\": cannot parse {rest} as {expected}")]
    Time {
        /// The text, quoted.
        text: String,
        /// What of it could not be read, quoted.
        rest: String,
        /// What should stand there, quoted.
        expected: String,
    },
    /// A number is too large.
    #[error("json: cannot unmarshal number {number} into Go struct field {owner}.{field} of type int64")]
    Number {
        /// The number.
        number: String,
        /// The type that the field belongs to.
        owner: &'static str,
        /// The field.
        field: &'static str,
    },
}

/// The type of a field.
#[derive(Clone, Copy)]
enum Shape {
    Text(&'static str),
    Whole,
    Boolean,
    Time,
    Texts,
    TextMap,
    Objects(&'static Listed),
    Anything,
}

/// A type of which there are lists, in the words of Go.
struct Listed {
    /// How fields of it are named.
    owner: &'static str,
    item: &'static str,
    list: &'static str,
    fields: &'static [Field],
}

type Field = (&'static str, Shape);

const OBJECT_META_NAME: &str = "ObjectMeta";

const STRING: Shape = Shape::Text("string");

const OBJECT_META: &[Field] = &[
    ("annotations", Shape::TextMap),
    ("creationTimestamp", Shape::Time),
    ("deletionGracePeriodSeconds", Shape::Whole),
    ("deletionTimestamp", Shape::Time),
    ("finalizers", Shape::Texts),
    ("generateName", STRING),
    ("generation", Shape::Whole),
    ("labels", Shape::TextMap),
    ("managedFields", Shape::Objects(&MANAGED_FIELDS)),
    ("name", STRING),
    ("namespace", STRING),
    ("ownerReferences", Shape::Objects(&OWNERS)),
    ("resourceVersion", STRING),
    ("selfLink", STRING),
    ("uid", Shape::Text("types.UID")),
];

const OWNERS: Listed = Listed {
    owner: "OwnerReference.ownerReferences",
    item: "v1.OwnerReference",
    list: "[]v1.OwnerReference",
    fields: OWNER,
};

const MANAGED_FIELDS: Listed = Listed {
    owner: "ManagedFieldsEntry.managedFields",
    item: "v1.ManagedFieldsEntry",
    list: "[]v1.ManagedFieldsEntry",
    fields: MANAGED_FIELDS_ENTRY,
};

const OWNER: &[Field] = &[
    ("apiVersion", STRING),
    ("blockOwnerDeletion", Shape::Boolean),
    ("controller", Shape::Boolean),
    ("kind", STRING),
    ("name", STRING),
    ("uid", Shape::Text("types.UID")),
];

const MANAGED_FIELDS_ENTRY: &[Field] = &[
    ("apiVersion", STRING),
    ("fieldsType", STRING),
    ("fieldsV1", Shape::Anything),
    ("manager", STRING),
    ("operation", Shape::Text("v1.ManagedFieldsOperationType")),
    ("subresource", STRING),
    ("time", Shape::Time),
];

/// Checks the types of an object's metadata and drops what is null, empty or unknown. Returns where the unknown fields
/// were: `metadata.foo`.
pub fn coerce(object: &mut Object) -> Result<Vec<String>, MetadataError> {
    match object.fields_mut().get_mut("metadata") {
        None => Ok(Vec::new()),
        Some(Value::Null) => {
            object.fields_mut().remove("metadata");
            Ok(Vec::new())
        }
        Some(metadata) => coerce_at(metadata, "metadata"),
    }
}

/// The same for metadata that stands at a path.
pub(crate) fn coerce_at(metadata: &mut Value, path: &str) -> Result<Vec<String>, MetadataError> {
    let mut unknown = Vec::new();
    match metadata {
        Value::Object(fields) => coerce_fields(OBJECT_META_NAME, OBJECT_META, fields, path, &mut unknown)?,
        other => return Err(MetadataError::NoObject { found: json_type(other) }),
    }
    Ok(unknown)
}

fn coerce_fields(
    owner: &'static str,
    known: &'static [Field],
    fields: &mut Map<String, Value>,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), MetadataError> {
    let mut dropped = Vec::new();
    for (name, value) in fields.iter_mut() {
        match known.iter().find(|(known, _)| known == name) {
            None => {
                unknown.push(format!("{path}.{name}"));
                dropped.push(name.clone());
            }
            Some(_) if value.is_null() => dropped.push(name.clone()),
            Some((field, shape)) => {
                coerce_value(owner, field, *shape, value, path, unknown)?;
                // Lists and maps without elements are as good as absent; so are texts, but for what an owner must have.
                let empty = match value {
                    Value::Array(items) => items.is_empty(),
                    Value::Object(fields) => fields.is_empty() && !matches!(shape, Shape::Anything),
                    Value::String(text) => text.is_empty() && owner == OBJECT_META_NAME,
                    _ => false,
                };
                if empty {
                    dropped.push(name.clone());
                }
            }
        }
    }
    for name in dropped {
        fields.remove(&name);
    }
    Ok(())
}

fn coerce_value(
    owner: &'static str,
    field: &'static str,
    shape: Shape,
    value: &mut Value,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), MetadataError> {
    let mismatch =
        |found: &Value, expected: &'static str| MetadataError::Type { found: json_type(found), owner, field, expected };
    match (shape, value) {
        (Shape::Text(_), Value::String(_)) | (Shape::Boolean, Value::Bool(_)) | (Shape::Anything, _) => Ok(()),
        (Shape::Text(expected), other) => Err(mismatch(other, expected)),
        (Shape::Boolean, other) => Err(mismatch(other, "bool")),
        (Shape::Whole, Value::Number(number)) if number.is_i64() => Ok(()),
        (Shape::Whole, Value::Number(number)) => {
            Err(MetadataError::Number { number: number.to_string(), owner, field })
        }
        (Shape::Whole, other) => Err(mismatch(other, "int64")),
        (Shape::Time, Value::String(text)) => match parse_rfc3339(text) {
            Some(_) => Ok(()),
            None => Err(not_a_time(text)),
        },
        (Shape::Time, other) => Err(mismatch(other, "string")),
        (Shape::Texts, Value::Array(items)) => texts(items.iter_mut(), mismatch),
        (Shape::Texts, other) => Err(mismatch(other, "[]string")),
        (Shape::TextMap, Value::Object(fields)) => texts(fields.values_mut(), mismatch),
        (Shape::TextMap, other) => Err(mismatch(other, "map[string]string")),
        (Shape::Objects(listed), Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                match item {
                    Value::Object(fields) => {
                        let path = format!("{path}.{field}[{index}]");
                        coerce_fields(listed.owner, listed.fields, fields, &path, unknown)?;
                    }
                    Value::Null => *item = Value::Object(Map::new()),
                    other => return Err(mismatch(other, listed.item)),
                }
            }
            Ok(())
        }
        (Shape::Objects(listed), other) => Err(mismatch(other, listed.list)),
    }
}

fn not_a_time(text: &str) -> MetadataError {
    let (rest, expected) = where_unread(text, RFC3339_LAYOUT);
    MetadataError::Time { text: quote(text), rest: quote(rest), expected: quote(expected) }
}

/// Go reads null as the empty text.
fn texts<'v>(
    values: impl Iterator<Item = &'v mut Value>,
    mismatch: impl Fn(&Value, &'static str) -> MetadataError,
) -> Result<(), MetadataError> {
    for value in values {
        match value {
            Value::String(_) => {}
            Value::Null => *value = Value::from(""),
            other => return Err(mismatch(other, "string")),
        }
    }
    Ok(())
}
