//! Lists of users and groups, as the kinds of organizations have them.

use std::time::SystemTime;

use bailiwick_api::OrgGroupName;
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, Object};
use serde_json::Value;

/// The longest name of a user or a group.
const MAX_BYTES: usize = 1_024;
/// What precedes the names of Kubernetes' own groups.
const SYSTEM: &str = "system:";

/// The texts of a list, with their places.
pub(super) fn texts<'o>(object: &'o Object, field: &str) -> impl Iterator<Item = (usize, &'o str)> {
    let list = object.fields().get(field).and_then(Value::as_array).into_iter().flatten().enumerate();
    list.filter_map(|(index, text)| Some((index, text.as_str()?)))
}

/// Notes names that no user has. Any other may be one: service accounts and identity providers have their own habits.
pub(super) fn check_users(object: &Object, field: &str, errors: &mut FieldErrors) {
    for (index, user) in texts(object, field) {
        check_name(&FieldPath::new(field).index(index), user, errors);
    }
}

/// Notes names that no group has, and those of organizations' groups, which count in projects only.
pub(super) fn check_groups(object: &Object, field: &str, errors: &mut FieldErrors) {
    for (index, group) in texts(object, field) {
        let path = FieldPath::new(field).index(index);
        check_name(&path, group, errors);
        if group.starts_with(OrgGroupName::PREFIX) {
            errors.push(FieldError::invalid(path, group, "is a group of an organization"));
        }
    }
}

/// The same, and notes Kubernetes' own groups: an organization is not run by, or made of, everyone who is known.
pub(super) fn check_plain_groups(object: &Object, field: &str, errors: &mut FieldErrors) {
    check_groups(object, field, errors);
    for (index, group) in texts(object, field).filter(|(_, group)| group.starts_with(SYSTEM)) {
        errors.push(FieldError::invalid(FieldPath::new(field).index(index), group, "is a group of the system"));
    }
}

fn check_name(path: &FieldPath, name: &str, errors: &mut FieldErrors) {
    if name.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
    } else if name.len() > MAX_BYTES {
        errors.push(FieldError::too_long(path.clone(), MAX_BYTES));
    } else if name.chars().any(char::is_control) || name.trim() != name {
        let why = "must not contain control characters, nor begin or end with a space";
        errors.push(FieldError::invalid(path.clone(), name, why));
    }
}

/// What a column shows of a condition: whether it is so.
pub(super) fn condition(wanted: &'static str) -> impl Fn(&Object, SystemTime) -> Value + Send + Sync + 'static {
    move |object, _| {
        let conditions = object.as_value().pointer("/status/conditions").and_then(Value::as_array);
        let found = conditions.into_iter().flatten().find(|condition| condition["type"] == wanted);
        found.and_then(|condition| condition.get("status")).cloned().unwrap_or(Value::Null)
    }
}

/// What a column shows of a list: how long it is.
pub(super) fn count(field: &'static str) -> impl Fn(&Object, SystemTime) -> Value + Send + Sync + 'static {
    move |object, _| texts(object, field).count().into()
}
