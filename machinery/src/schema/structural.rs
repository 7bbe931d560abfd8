//! The rules that make a schema structural: the shape of an object can be told from the types alone, and what stands
//! under `allOf`, `anyOf`, `oneOf` and `not` only narrows values.

use super::go_form::structural_fields;
use super::notes::{MAX_ERROR_BYTES, MAX_ERRORS};
use super::pattern::{Pattern, PatternBudget};
use super::props::{Additional, BRANCHES, Props};
use crate::{FieldError, FieldPath};

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Where `schema`, which stands at `path`, is not structural. In the order of the texts, as upstream has it.
pub(super) fn check(schema: Props<'_>, path: &FieldPath) -> Vec<FieldError> {
    let mut found = Found::default();
    invariants(schema, Level::Root, path, &mut found);
    completeness(schema, schema, path, path, &mut found);
    found.errors.sort_by_cached_key(ToString::to_string);
    found.errors
}

/// The errors so far, and what patterns may still cost.
#[derive(Default)]
struct Found {
    errors: Vec<FieldError>,
    /// How long they are.
    bytes: usize,
    patterns: PatternBudget,
}

// === impl Found ===

impl Found {
    fn push(&mut self, error: FieldError) {
        if self.errors.len() < MAX_ERRORS && self.bytes < MAX_ERROR_BYTES {
            self.bytes += error.field.as_str().len() + error.detail.len();
            self.errors.push(error);
        }
    }
}

fn invariants(schema: Props<'_>, level: Level, path: &FieldPath, errors: &mut Found) {
    match schema.items() {
        Some(items) => invariants(items, Level::Item, &path.child("items"), errors),
        None if schema.kind() == "array" => {
            errors.push(FieldError::required(path.child("items"), "must be specified"));
        }
        None => {}
    }
    let properties = path.child("properties");
    for (name, property) in schema.properties() {
        invariants(property, Level::Field, &properties.key(name), errors);
    }
    let additional = path.child("additionalProperties");
    if !matches!(schema.additional(), Additional::Unset) && level == Level::Root {
        errors.push(FieldError::forbidden(additional.clone(), "must not be used at the root"));
    }
    if let Additional::Schema(schema) = schema.additional() {
        invariants(schema, Level::Field, &additional, errors);
    }
    extensions(schema, path, errors);
    let first_all_of = schema.branches("allOf").next().is_some_and(|(i, first)| i == 0 && is_either(first));
    let skip = Skip { any_of: is_either(schema), first_all_of_any_of: first_all_of };
    nested_rules(schema, skip, path, errors);
    types(schema, level, path, errors);
    metadata(schema, level, path, errors);
}

fn extensions(schema: Props<'_>, path: &FieldPath, errors: &mut Found) {
    let detail = "must be false if x-kubernetes-int-or-string is true";
    if schema.int_or_string() && schema.preserves_unknown() {
        errors.push(FieldError::invalid(path.child("x-kubernetes-preserve-unknown-fields"), true, detail));
    }
    if schema.int_or_string() && schema.embedded() {
        errors.push(FieldError::invalid(path.child("x-kubernetes-embedded-resource"), true, detail));
    }
}

fn types(schema: Props<'_>, level: Level, path: &FieldPath, errors: &mut Found) {
    let field = path.child("type");
    let kind = schema.kind();
    if schema.embedded() && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match kind {
            "" => FieldError::required(field.clone(), detail),
            kind => FieldError::invalid(field.clone(), kind, detail),
        });
    } else if kind.is_empty() && !schema.int_or_string() && !schema.preserves_unknown() {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(field.clone(), detail));
    }
    if level == Level::Root && !matches!(kind, "" | "object") {
        errors.push(FieldError::invalid(field, kind, "must be object at the root"));
    }
}

/// What is said of apiVersion, kind and metadata, which every object has without being told.
fn metadata(schema: Props<'_>, level: Level, path: &FieldPath, errors: &mut Found) {
    if schema.embedded() && !matches!(schema.additional(), Additional::Unset) {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(path.child("additionalProperties"), detail));
    }
    let is_object = level == Level::Root || schema.embedded();
    let properties = path.child("properties");
    for (name, kind) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
        let Some(property) = schema.property(name) else {
            continue;
        };
        let place = properties.key(name);
        if is_object && property.kind() != kind {
            errors.push(FieldError::invalid(place.child("type"), property.kind(), format!("must be {kind}")));
        }
        if name == "metadata" && level == Level::Root && !names_only(property) {
            let detail = "must not specify anything other than name and generateName, \
                          but metadata is implicitly specified";
            errors.push(FieldError::forbidden(place, detail));
        }
    }
    if schema.embedded() && !schema.preserves_unknown() && schema.properties().next().is_none() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true \
                      without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(properties, detail));
    }
}

/// Whether a schema of metadata says nothing but of the names.
fn names_only(schema: Props<'_>) -> bool {
    schema.properties().all(|(name, _)| matches!(name, "name" | "generateName"))
        && structural_fields(schema).all(|field| matches!(field, "Type" | "Default" | "Properties"))
}

/// Where the two types of int-or-string may stand, although types may not.
#[derive(Clone, Copy, Default)]
struct Skip {
    any_of: bool,
    first_all_of_any_of: bool,
}

/// Whether under `anyOf` there is `[{type: integer}, {type: string}]`.
fn is_either(schema: Props<'_>) -> bool {
    let only = |schema: Props<'_>, kind: &str| schema.kind() == kind && structural_fields(schema).eq(["Type"]);
    let mut branches = schema.branches("anyOf").map(|(_, branch)| branch);
    let first_two = branches.next().is_some_and(|branch| only(branch, "integer"))
        && branches.next().is_some_and(|branch| only(branch, "string"));
    first_two && branches.next().is_none()
}

fn nested_rules(schema: Props<'_>, skip: Skip, path: &FieldPath, errors: &mut Found) {
    if !skip.any_of {
        for (i, branch) in schema.branches("anyOf") {
            nested(branch, Skip::default(), &path.child("anyOf").index(i), errors);
        }
    }
    for (i, branch) in schema.branches("allOf") {
        let skip = Skip { any_of: skip.first_all_of_any_of && i == 0, first_all_of_any_of: false };
        nested(branch, skip, &path.child("allOf").index(i), errors);
    }
    for (i, branch) in schema.branches("oneOf") {
        nested(branch, Skip::default(), &path.child("oneOf").index(i), errors);
    }
    if let Some(not) = schema.single("not") {
        nested(not, Skip::default(), &path.child("not"), errors);
    }
    let pattern = schema.text("pattern");
    if !pattern.is_empty()
        && let Err(error) = Pattern::new(pattern, &mut errors.patterns)
    {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(path.child("pattern"), pattern, detail));
    }
}

/// What stands under `allOf` and its like: no shape, only values.
fn nested(schema: Props<'_>, skip: Skip, path: &FieldPath, errors: &mut Found) {
    nested_rules(schema, skip, path, errors);
    if let Some(items) = schema.items() {
        nested(items, Skip::default(), &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, property) in schema.properties() {
        nested(property, Skip::default(), &properties.key(name), errors);
    }
    if schema.property("metadata").is_some() {
        let detail = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(properties.key("metadata"), detail));
    }
    let additional = !matches!(schema.additional(), Additional::Unset | Additional::Allowed(false));
    let is_empty = |keyword: &str| schema.list(keyword).next().is_none();
    for (keyword, found, wanted) in [
        ("type", !schema.kind().is_empty(), "empty"),
        ("additionalProperties", additional, "undefined"),
        ("default", schema.has("default"), "undefined"),
        ("title", !schema.text("title").is_empty(), "empty"),
        ("description", !schema.text("description").is_empty(), "empty"),
        ("nullable", schema.flag("nullable"), "false"),
        ("x-kubernetes-preserve-unknown-fields", schema.preserves_unknown(), "false"),
        ("x-kubernetes-embedded-resource", schema.embedded(), "false"),
        ("x-kubernetes-int-or-string", schema.int_or_string(), "false"),
        ("x-kubernetes-list-map-keys", !is_empty("x-kubernetes-list-map-keys"), "empty"),
        ("x-kubernetes-list-type", schema.list_type().is_some(), "undefined"),
        ("x-kubernetes-map-type", schema.has("x-kubernetes-map-type"), "undefined"),
        ("x-kubernetes-validations", !is_empty("x-kubernetes-validations"), "empty"),
    ] {
        if found {
            errors.push(FieldError::forbidden(path.child(keyword), format!("must be {wanted} to be structural")));
        }
    }
}

/// What is narrowed must be specified: each field and item named in the branches of `rules` has its place in `schema`.
fn completeness(rules: Props<'_>, schema: Props<'_>, at: &FieldPath, path: &FieldPath, errors: &mut Found) {
    for keyword in BRANCHES {
        for (i, branch) in rules.branches(keyword) {
            nested_completeness(branch, Some(schema), at, &path.child(keyword).index(i), errors);
        }
    }
    if let Some(not) = rules.single("not") {
        nested_completeness(not, Some(schema), at, &path.child("not"), errors);
    }
}

fn nested_completeness(
    nested: Props<'_>,
    schema: Option<Props<'_>>,
    at: &FieldPath,
    path: &FieldPath,
    errors: &mut Found,
) {
    let Some(schema) = schema else {
        errors.push(FieldError::required(at.clone(), format!("because it is defined in {path}")));
        return;
    };
    completeness(nested, schema, at, path, errors);
    if let Some(items) = nested.items() {
        nested_completeness(items, schema.items(), &at.child("items"), &path.child("items"), errors);
    }
    for (name, property) in nested.properties() {
        let (at, path) = (at.child("properties").key(name), path.child("properties").key(name));
        nested_completeness(property, schema.property(name), &at, &path, errors);
    }
}
