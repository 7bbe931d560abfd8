//! The rules that make a schema structural: the shape of an object can be told from the types alone, and what stands
//! under `allOf`, `anyOf`, `oneOf` and `not` only narrows values.

use super::{Additional, Node, Rules, Schema, Type};
use crate::{FieldError, FieldErrors, FieldPath};

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Notes where `schema`, which stands at `path`, is not structural. In the order of the texts, as upstream has it.
pub(super) fn check(schema: &Schema, path: &FieldPath, errors: &mut FieldErrors) {
    let mut found = Vec::new();
    invariants(&schema.0, Level::Root, path, &mut found);
    if let Some(rules) = schema.rules() {
        completeness(rules, &schema.0, path, path, &mut found);
    }
    found.sort_by_cached_key(ToString::to_string);
    errors.extend(found);
}

fn invariants(node: &Node, level: Level, path: &FieldPath, errors: &mut Vec<FieldError>) {
    match &node.items {
        Some(items) => invariants(&items.0, Level::Item, &path.child("items"), errors),
        None if node.kind == Some(Type::Array) => {
            errors.push(FieldError::required(path.child("items"), "must be specified"));
        }
        None => {}
    }
    let properties = path.child("properties");
    for (name, schema) in &node.properties {
        invariants(&schema.0, Level::Field, &properties.key(name), errors);
    }
    let additional = path.child("additionalProperties");
    if !matches!(node.additional, Additional::Unset) && level == Level::Root {
        errors.push(FieldError::forbidden(additional.clone(), "must not be used at the root"));
    }
    if let Additional::Schema(schema) = &node.additional {
        invariants(&schema.0, Level::Field, &additional, errors);
    }
    extensions(node, path, errors);
    if let Some(rules) = &node.rules {
        let first_all_of = rules.all_of.first().and_then(Schema::rules).is_some_and(|rules| is_either(&rules.any_of));
        let skip = Skip { any_of: is_either(&rules.any_of), first_all_of_any_of: first_all_of };
        nested_rules(rules, skip, path, errors);
    }
    types(node, level, path, errors);
    metadata(node, level, path, errors);
}

fn extensions(node: &Node, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let detail = "must be false if x-kubernetes-int-or-string is true";
    if node.int_or_string && node.preserve_unknown {
        errors.push(FieldError::invalid(path.child("x-kubernetes-preserve-unknown-fields"), true, detail));
    }
    if node.int_or_string && node.embedded {
        errors.push(FieldError::invalid(path.child("x-kubernetes-embedded-resource"), true, detail));
    }
}

fn types(node: &Node, level: Level, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let field = path.child("type");
    match node.kind {
        None if node.embedded => {
            errors.push(FieldError::required(field, "must be object if x-kubernetes-embedded-resource is true"));
        }
        Some(kind) if node.embedded && kind != Type::Object => {
            let detail = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(FieldError::invalid(field.clone(), kind.name(), detail));
            root_type(kind, level, field, errors);
        }
        None if !node.int_or_string && !node.preserve_unknown => {
            let detail = match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            };
            errors.push(FieldError::required(field, detail));
        }
        Some(kind) => root_type(kind, level, field, errors),
        None => {}
    }
}

fn root_type(kind: Type, level: Level, field: FieldPath, errors: &mut Vec<FieldError>) {
    if level == Level::Root && kind != Type::Object {
        errors.push(FieldError::invalid(field, kind.name(), "must be object at the root"));
    }
}

/// What is said of apiVersion, kind and metadata, which every object has without being told.
fn metadata(node: &Node, level: Level, path: &FieldPath, errors: &mut Vec<FieldError>) {
    if node.embedded && !matches!(node.additional, Additional::Unset) {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(path.child("additionalProperties"), detail));
    }
    let is_object = level == Level::Root || node.embedded;
    let properties = path.child("properties");
    for (name, schema) in &node.properties {
        let property = properties.key(name);
        let mut must_be = |kind: Type| {
            if is_object && schema.0.kind != Some(kind) {
                let found = schema.0.kind.map_or("", Type::name);
                errors.push(FieldError::invalid(property.child("type"), found, format!("must be {}", kind.name())));
            }
        };
        match &**name {
            "apiVersion" | "kind" => must_be(Type::String),
            "metadata" => {
                must_be(Type::Object);
                if level == Level::Root && !names_only(&schema.0) {
                    let detail = "must not specify anything other than name and generateName, \
                                  but metadata is implicitly specified";
                    errors.push(FieldError::forbidden(property, detail));
                }
            }
            _ => {}
        }
    }
    if node.embedded && !node.preserve_unknown && node.properties.is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true \
                      without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(properties, detail));
    }
}

/// Whether a schema of metadata says nothing but of the names.
fn names_only(node: &Node) -> bool {
    let names = node.properties.iter().all(|(name, _)| matches!(&**name, "name" | "generateName"));
    names
        && !node.nullable
        && !node.int_or_string
        && !node.preserve_unknown
        && !node.embedded
        && matches!(node.additional, Additional::Unset)
        && node.items.is_none()
        && node.required.is_empty()
        && node.list_type.is_none()
        && node.map_keys.is_empty()
        && node.map_type.is_none()
        && node.rules.is_none()
        && node.notes.is_empty()
}

/// Where the two types of int-or-string may stand, although types may not.
#[derive(Clone, Copy, Default)]
struct Skip {
    any_of: bool,
    first_all_of_any_of: bool,
}

/// `[{type: integer}, {type: string}]`.
fn is_either(branches: &[Schema]) -> bool {
    let only = |schema: &Schema, kind: Type| {
        let node = &*schema.0;
        node.kind == Some(kind) && schema.to_json().as_object().is_some_and(|fields| fields.len() == 1)
    };
    matches!(branches, [first, second] if only(first, Type::Integer) && only(second, Type::String))
}

fn nested_rules(rules: &Rules, skip: Skip, path: &FieldPath, errors: &mut Vec<FieldError>) {
    if !skip.any_of {
        for (i, branch) in rules.any_of.iter().enumerate() {
            nested(&branch.0, Skip::default(), &path.child("anyOf").index(i), errors);
        }
    }
    for (i, branch) in rules.all_of.iter().enumerate() {
        let skip = Skip { any_of: skip.first_all_of_any_of && i == 0, first_all_of_any_of: false };
        nested(&branch.0, skip, &path.child("allOf").index(i), errors);
    }
    for (i, branch) in rules.one_of.iter().enumerate() {
        nested(&branch.0, Skip::default(), &path.child("oneOf").index(i), errors);
    }
    if let Some(not) = &rules.not {
        nested(&not.0, Skip::default(), &path.child("not"), errors);
    }
}

/// What stands under `allOf` and its like: no shape, only values.
fn nested(node: &Node, skip: Skip, path: &FieldPath, errors: &mut Vec<FieldError>) {
    if let Some(rules) = &node.rules {
        nested_rules(rules, skip, path, errors);
    }
    if let Some(items) = &node.items {
        nested(&items.0, Skip::default(), &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, schema) in &node.properties {
        nested(&schema.0, Skip::default(), &properties.key(name), errors);
    }
    if node.properties.iter().any(|(name, _)| &**name == "metadata") {
        let detail = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(properties.key("metadata"), detail));
    }
    let additional = !matches!(node.additional, Additional::Unset | Additional::Allowed(false));
    let noted = |keyword: &str| node.notes.contains_key(keyword);
    for (keyword, found, wanted) in [
        ("type", node.kind.is_some(), "empty"),
        ("additionalProperties", additional, "undefined"),
        ("default", node.default.is_some(), "undefined"),
        ("title", noted("title"), "empty"),
        ("description", noted("description"), "empty"),
        ("nullable", node.nullable, "false"),
        ("x-kubernetes-preserve-unknown-fields", node.preserve_unknown, "false"),
        ("x-kubernetes-embedded-resource", node.embedded, "false"),
        ("x-kubernetes-int-or-string", node.int_or_string, "false"),
        ("x-kubernetes-list-map-keys", !node.map_keys.is_empty(), "empty"),
        ("x-kubernetes-list-type", node.list_type.is_some(), "undefined"),
        ("x-kubernetes-map-type", node.map_type.is_some(), "undefined"),
        ("x-kubernetes-validations", noted("x-kubernetes-validations"), "empty"),
    ] {
        if found {
            errors.push(FieldError::forbidden(path.child(keyword), format!("must be {wanted} to be structural")));
        }
    }
}

/// What is narrowed must be specified: each field and item named in `rules` has its place in `node`.
fn completeness(rules: &Rules, node: &Node, at: &FieldPath, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let mut each = |branches: &[Schema], keyword: &str| {
        for (i, branch) in branches.iter().enumerate() {
            nested_completeness(&branch.0, Some(node), at, &path.child(keyword).index(i), errors);
        }
    };
    each(&rules.all_of, "allOf");
    each(&rules.any_of, "anyOf");
    each(&rules.one_of, "oneOf");
    if let Some(not) = &rules.not {
        nested_completeness(&not.0, Some(node), at, &path.child("not"), errors);
    }
}

fn nested_completeness(
    nested: &Node,
    node: Option<&Node>,
    at: &FieldPath,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let Some(node) = node else {
        errors.push(FieldError::required(at.clone(), format!("because it is defined in {path}")));
        return;
    };
    if let Some(rules) = &nested.rules {
        completeness(rules, node, at, path, errors);
    }
    if let Some(items) = &nested.items {
        let own = node.items.as_ref().map(|items| &*items.0);
        nested_completeness(&items.0, own, &at.child("items"), &path.child("items"), errors);
    }
    for (name, schema) in &nested.properties {
        let own = node.properties.iter().find(|(property, _)| property == name).map(|(_, schema)| &*schema.0);
        let (at, path) = (at.child("properties").key(name), path.child("properties").key(name));
        nested_completeness(&schema.0, own, &at, &path, errors);
    }
}
