//! JSON merge patches: an object whose fields replace those of another, and whose nulls remove them.

use serde_json::{Map, Value};

use crate::decode::{DecodeError, Decoded, Duplicate, MAX_DEPTH, from_json, problems};
use crate::encode::json_len;

use super::json::depth;
use super::{MAX_RESULT, PatchError};

/// A JSON merge patch.
#[derive(Clone, Debug, PartialEq)]
pub struct MergePatch {
    fields: Map<String, Value>,
    duplicates: Vec<Duplicate>,
}

// === impl MergePatch ===

impl MergePatch {
    /// Reads a patch.
    pub fn decode(body: &[u8]) -> Result<Self, PatchError> {
        let Decoded { value, duplicates } = from_json(body).map_err(PatchError::Malformed)?;
        match crate::decode::object_or_error(value) {
            Ok(fields) => Ok(Self { fields, duplicates }),
            Err(DecodeError::NotAnObject { found: "null" }) => Err(PatchError::NoMergePatch),
            Err(error) => Err(PatchError::Malformed(error)),
        }
    }

    /// What is questionable about how it was written.
    pub fn problems(&self) -> Vec<String> {
        problems(&self.duplicates)
    }

    /// The fields that it sets and removes.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The object with the patch applied.
    pub fn apply(&self, object: &Map<String, Value>) -> Result<Map<String, Value>, PatchError> {
        let mut result = object.clone();
        merge_fields(&mut result, self.fields.clone());
        let result = Value::Object(result);
        if depth(&result) > MAX_DEPTH {
            return Err(PatchError::ResultTooDeep);
        }
        if json_len(&result) > MAX_RESULT {
            return Err(PatchError::ResultTooLarge);
        }
        crate::decode::object_or_error(result).map_err(PatchError::Malformed)
    }
}

fn merge_fields(fields: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (key, new) in patch {
        if new.is_null() {
            fields.remove(&key);
            continue;
        }
        let merged = match (fields.get_mut(&key), new) {
            (Some(Value::Object(fields)), Value::Object(patch)) => {
                merge_fields(fields, patch);
                continue;
            }
            // Here, and only here, upstream keeps the nulls inside.
            (Some(Value::Object(_)), new) => new,
            (_, mut new) => {
                remove_nulls(&mut new);
                new
            }
        };
        fields.insert(key, merged);
    }
}

/// Removes the fields that are null; items of lists that are null stay.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}
