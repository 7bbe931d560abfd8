//! A part of a pod, and where it is: what checks read of it, and what they say most often.
//!
//! Which fields there are, and of which types, was decided when the template was read: what is absent here is what Go's types
//! leave out, and reads as their zero.

use bailiwick_machinery::name::Messages;
use bailiwick_machinery::{FieldError, FieldErrorKind, FieldErrors, FieldPath, Quantity};
use serde_json::Value;

/// A part of a pod.
#[derive(Clone, Debug)]
pub(super) struct Part<'v> {
    value: &'v Value,
    path: FieldPath,
}

// === impl Part ===

impl<'v> Part<'v> {
    pub(super) fn new(value: &'v Value, path: FieldPath) -> Self {
        Self { value, path }
    }

    pub(super) fn value(&self) -> &'v Value {
        self.value
    }

    pub(super) fn path(&self) -> &FieldPath {
        &self.path
    }

    /// The same, told of elsewhere.
    pub(super) fn told_at(&self, path: FieldPath) -> Self {
        Self { value: self.value, path }
    }

    /// Where a field is.
    pub(super) fn at(&self, field: &str) -> FieldPath {
        self.path.child(field)
    }

    pub(super) fn get(&self, field: &str) -> Option<&'v Value> {
        self.value.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn has(&self, field: &str) -> bool {
        self.get(field).is_some()
    }

    /// A field that is an object.
    pub(super) fn part(&self, field: &str) -> Option<Part<'v>> {
        self.get(field).map(|value| Part { value, path: self.at(field) })
    }

    /// The items of a list.
    pub(super) fn parts(&self, field: &str) -> impl Iterator<Item = Part<'v>> + use<'v> {
        let path = self.at(field);
        self.items(field).iter().enumerate().map(move |(index, value)| Part { value, path: path.index(index) })
    }

    pub(super) fn items(&self, field: &str) -> &'v [Value] {
        self.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// A text that may be absent.
    pub(super) fn given(&self, field: &str) -> Option<&'v str> {
        self.get(field).and_then(Value::as_str)
    }

    pub(super) fn text(&self, field: &str) -> &'v str {
        self.given(field).unwrap_or_default()
    }

    pub(super) fn texts(&self, field: &str) -> Vec<&'v str> {
        self.items(field).iter().filter_map(Value::as_str).collect()
    }

    /// A number that may be absent.
    pub(super) fn given_number(&self, field: &str) -> Option<i64> {
        self.get(field).and_then(Value::as_i64)
    }

    pub(super) fn number(&self, field: &str) -> i64 {
        self.given_number(field).unwrap_or_default()
    }

    /// Something that is true or false, or is not said.
    pub(super) fn flag(&self, field: &str) -> Option<bool> {
        self.get(field).and_then(Value::as_bool)
    }

    pub(super) fn is(&self, field: &str) -> bool {
        self.flag(field) == Some(true)
    }

    /// The entries of a map of texts.
    pub(super) fn entries(&self, field: &str) -> impl Iterator<Item = (&'v str, &'v str)> + use<'v> {
        let entries = self.get(field).and_then(Value::as_object).into_iter().flatten();
        entries.map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()))
    }

    /// The entries of a map of amounts.
    pub(super) fn amounts(&self, field: &str) -> Vec<(&'v str, Quantity)> {
        let amounts = self.get(field).and_then(Value::as_object).into_iter().flatten();
        amounts.filter_map(|(name, amount)| Some((name.as_str(), Quantity::from_json(amount).ok()?))).collect()
    }

    /// Notes a text or a list that is empty.
    pub(super) fn require(&self, field: &str, errors: &mut FieldErrors) {
        if self.text(field).is_empty() && self.items(field).is_empty() {
            errors.push(FieldError::required(self.at(field), ""));
        }
    }

    /// Notes a text that is not named as it must be.
    pub(super) fn check_text(&self, field: &str, rule: fn(&str) -> Messages, errors: &mut FieldErrors) {
        let text = self.text(field);
        note(&self.at(field), text, rule(text), errors);
    }

    /// Notes a text that is there and is not named as it must be.
    pub(super) fn check_given(&self, field: &str, rule: fn(&str) -> Messages, errors: &mut FieldErrors) {
        if !self.text(field).is_empty() {
            self.check_text(field, rule, errors);
        }
    }

    /// Notes a text that is absent, or not named as it must be.
    pub(super) fn check_required(&self, field: &str, rule: fn(&str) -> Messages, errors: &mut FieldErrors) {
        self.require(field, errors);
        self.check_given(field, rule, errors);
    }

    /// Notes a value that is none of those there are.
    pub(super) fn check_known(&self, field: &str, known: &[&str], errors: &mut FieldErrors) {
        let text = self.text(field);
        if !known.contains(&text) {
            errors.push(unsupported(self.at(field), text, known));
        }
    }

    /// The same for a value that may be absent.
    pub(super) fn check_known_if_given(&self, field: &str, known: &[&str], errors: &mut FieldErrors) {
        if self.has(field) {
            self.check_known(field, known, errors);
        }
    }

    /// The same for a value that must be there.
    pub(super) fn check_known_required(&self, field: &str, known: &[&str], errors: &mut FieldErrors) {
        match self.text(field) {
            "" => errors.push(FieldError::required(self.at(field), "")),
            _ => self.check_known(field, known, errors),
        }
    }

    /// Notes a number that is outside of its bounds.
    pub(super) fn check_range(&self, field: &str, least: i64, most: i64, errors: &mut FieldErrors) {
        if let Some(number) = self.given_number(field)
            && !(least..=most).contains(&number)
        {
            errors.push(FieldError::invalid(self.at(field), number, out_of_range(least, most)));
        }
    }

    /// Notes fields that must not be there.
    pub(super) fn forbid(&self, fields: &[&str], why: &str, errors: &mut FieldErrors) {
        let there = fields.iter().filter(|field| self.has(field));
        errors.extend(there.map(|field| FieldError::forbidden(self.at(field), why)));
    }
}

/// Notes what keeps a text from being what it should be.
pub(super) fn note(path: &FieldPath, text: &str, messages: Messages, errors: &mut FieldErrors) {
    errors.extend(messages.into_iter().map(|why| FieldError::invalid(path.clone(), text, why)));
}

/// A value that Kubernetes has a type for, or that may be absent: it shows its JSON.
pub(super) fn invalid_named(path: FieldPath, value: &str, why: &str) -> FieldError {
    FieldError::invalid_json(path, &value, why)
}

/// The same for a value that is none of those there are.
pub(super) fn unsupported(path: FieldPath, value: &str, known: &[&str]) -> FieldError {
    let list = FieldError::not_supported(path.clone(), value, known).detail;
    FieldError { kind: FieldErrorKind::NotSupported, ..invalid_named(path, value, &list) }
}

pub(super) fn out_of_range(least: i64, most: i64) -> String {
    format!("must be between {least} and {most}, inclusive")
}
