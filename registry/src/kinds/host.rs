//! Kubernetes' own kinds, as far as they make sense without a cluster: one file each.
//!
//! Such a kind is what Go's types make of it ([`Kind::host`]): JSON, protobuf and strategic merge patches follow from the
//! table in `machinery::host`. Its file adds what Kubernetes' registry adds: what is valid, what the columns are, and
//! which of its habits differ from most.

mod config_map;
mod custom_resource_definition;
mod event;
mod event_expiry;
mod lease;
mod namespace;
mod namespace_lifecycle;
mod pod_template;
mod rbac;
mod resource_names;
mod resource_quota;
mod secret;
mod service_account;
mod system_namespaces;

use bailiwick_machinery::name::Messages;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, Object};
use serde_json::{Map, Value};

use crate::kind::{Kind, KindError};

pub use event_expiry::expire_events;
pub use namespace_lifecycle::NamespaceLifecycle;
pub(crate) use namespace_lifecycle::terminating;
pub(crate) use resource_quota::QuotaCounts;
pub use resource_quota::{QuotaEnforcement, keep_quota_status};
pub(super) use resource_quota::{check_amounts as check_quota_amounts, check_scopes as check_quota_scopes};
pub use system_namespaces::{keep_system_namespaces, make_system_namespaces};

pub(super) fn all() -> Result<Vec<Kind>, KindError> {
    [
        config_map::kind(),
        custom_resource_definition::kind(),
        event::kind(),
        lease::kind(),
        namespace::kind(),
        pod_template::kind(),
        rbac::role(),
        rbac::cluster_role(),
        rbac::role_binding(),
        rbac::cluster_role_binding(),
        resource_quota::kind(),
        secret::kind(),
        service_account::kind(),
    ]
    .into_iter()
    .collect()
}

/// What Kubernetes says of a field, `spec.hard`, which is what it says of the column that shows it.
fn description(kind: &Kind, path: &str) -> String {
    let schema = kind.versions().first().map(|version| &version.schema);
    let found = path.split('.').fold(schema, |schema, name| schema.and_then(|schema| schema.property(name)));
    found.map(|schema| schema.description().to_owned()).unwrap_or_default()
}

/// The value at a path, `spec.hard`.
fn at<'o>(object: &'o Object, path: &str) -> Option<&'o Value> {
    path.split('.').try_fold(object.as_value(), |value, name| value.get(name))
}

/// The text at a path; empty if there is none.
fn text<'o>(object: &'o Object, path: &str) -> &'o str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// A text of a part of an object; empty if there is none.
fn text_of<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a path; empty if there is none.
fn list<'o>(object: &'o Object, path: &str) -> &'o [Value] {
    at(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts in the list at a path.
fn texts<'o>(object: &'o Object, path: &str) -> Vec<&'o str> {
    list(object, path).iter().filter_map(Value::as_str).collect()
}

/// The names and values of the map at a path.
fn entries<'o>(object: &'o Object, path: &str) -> impl Iterator<Item = (&'o str, &'o Value)> + use<'o> {
    let entries = at(object, path).and_then(Value::as_object);
    entries.into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// Changes a field that is an object. It is made if it is not there.
fn edit(object: &mut Object, name: &str, change: impl FnOnce(&mut Map<String, Value>)) {
    let mut fields = match object.fields_mut().remove(name) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    change(&mut fields);
    object.fields_mut().insert(name.to_owned(), Value::Object(fields));
}

/// Sets a field of a field.
fn set(object: &mut Object, name: &str, inner: &str, value: impl Into<Value>) {
    let value = value.into();
    edit(object, name, |fields| drop(fields.insert(inner.to_owned(), value)));
}

fn invalid(path: &FieldPath, value: &str, messages: Messages, errors: &mut FieldErrors) {
    errors.extend(messages.into_iter().map(|why| FieldError::invalid(path.clone(), value, why)));
}

/// What is wrong with a text that is no JSON, as Go words it where that is simple.
fn wrong_json(value: &[u8], error: &serde_json::Error) -> String {
    let at = value.iter().position(|byte| !byte.is_ascii_whitespace());
    match at.and_then(|at| value.get(at)) {
        None => "unexpected end of JSON input".to_owned(),
        _ if error.is_eof() => "unexpected end of JSON input".to_owned(),
        Some(byte) => format!("invalid character '{}' looking for beginning of value", char::from(*byte)),
    }
}

#[cfg(test)]
mod tests;
