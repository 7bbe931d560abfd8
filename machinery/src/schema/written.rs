//! The rules for schemas as definitions of custom resources write them, beyond those that make them structural: which
//! keywords may be used where, and what types of lists and maps need.
//!
//! Upstream walks fields in the random order of its maps; here they come in the order of their names.

use std::collections::HashSet;

use serde_json::Value;

use super::field_path::{Brackets, resolve};
use super::go_form::GoItems;
use super::props::{Additional, BRANCHES, Props};
use super::{ListType, MapType, Type};
use crate::{FieldError, FieldErrors, FieldPath};

/// How often a list of keys is shown in errors of one list: upstream shows all of it for each key that is wrong.
const MAX_KEYS_SHOWN: usize = 8;

/// What an older definition is known to have, and therefore may go on to have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Sets of items that are merged field by field.
    pub granular_sets: bool,
    /// Keys of lists that can be absent or null.
    pub absent_keys: bool,
    /// Defaults with fields that their schema does not know.
    pub unpruned_defaults: bool,
}

/// What holds for a place because of where it is.
#[derive(Clone, Copy)]
struct Place<'r> {
    /// Why there can be no default.
    no_default: Option<&'r str>,
    inside_metadata: bool,
    root: bool,
}

/// Notes what is wrong with a schema that is written at `path`.
pub(super) fn check(schema: Props<'_>, known: Known, path: &FieldPath, errors: &mut FieldErrors) {
    let root = Place { no_default: None, inside_metadata: false, root: true };
    Walk { known, errors }.schema(schema, root, path);
}

/// Whether somewhere there is a set whose items are merged field by field.
pub(super) fn has_granular_sets(schema: Props<'_>) -> bool {
    schema.any(&|schema| granular_item(schema).is_some())
}

/// Whether somewhere there is a key of a list that can be absent or null.
pub(super) fn has_absent_keys(schema: Props<'_>) -> bool {
    schema.any(&|schema| !absent_keys(schema, &FieldPath::root()).is_empty())
}

struct Walk<'w> {
    known: Known,
    errors: &'w mut FieldErrors,
}

// === impl Walk ===

impl Walk<'_> {
    fn schema(&mut self, schema: Props<'_>, place: Place<'_>, path: &FieldPath) {
        self.keywords(schema, place, path);
        self.fields(schema, place, path);
        let inner = Place { root: false, ..place };
        if let Some(not) = schema.single("not") {
            self.schema(not, inner, &path.child("not"));
        }
        for keyword in BRANCHES {
            for (i, branch) in schema.branches(keyword) {
                self.schema(branch, inner, &path.child(keyword).index(i));
            }
        }
        for (name, definition) in schema.named("definitions") {
            self.schema(definition, inner, &path.child("definitions").key(name));
        }
        if let Some(items) = schema.items() {
            self.schema(items, inner, &path.child("items"));
        }
        for (i, items) in schema.branches("items") {
            self.schema(items, inner, &path.child("items").index(i));
        }
        for (name, dependency) in schema.named("dependencies") {
            self.schema(dependency, inner, &path.child("dependencies").key(name));
        }
        self.extensions(schema, path);
        for (i, rule) in schema.list("x-kubernetes-validations").enumerate() {
            self.rule(schema, rule, &path.child("x-kubernetes-validations").index(i));
        }
    }

    fn keywords(&mut self, schema: Props<'_>, place: Place<'_>, path: &FieldPath) {
        let kind = schema.kind();
        if !kind.is_empty() && Type::of_name(kind).is_none() {
            let mut names: Vec<&str> = Type::ALL.into_iter().map(Type::name).collect();
            names.sort_unstable();
            self.errors.push(FieldError::not_supported(path.child("type"), kind, &names));
        }
        if let Some(reason) = place.no_default.filter(|_| schema.has("default")) {
            self.forbid(path, "default", format!("must not be set {reason}"));
        }
        let filled = |keyword: &str| schema.get(keyword).is_some_and(|value| !is_empty(value));
        for (keyword, used) in [
            ("id", filled("id")),
            ("additionalItems", schema.has("additionalItems")),
            ("patternProperties", filled("patternProperties")),
            ("definitions", filled("definitions")),
            ("dependencies", schema.has("dependencies")),
            ("$ref", schema.has("$ref")),
        ] {
            if used {
                self.forbid(path, keyword, format!("{keyword} is not supported"));
            }
        }
        if kind == "null" {
            self.forbid(path, "type", "type cannot be set to null, use nullable as an alternative");
        }
        if schema.get("items").and_then(Value::as_array).is_some_and(|items| !items.is_empty()) {
            self.forbid(path, "items", "items must be a schema object and not an array");
        }
        if place.inside_metadata && schema.embedded() {
            self.forbid(path, "x-kubernetes-embedded-resource", "must not be used inside of resource meta");
        }
        if schema.flag("uniqueItems") {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbid(path, "uniqueItems", detail);
        }
    }

    fn fields(&mut self, schema: Props<'_>, place: Place<'_>, path: &FieldPath) {
        let has_properties = schema.get("properties").is_some_and(|value| !is_empty(value));
        let additional = schema.additional();
        if has_properties && matches!(additional, Additional::Allowed(false) | Additional::Schema(_)) {
            let detail = "additionalProperties and properties are mutual exclusive";
            self.forbid(path, "additionalProperties", detail);
        }
        if let Additional::Schema(additional) = additional {
            let mut inner = Place { root: false, ..place };
            if place.inside_metadata {
                inner.no_default = Some("inside additionalProperties applying to object metadata");
            }
            self.schema(additional, inner, &path.child("additionalProperties"));
        }
        for (name, property) in schema.properties() {
            let mut inner = Place { root: false, ..place };
            let reason = format!("in top-level {name}");
            if (place.root || schema.embedded()) && matches!(name, "metadata" | "kind" | "apiVersion") {
                inner.inside_metadata = true;
                if place.root {
                    inner.no_default = Some(&reason);
                }
            }
            self.schema(property, inner, &path.child("properties").key(name));
        }
    }

    fn extensions(&mut self, schema: Props<'_>, path: &FieldPath) {
        let kind = schema.kind();
        let preserve = "x-kubernetes-preserve-unknown-fields";
        if schema.optional_flag(preserve) == Some(false) {
            self.errors.push(FieldError::invalid(path.child(preserve), false, "must be true or undefined"));
        }
        let map_type = schema.optional_text("x-kubernetes-map-type");
        if map_type.is_some() && kind != "object" {
            self.wrong_type(kind, path, "must be object if x-kubernetes-map-type is specified");
        }
        // The names stand in the error in upstream's order.
        if let Some(name) = map_type.filter(|name| !MapType::ALL.iter().any(|known| known.name() == *name)) {
            let field = path.child("x-kubernetes-map-type");
            self.errors.push(FieldError::not_supported(field, name, &["atomic", "granular"]));
        }
        let list_type = schema.list_type();
        if list_type.is_some() && kind != "array" {
            self.wrong_type(kind, path, "must be array if x-kubernetes-list-type is specified");
        } else if !self.known.granular_sets
            && let Some(keyword) = granular_item(schema)
        {
            let shown = schema.items().and_then(Props::list_type).map_or(Value::Null, Value::from);
            let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
            self.errors.push(FieldError::invalid(path.child("items").child(keyword), shown, detail));
        }
        if let Some(name) = list_type.filter(|name| !ListType::ALL.iter().any(|known| known.name() == *name)) {
            let field = path.child("x-kubernetes-list-type");
            self.errors.push(FieldError::not_supported(field, name, &["atomic", "set", "map"]));
        }
        if schema.map_keys().next().is_some() && list_type != Some("map") {
            let field = path.child("x-kubernetes-list-type");
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            self.errors.push(match list_type {
                None => FieldError::required(field, detail),
                Some(other) => FieldError::invalid(field, other, detail),
            });
        }
        if list_type == Some("map") {
            self.keyed_list(schema, path);
        }
        if !self.known.absent_keys {
            self.errors.extend(absent_keys(schema, path));
        }
    }

    fn keyed_list(&mut self, schema: Props<'_>, path: &FieldPath) {
        let keys_path = path.child("x-kubernetes-list-map-keys");
        if schema.map_keys().next().is_none() {
            let detail = "must not be empty if x-kubernetes-list-type is map";
            self.errors.push(FieldError::required(keys_path.clone(), detail));
        }
        let items_path = path.child("items");
        let Some(items) = schema.items() else {
            self.errors.push(match schema.get("items") {
                None => FieldError::required(items_path, "must have a schema if x-kubernetes-list-type is map"),
                Some(items) => {
                    let detail = "must only have a single schema if x-kubernetes-list-type is map";
                    FieldError::invalid_json(items_path, &GoItems(items), detail)
                }
            });
            return;
        };
        if items.kind() != "object" {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            self.errors.push(FieldError::invalid(items_path.child("type"), items.kind(), detail));
            return;
        }
        let keys: Vec<&str> = schema.map_keys().collect();
        let mut known = HashSet::new();
        let mut shown = 0;
        let mut show_keys = |errors: &mut FieldErrors, detail: &str| {
            if shown < MAX_KEYS_SHOWN {
                errors.push(FieldError::invalid(keys_path.clone(), keys.clone(), detail));
            }
            shown += 1;
        };
        for key in &keys {
            match items.property(key) {
                Some(property) if matches!(property.kind(), "array" | "object") => {
                    // The type that is shown is that of the item, not that of the key: so has it upstream.
                    let field = items_path.child("properties").key(key).child("type");
                    let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    self.errors.push(FieldError::invalid(field, items.kind(), detail));
                }
                Some(_) => {}
                None => show_keys(self.errors, "entries must all be names of item properties"),
            }
            if !known.insert(*key) {
                show_keys(self.errors, "must not contain duplicate entries");
            }
        }
    }

    /// The form of a rule in CEL; what it says is not looked at.
    fn rule(&mut self, schema: Props<'_>, rule: &Value, path: &FieldPath) {
        let Some(rule) = Props::of(rule) else {
            return;
        };
        let (text, message) = (rule.text("rule").trim(), rule.text("message").trim());
        if text.is_empty() {
            self.errors.push(FieldError::required(path.child("rule"), "rule is not specified"));
        } else if !rule.text("message").is_empty() && message.is_empty() {
            self.invalid(rule, "message", path, "must be non-empty if specified");
        } else if has_line_breaks(message) {
            self.invalid(rule, "message", path, "must not contain line breaks");
        } else if has_line_breaks(text) && message.is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            self.errors.push(FieldError::required(path.child("message"), detail));
        }
        let expression = rule.text("messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            self.errors.push(FieldError::required(path.child("messageExpression"), detail));
        }
        let reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
        if let Some(reason) = rule.optional_text("reason").filter(|reason| !reasons.contains(reason)) {
            self.errors.push(FieldError::not_supported(path.child("reason"), reason, &reasons));
        }
        let field_path = rule.text("fieldPath");
        if !field_path.is_empty() && field_path.trim().is_empty() {
            self.invalid(rule, "fieldPath", path, "must be non-empty if specified");
        }
        if has_line_breaks(field_path) {
            self.invalid(rule, "fieldPath", path, "must not contain line breaks");
        }
        if !field_path.is_empty() && resolve(field_path, schema, Brackets::Allowed).is_err() {
            self.invalid(rule, "fieldPath", path, "must be a valid path");
        }
    }

    fn invalid(&mut self, rule: Props<'_>, keyword: &str, path: &FieldPath, detail: &str) {
        self.errors.push(FieldError::invalid(path.child(keyword), rule.text(keyword), detail));
    }

    fn forbid(&mut self, path: &FieldPath, keyword: &str, detail: impl Into<String>) {
        self.errors.push(FieldError::forbidden(path.child(keyword), detail));
    }

    fn wrong_type(&mut self, kind: &str, path: &FieldPath, detail: &str) {
        let field = path.child("type");
        self.errors.push(match kind {
            "" => FieldError::required(field, detail),
            kind => FieldError::invalid(field, kind, detail),
        });
    }
}

/// The keyword by which the items of a set are not atomic, if they are not.
fn granular_item(schema: Props<'_>) -> Option<&'static str> {
    let items = schema.items().filter(|_| schema.list_type() == Some("set"))?;
    match items.kind() {
        "array" if items.list_type().is_some_and(|list_type| list_type != "atomic") => Some("x-kubernetes-list-type"),
        "object" if items.text("x-kubernetes-map-type") != "atomic" => Some("x-kubernetes-map-type"),
        _ => None,
    }
}

/// What could be null or absent in a set or a list with keys.
fn absent_keys(schema: Props<'_>, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (Some(items), Some(list_type @ ("set" | "map"))) = (schema.items(), schema.list_type()) else {
        return errors;
    };
    let path = path.child("items");
    if items.flag("nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(path.child("nullable"), detail));
    }
    let required: HashSet<&str> = items.list("required").filter_map(Value::as_str).collect();
    let keys = schema.map_keys().filter(|_| list_type == "map");
    for (key, property) in keys.filter_map(|key| Some((key, items.property(key)?))) {
        let field = path.child("properties").key(key);
        if !required.contains(key) && !property.has("default") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                          property";
            errors.push(FieldError::required(field.child("default"), detail));
        }
        if property.flag("nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(field.child("nullable"), detail));
        }
    }
    errors
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn has_line_breaks(text: &str) -> bool {
    text.contains(['\n', '\r'])
}
