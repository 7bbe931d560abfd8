//! ConfigMap: texts and bytes under names, for programs to read.

use std::time::SystemTime;

use bailiwick_machinery::name::config_key;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameRule, Object, Scope};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;

use super::description;
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

/// How many bytes all values may have together.
const MAX_BYTES: usize = 1024 * 1024;

const DATA: &str = "data";
const BINARY_DATA: &str = "binaryData";
const IMMUTABLE: &str = "immutable";

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::host::<ConfigMap>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    let data = Column::new("Data", ColumnType::String, description(&kind, DATA));
    let columns = || Columns::named().with(data.clone(), count).with_age_as_text();
    Ok(kind.short_names(&["cm"]).with_unconditional_update().columns(columns).strategy(Rules))
}

fn count(object: &Object, _: SystemTime) -> Value {
    (entries(object, DATA).count() + entries(object, BINARY_DATA).count()).into()
}

struct Rules;

// === impl Rules ===

impl Strategy for Rules {
    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        let mut total = 0;
        for (key, value) in entries(object, DATA) {
            check_key(DATA, key, errors);
            if entries(object, BINARY_DATA).any(|(other, _)| other == key) {
                let why = "duplicate of key present in binaryData";
                errors.push(FieldError::invalid(FieldPath::new(DATA).key(key), key, why));
            }
            total += value.len();
        }
        for (key, value) in entries(object, BINARY_DATA) {
            check_key(BINARY_DATA, key, errors);
            total += decoded_length(value);
        }
        if total > MAX_BYTES {
            errors.push(FieldError::too_long(FieldPath::new("[]"), MAX_BYTES));
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let is_immutable = |object: &Object| object.fields().get(IMMUTABLE) == Some(&Value::Bool(true));
        if !is_immutable(old) {
            return;
        }
        let why = "field is immutable when `immutable` is set";
        if !is_immutable(object) {
            errors.push(FieldError::forbidden(FieldPath::new(IMMUTABLE), why));
        }
        for field in [DATA, BINARY_DATA] {
            if object.fields().get(field) != old.fields().get(field) {
                errors.push(FieldError::forbidden(FieldPath::new(field), why));
            }
        }
    }
}

fn check_key(field: &'static str, key: &str, errors: &mut FieldErrors) {
    for why in config_key(key) {
        errors.push(FieldError::invalid(FieldPath::new(field).key(key), key, why));
    }
}

/// The values of a field; of bytes, as base64.
fn entries<'o>(object: &'o Object, field: &str) -> impl Iterator<Item = (&'o str, &'o str)> {
    let fields = object.fields().get(field).and_then(Value::as_object);
    fields.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// How many bytes a text of base64 stands for. What was accepted is padded.
fn decoded_length(base64: &str) -> usize {
    base64.len() / 4 * 3 - base64.bytes().rev().take_while(|byte| *byte == b'=').count()
}
