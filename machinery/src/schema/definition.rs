//! The schema of a version of a custom resource: all that must hold of it when a definition is written.

use serde_json::{Map, Value};

use super::checked_defaults::{self, Unknown};
use super::field_path::{Brackets, Target, resolve};
use super::format::Format;
use super::go_form::{GoForm, set_fields};
use super::props::Props;
use super::written::{self, Known};
use super::{Schema, parse, structural};
use crate::{FieldError, FieldErrors, FieldPath};

/// Whether a custom resource has its status apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusSubresource {
    /// It has.
    Enabled,
    /// It has not.
    Disabled,
}

/// What a selectable field is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectableField {
    /// The names that lead to it.
    pub names: Vec<String>,
    /// The path as it is shown: `spec.size`.
    pub path: FieldPath,
}

/// Why a field cannot be selected by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSelectable {
    /// What is wrong with it.
    pub details: Vec<String>,
    /// The field, if there is one.
    pub field: Option<SelectableField>,
}

/// What may stand at the root of a schema beside the type if the status is apart, in the order of upstream's message.
const AT_ROOT: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

/// Notes what keeps a schema from being that of a custom resource. It stands at `path`, which ends in `openAPIV3Schema`.
pub fn check_definition(
    json: &Map<String, Value>,
    status: StatusSubresource,
    known: Known,
    path: &FieldPath,
    errors: &mut FieldErrors,
) {
    let schema = Props::new(json);
    if let Some(detail) = schema.excess() {
        errors.push(FieldError::forbidden(path.clone(), detail));
        return;
    }
    let mut found = FieldErrors::default();
    if status == StatusSubresource::Enabled {
        found.extend(root_with_status(schema, path));
    }
    if schema.flag("nullable") {
        found.push(FieldError::forbidden(path.child("nullable"), "nullable cannot be true at the root"));
    }
    let unsupported = first_unsupported(schema);
    if unsupported.is_none() {
        let not_structural = structural::check(schema, path);
        if not_structural.is_empty() {
            defaults(json, known, path, &mut found);
        }
        found.extend(not_structural);
    }
    written::check(schema, known, path, &mut found);
    if found.is_empty() {
        found.extend(unsupported.map(|detail| FieldError::invalid(path.clone(), "", detail)));
    }
    // What has a wrong type, or is beyond a bound of ours.
    if found.is_empty()
        && let Err(unreadable) = parse::unchecked_fields(json, path)
    {
        found = unreadable;
    }
    errors.extend(found.into_vec());
}

// === impl Known ===

impl Known {
    /// What the schemas of a definition already have.
    pub fn of<'j>(schemas: impl IntoIterator<Item = &'j Map<String, Value>>) -> Self {
        let mut known = Self::default();
        for json in schemas {
            let schema = Props::new(json);
            if schema.excess().is_some() {
                continue;
            }
            known.granular_sets |= written::has_granular_sets(schema);
            known.absent_keys |= written::has_absent_keys(schema);
            known.unpruned_defaults |= has_unpruned_defaults(json);
        }
        known
    }
}

/// Whether there is a default somewhere in a schema.
pub fn has_defaults(json: &Map<String, Value>) -> bool {
    let schema = Props::new(json);
    schema.excess().is_none() && schema.any(&|schema| schema.has("default"))
}

/// The places in a schema that carry rules in CEL, below `path`.
pub fn rules_in_cel(json: &Map<String, Value>, path: &FieldPath) -> Vec<FieldPath> {
    let mut places = Vec::new();
    let schema = Props::new(json);
    if schema.excess().is_none() {
        places_with_rules(schema, path, &mut places);
    }
    places
}

/// The formats in a schema that are not checked, in the order of their places.
pub fn unrecognized_formats(json: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    let schema = Props::new(json);
    if schema.excess().is_none() {
        schema.find(&mut |schema| {
            let format = schema.text("format");
            let recognized = match schema.kind() {
                "" | "string" => Format::of(format).is_some(),
                "integer" => matches!(format, "int32" | "int64"),
                "number" => matches!(format, "float" | "double"),
                _ => false,
            };
            if !format.is_empty() && !recognized {
                found.push(format.to_owned());
            }
            None::<()>
        });
    }
    found
}

/// The field that a path names, if objects can be selected by it.
pub fn selectable_field(json: &Map<String, Value>, path: &str) -> Result<SelectableField, NotSelectable> {
    let Target { names, path, schema } = resolve(path, Props::new(json), Brackets::Forbidden)
        .map_err(|error| NotSelectable { details: vec![format!("is an invalid path: {error}")], field: None })?;
    let mut details = Vec::new();
    if names.first().is_some_and(|name| name == "metadata") {
        details.push("must not point to fields in metadata".to_owned());
    }
    if !schema.is_some_and(|schema| matches!(schema.kind(), "string" | "boolean" | "integer")) {
        let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                      formats are allowed.";
        details.push(detail.to_owned());
    }
    let field = SelectableField { names, path };
    if details.is_empty() { Ok(field) } else { Err(NotSelectable { details, field: Some(field) }) }
}

/// Where the status is apart, nothing at the root may speak of it together with the rest.
fn root_with_status(schema: Props<'_>, path: &FieldPath) -> Option<FieldError> {
    for field in set_fields(schema) {
        if field == "Type" && schema.kind() != "object" {
            let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
                          enabled";
            return Some(FieldError::invalid(path.child("type"), schema.kind(), detail));
        }
        if !AT_ROOT.contains(&field) {
            let detail = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                AT_ROOT.join(" ")
            );
            return Some(FieldError::invalid_json(path.clone(), &GoForm(schema), &detail));
        }
    }
    None
}

/// The first keyword that keeps a schema from being looked at any closer.
fn first_unsupported(schema: Props<'_>) -> Option<String> {
    let filled = |schema: Props<'_>, keyword: &str| {
        schema.get(keyword).is_some_and(|value| match value {
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            _ => true,
        })
    };
    let keywords = [
        ("id", "id"),
        ("$schema", "schema"),
        ("$ref", "$ref"),
        ("patternProperties", "patternProperties"),
        ("dependencies", "dependencies"),
        ("additionalItems", "additionalItems"),
        ("definitions", "definitions"),
    ];
    let found = |schema: Props<'_>| {
        let keyword = keywords.into_iter().find(|(keyword, _)| match *keyword {
            "additionalItems" => schema.has(keyword),
            keyword => filled(schema, keyword),
        });
        if let Some((_, name)) = keyword {
            return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
        }
        if schema.optional_flag("x-kubernetes-preserve-unknown-fields") == Some(false) {
            let detail = "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
            return Some(detail.to_owned());
        }
        let listed = schema.get("items").and_then(Value::as_array).is_some_and(|items| !items.is_empty());
        listed.then(|| "OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned())
    };
    schema.find(&mut |schema| found(schema))
}

fn defaults(json: &Map<String, Value>, known: Known, path: &FieldPath, errors: &mut FieldErrors) {
    let unknown = if known.unpruned_defaults { Unknown::Allowed } else { Unknown::Refused };
    if let Some(schema) = as_object(json) {
        checked_defaults::check(&schema, unknown, path, errors);
    }
}

fn has_unpruned_defaults(json: &Map<String, Value>) -> bool {
    as_object(json).is_some_and(|schema| checked_defaults::has_unpruned(&schema))
}

/// The schema, as one of a whole object. None if it cannot be read, which is told elsewhere.
fn as_object(json: &Map<String, Value>) -> Option<Schema> {
    let mut json = json.clone();
    json.insert("x-kubernetes-embedded-resource".to_owned(), true.into());
    parse::unchecked_fields(&json, &FieldPath::root()).ok()
}

fn places_with_rules(schema: Props<'_>, path: &FieldPath, places: &mut Vec<FieldPath>) {
    if schema.list("x-kubernetes-validations").next().is_some() {
        places.push(path.child("x-kubernetes-validations"));
    }
    for (name, property) in schema.properties() {
        places_with_rules(property, &path.child("properties").key(name), places);
    }
    for keyword in ["additionalProperties", "items"] {
        if let Some(inner) = schema.single(keyword) {
            places_with_rules(inner, &path.child(keyword), places);
        }
    }
}
