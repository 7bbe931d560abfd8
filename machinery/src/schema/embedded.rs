//! Objects inside of objects: their apiVersion, kind and metadata.

use serde_json::{Map, Value};

use super::Schema;
use super::notes::{MAX_ERRORS, Notes};
use super::path::Path;
use crate::metadata::coerce_at;
use crate::{FieldError, FieldErrors, FieldPath, GroupVersion, NameRule, Object, Scope, validate_object_metadata};

/// Shows each object inside the value that is one of its own, and where it is: for rules that no schema knows, such as
/// those of metadata.
pub fn visit_embedded(
    schema: &Schema,
    value: &Value,
    path: &FieldPath,
    mut visit: impl FnMut(&FieldPath, &Map<String, Value>),
) {
    each(schema, value, &Path::ROOT, &mut |at, fields| visit(&at.below(path), fields));
}

/// Notes what is wrong with apiVersion, kind and metadata of objects inside the value.
pub(super) fn validate(schema: &Schema, value: &Value, notes: &mut Notes<'_>) {
    each(schema, value, &Path::ROOT, &mut |path, fields| validate_resource(fields, path, notes));
}

fn each(schema: &Schema, value: &Value, path: &Path<'_>, visit: &mut dyn FnMut(&Path<'_>, &Map<String, Value>)) {
    if !schema.0.below.embedded {
        return;
    }
    match value {
        Value::Object(fields) => {
            if schema.0.embedded {
                visit(path, fields);
            }
            for (name, value) in fields {
                if let Some(property) = schema.property(name) {
                    each(property, value, &path.field(name), visit);
                } else if let Some(additional) = schema.additional() {
                    each(additional, value, &path.key(name), visit);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                for (i, item) in items.iter().enumerate() {
                    each(schema, item, &path.index(i), visit);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn validate_resource(fields: &Map<String, Value>, path: &Path<'_>, notes: &mut Notes<'_>) {
    for name in ["apiVersion", "kind"] {
        if !fields.contains_key(name) {
            notes.push(&path.field(name), |field| FieldError::required(field, ""));
        }
    }
    if let Some(value) = fields.get("apiVersion") {
        let path = path.field("apiVersion");
        match value.as_str() {
            None => notes.push(&path, |field| FieldError::invalid(field, value.clone(), "must be a string")),
            Some("") => notes.push(&path, |field| FieldError::invalid(field, "", "must not be empty")),
            Some(text) if GroupVersion::parse(text).is_none() => {
                let detail = format!("unexpected GroupVersion string: {text}");
                notes.push(&path, |field| FieldError::invalid(field, text, detail));
            }
            Some(_) => {}
        }
    }
    if let Some(value) = fields.get("kind") {
        let path = path.field("kind");
        match value.as_str() {
            None => notes.push(&path, |field| FieldError::invalid(field, value.clone(), "must be a string")),
            Some("") => notes.push(&path, |field| FieldError::invalid(field, "", "must not be empty")),
            Some(kind) => {
                if let Some(problems) = label_problems(&kind.to_lowercase()) {
                    let detail = format!("may have mixed case, but should otherwise match: {problems}");
                    notes.push(&path, |field| FieldError::invalid(field, kind, detail));
                }
            }
        }
    }
    let Some(metadata) = fields.get("metadata") else {
        return;
    };
    match undecodable(metadata) {
        Some(detail) => {
            notes.push(&path.field("metadata"), |field| FieldError::invalid(field, metadata.clone(), detail));
        }
        None => {
            for error in metadata_errors(metadata) {
                notes.push(path, |object| FieldError { field: object.child(error.field.as_str()), ..error });
            }
        }
    }
}

/// What is wrong with metadata that can be read. It needs no name, and is in a namespace if it says so.
fn metadata_errors(metadata: &Value) -> Vec<FieldError> {
    let mut object = Object::new(Map::new());
    *object.metadata_mut() = metadata.as_object().cloned().unwrap_or_default();
    if object.metadata().name().is_empty() {
        object.set_metadata_text("name", "unnamed");
    }
    let scope = if object.metadata().namespace().is_empty() { Scope::Cluster } else { Scope::Namespaced };
    let mut errors = FieldErrors::default();
    validate_object_metadata(&object, scope, NameRule::PathSegment, &mut errors);
    errors.into_vec()
}

/// What keeps a text from being a DNS-1035 label.
fn label_problems(text: &str) -> Option<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push("must be no more than 63 characters");
    }
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let shaped = text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(inner) && !text.ends_with('-');
    if !shaped {
        problems.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        );
    }
    (!problems.is_empty()).then(|| problems.join(","))
}

/// Why metadata cannot be read as such, in the words of Go's decoder. The first field that does not fit is named.
fn undecodable(metadata: &Value) -> Option<String> {
    if metadata.is_null() {
        return None;
    }
    coerce_at(&mut metadata.clone(), "metadata").err().map(|error| error.to_string())
}

/// Checks the types of apiVersion, kind and metadata of all objects inside a value, and drops from their metadata what
/// is null, empty or unknown. Returns where the unknown fields were, in order: `spec.parts[0].metadata.foo`.
pub fn coerce_embedded(schema: &Schema, value: &mut Value) -> Result<Vec<String>, FieldError> {
    coerce_embedded_at(schema, value, &FieldPath::root())
}

/// The same for a value that stands at `path`.
pub(super) fn coerce_embedded_at(
    schema: &Schema,
    value: &mut Value,
    path: &FieldPath,
) -> Result<Vec<String>, FieldError> {
    let mut coerced = Coerced { prefix: path, unknown: Vec::new() };
    coerce(schema, value, &Path::ROOT, &mut coerced)?;
    coerced.unknown.sort_unstable();
    Ok(coerced.unknown)
}

/// Where values stand, and the unknown fields so far.
struct Coerced<'c> {
    prefix: &'c FieldPath,
    unknown: Vec<String>,
}

fn coerce(schema: &Schema, value: &mut Value, path: &Path<'_>, coerced: &mut Coerced<'_>) -> Result<(), FieldError> {
    if !schema.0.below.embedded {
        return Ok(());
    }
    match value {
        Value::Object(fields) => {
            if schema.0.embedded {
                coerce_resource(fields, path, coerced)?;
            }
            for (name, value) in fields {
                if let Some(property) = schema.property(name) {
                    coerce(property, value, &path.field(name), coerced)?;
                } else if let Some(additional) = schema.additional() {
                    coerce(additional, value, &path.key(name), coerced)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                for (i, item) in items.iter_mut().enumerate() {
                    coerce(schema, item, &path.index(i), coerced)?;
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

fn coerce_resource(
    fields: &mut Map<String, Value>,
    path: &Path<'_>,
    coerced: &mut Coerced<'_>,
) -> Result<(), FieldError> {
    let at = |name: &str| path.field(name).below(coerced.prefix);
    for name in ["apiVersion", "kind"] {
        if let Some(value) = fields.get(name).filter(|value| !value.is_string()) {
            return Err(FieldError::invalid(at(name), value.clone(), "must be a string"));
        }
    }
    let Some(metadata) = fields.get_mut("metadata") else {
        return Ok(());
    };
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    let place = at("metadata");
    let found = coerce_at(metadata, &place.to_string())
        .map_err(|error| FieldError::invalid(place, metadata.clone(), error.to_string()))?;
    let room = MAX_ERRORS.saturating_sub(coerced.unknown.len());
    coerced.unknown.extend(found.into_iter().take(room));
    Ok(())
}
