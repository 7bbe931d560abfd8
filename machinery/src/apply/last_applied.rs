//! Objects that `kubectl apply` has managed from the client's side: their annotation says what was applied last.
//!
//! When kubectl begins to apply on the server's side, what it owns by that annotation is no conflict; and as long as the
//! annotation is there, it is kept up to date, so that older clients can go on.

use serde_json::Value;

use super::compare::compare;
use super::set::FieldSet;
use super::to_set::to_set;
use super::types::Type;
use super::validate::{Duplicates, validate};
use crate::GroupVersionKind;
use crate::decode::from_json;
use crate::encode::to_json;
use crate::name::MAX_ANNOTATIONS_BYTES;
use crate::object::Object;

/// The manager for which all this is done.
pub(super) const MANAGER: &str = "kubectl";

pub(super) const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The fields that are as kubectl has applied them; `None` if it has not, or if that cannot be said.
pub(super) fn fields(gvk: &GroupVersionKind, kind: &Type, live: &Object) -> Option<FieldSet> {
    let text = live.metadata().annotation(ANNOTATION).filter(|text| !text.is_empty())?;
    validate(kind, live.as_value(), Duplicates::Refused).ok()?;
    let applied = Object::try_from(from_json(text.as_bytes()).ok()?.value).ok()?;
    if applied.gvk()? != *gvk {
        return None;
    }
    validate(kind, applied.as_value(), Duplicates::Refused).ok()?;
    let comparison = compare(kind, applied.as_value(), live.as_value());
    let fields = to_set(kind, applied.as_value());
    Some(fields.difference(&comparison.modified).difference(&comparison.added).difference(&comparison.removed))
}

/// Writes what was applied into the annotation, if there is one. It goes away if there is no room for it.
pub(super) fn update(object: &mut Object, applied: &Object) {
    if object.metadata().annotation(ANNOTATION).is_none_or(str::is_empty) {
        return;
    }
    let mut applied = applied.clone();
    if applied.metadata().annotation(ANNOTATION).is_some()
        && let Some(Value::Object(annotations)) = applied.metadata_mut().get_mut("annotations")
    {
        annotations.remove(ANNOTATION);
    }
    let mut text = String::from_utf8(to_json(applied.as_value())).unwrap_or_default();
    text.push('\n');
    let others = object.metadata().annotations().filter(|(name, _)| *name != ANNOTATION);
    let others: usize = others.map(|(name, value)| name.len() + value.len()).sum();
    let fits = others + ANNOTATION.len() + text.len() <= MAX_ANNOTATIONS_BYTES;
    if let Some(Value::Object(annotations)) = object.metadata_mut().get_mut("annotations") {
        if fits {
            annotations.insert(ANNOTATION.to_owned(), text.into());
        } else {
            annotations.remove(ANNOTATION);
        }
    }
}
