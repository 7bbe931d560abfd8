//! Whether the defaults in a schema are values that the schema itself lets pass.

use serde_json::{Map, Value};

use super::Schema;
use super::embedded::{self, coerce_embedded_at};
use super::notes::Notes;
use super::prune::has_unknown_fields;
use super::validate::validate_rules;
use crate::{FieldError, FieldErrors, FieldPath};

/// What defaults may hold that their schema does not specify.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Unknown {
    Refused,
    Allowed,
}

/// Notes what is wrong with the defaults in the schema of an object, which stands at `path`. The schema says of itself
/// that it is one of an object (`x-kubernetes-embedded-resource`).
pub(super) fn check(schema: &Schema, unknown: Unknown, path: &FieldPath, errors: &mut FieldErrors) {
    let root = Surroundings { object: schema, steps: &[], inside_metadata: false };
    Walk { unknown, errors }.schema(schema, root, path);
}

/// Whether a default holds what its schema does not specify.
pub(super) fn has_unpruned(schema: &Schema) -> bool {
    let unpruned = |default: &Value| has_unknown_fields(schema, default);
    schema.default_value().is_some_and(unpruned) || schema.0.children().any(has_unpruned)
}

/// From the object that a value is in to the value.
#[derive(Clone)]
enum Step<'s> {
    Field(&'s str),
    Item,
}

#[derive(Clone, Copy)]
struct Surroundings<'s> {
    object: &'s Schema,
    steps: &'s [Step<'s>],
    inside_metadata: bool,
}

struct Walk<'w> {
    unknown: Unknown,
    errors: &'w mut FieldErrors,
}

// === impl Walk ===

impl Walk<'_> {
    fn schema<'s>(&mut self, schema: &'s Schema, mut around: Surroundings<'s>, path: &FieldPath) {
        if !schema.0.below.defaults {
            return;
        }
        if schema.is_embedded_resource() {
            around = Surroundings { object: schema, steps: &[], inside_metadata: false };
        }
        if let Some(default) = schema.default_value() {
            let path = path.child("default");
            match around.inside_metadata {
                true => self.inside_metadata(schema, default, around, &path),
                false => self.value(schema, default, &path),
            }
        }
        if let Some(items) = schema.items() {
            let steps = [around.steps, &[Step::Item]].concat();
            self.schema(items, Surroundings { steps: &steps, ..around }, &path.child("items"));
        }
        let properties = path.child("properties");
        for (name, property) in schema.properties() {
            let steps = [around.steps, &[Step::Field(name)]].concat();
            let of_object = schema.is_embedded_resource() && matches!(name, "metadata" | "apiVersion" | "kind");
            let inside_metadata = around.inside_metadata || of_object;
            self.schema(property, Surroundings { steps: &steps, inside_metadata, ..around }, &properties.key(name));
        }
    }

    fn value(&mut self, schema: &Schema, default: &Value, path: &FieldPath) {
        if self.unknown == Unknown::Refused && has_unknown_fields(schema, default) {
            self.errors.push(FieldError::invalid(path.clone(), default.clone(), "must not have unknown fields"));
        }
        let mut coerced = default.clone();
        if let Err(error) = coerce_embedded_at(schema, &mut coerced, path) {
            self.errors.push(error);
            return;
        }
        let mut found = FieldErrors::default();
        embedded::validate(schema, &coerced, &mut Notes::new(path, &mut found));
        if found.is_empty() {
            validate_rules(schema, &coerced, path, &mut found);
        }
        self.errors.extend(found.into_vec());
    }

    /// A default inside of metadata makes metadata that must be right as a whole.
    fn inside_metadata(&mut self, schema: &Schema, default: &Value, around: Surroundings<'_>, path: &FieldPath) {
        let mut object = surrounded(default, around.steps);
        let mut found = FieldErrors::default();
        match coerce_embedded_at(around.object, &mut object, &FieldPath::root()) {
            Err(error) => found.push(error),
            Ok(_) => embedded::validate(around.object, &object, &mut Notes::new(&FieldPath::root(), &mut found)),
        }
        if found.is_empty() {
            validate_rules(schema, default, path, self.errors);
        } else {
            let detail = format!("must result in valid metadata: {found}");
            self.errors.push(FieldError::invalid(path.clone(), default.clone(), detail));
        }
    }
}

/// An object that has nothing but a value at a place.
fn surrounded(value: &Value, steps: &[Step<'_>]) -> Value {
    let wrap = |inner: Value, step: &Step<'_>| match step {
        Step::Item => Value::Array(vec![inner]),
        Step::Field(name) => Value::Object(Map::from_iter([((*name).to_owned(), inner)])),
    };
    let mut object = steps.iter().rev().fold(value.clone(), wrap);
    if let Some(fields) = object.as_object_mut() {
        fields.entry("kind").or_insert_with(|| "Validation".into());
        fields.entry("apiVersion").or_insert_with(|| "validation/v1".into());
    }
    object
}
