//! Schemas of Rust types, through `schemars`.
//!
//! What serde makes of a type is turned into what Kubernetes can serve: references are put in place, `Option` means that
//! a field may be absent (a null counts as absent unless `extend("nullable" = true)` says otherwise), an enum of names
//! becomes text with an `enum`, one with data becomes an object with `oneOf`, a free-form value keeps unknown fields,
//! and integers have the formats that Kubernetes knows. Doc comments become descriptions.
//!
//! A default that is the empty value of its type (zero, false, no text, no items) is left out: `#[serde(default)]` reads
//! what is absent in the same way, and objects do not grow by fields that nobody wrote.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::parse::unchecked;
use super::{MAX_DEPTH, Schema};
use crate::{FieldError, FieldErrors, FieldPath};

// === impl Schema ===

impl Schema {
    /// The schema of a Rust type. Fails for types that no structural schema can describe: recursive ones, tuples, and
    /// enums that are text in one variant and an object in another.
    pub fn from_type<T: JsonSchema>() -> Result<Self, FieldErrors> {
        Self::from_json(&type_json::<T>(&[])?)
    }

    /// The schema of a Rust type, changed by someone who knows more about it. It need not be structural. Of the fields in
    /// `free` nothing is said but that they are objects: a type that contains itself has no end.
    pub(crate) fn from_type_with<T: JsonSchema>(
        free: &[&str],
        change: impl FnOnce(&mut Value),
    ) -> Result<Self, FieldErrors> {
        let mut json = type_json::<T>(free)?;
        change(&mut json);
        unchecked(&json, &FieldPath::root())
    }
}

fn type_json<T: JsonSchema>(free: &[&str]) -> Result<Value, FieldErrors> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut json = settings.into_generator().into_root_schema_for::<T>().to_value();
    set_free(&mut json, free);
    let mut errors = FieldErrors::default();
    rewrite(&mut json, &FieldPath::root(), 0, &mut errors);
    errors.into_result()?;
    Ok(json)
}

fn set_free(json: &mut Value, free: &[&str]) {
    match json {
        Value::Object(fields) => {
            for (name, schema) in fields.iter_mut() {
                if free.contains(&name.as_str()) {
                    let description = schema.get("description").cloned().unwrap_or_default();
                    *schema = json!({
                        "type": "object",
                        "description": description,
                        "x-kubernetes-preserve-unknown-fields": true,
                    });
                } else {
                    set_free(schema, free);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| set_free(item, free)),
        _ => {}
    }
}

fn rewrite(json: &mut Value, path: &FieldPath, depth: usize, errors: &mut FieldErrors) {
    if depth > MAX_DEPTH {
        errors.push(FieldError::forbidden(path.clone(), format!("must not be more than {MAX_DEPTH} deep")));
        return;
    }
    if json.is_boolean() {
        *json = Value::Object(Map::new());
    }
    let Value::Object(fields) = json else {
        return;
    };
    for noise in ["$schema", "$defs", "title", "examples", "deprecated", "readOnly", "writeOnly"] {
        fields.remove(noise);
    }
    optional(fields);
    one_child(fields);
    for keyword in ["$ref", "prefixItems"] {
        if fields.contains_key(keyword) {
            errors.push(FieldError::forbidden(path.child(keyword), "has no structural form"));
        }
    }
    enums(fields);
    variants(fields, path, errors);
    descend(fields, path, depth, errors);
    integers(fields);
    exclusive_bounds(fields);
    free_form(fields);
    if fields.get("default").is_some_and(is_zero) {
        fields.remove("default");
    }
}

/// `null` as one of the types, or as one branch of several, only says that the field may be absent.
fn optional(fields: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(options)) = fields.get_mut("enum") {
        options.retain(|option| !option.is_null());
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = fields.get_mut(keyword) {
            branches.retain(|branch| branch.get("type").is_none_or(|kind| kind != "null"));
        }
    }
}

/// Variants that are names only: one list of them. What is said of each is added to the description, as upstream does.
fn enums(fields: &mut Map<String, Value>) {
    if let Some(only) = fields.remove("const") {
        fields.insert("enum".to_owned(), vec![only].into());
    }
    let Some(Value::Array(branches)) = fields.get("oneOf") else {
        return;
    };
    let mut names = Vec::new();
    let mut lines = Vec::new();
    for branch in branches {
        let constant = branch.get("const").map(std::slice::from_ref);
        let Some(options) = constant.or_else(|| branch.get("enum").and_then(Value::as_array).map(Vec::as_slice)) else {
            return;
        };
        if branch.get("type").is_none_or(|kind| kind != "string") {
            return;
        }
        if let (Some(text), [Value::String(name)]) = (branch.get("description").and_then(Value::as_str), options) {
            lines.push(format!("\n - `\"{name}\"` {}", text.replace('\n', " ")));
        }
        names.extend_from_slice(options);
    }
    fields.remove("oneOf");
    fields.insert("type".to_owned(), "string".into());
    fields.insert("enum".to_owned(), names.into());
    if !lines.is_empty() {
        let own = fields.get("description").and_then(Value::as_str).unwrap_or_default();
        let gap = if own.is_empty() { "" } else { "\n\n" };
        let description = format!("{own}{gap}Possible enum values:{}", lines.concat());
        fields.insert("description".to_owned(), description.into());
    }
}

/// Variants with data: an object with the fields of all of them, and `oneOf` to say which go together.
fn variants(fields: &mut Map<String, Value>, path: &FieldPath, errors: &mut FieldErrors) {
    for keyword in ["oneOf", "anyOf"] {
        let Some(Value::Array(branches)) = fields.get(keyword) else {
            continue;
        };
        if branches.len() < 2 || branches.iter().all(|branch| branch.get("type").is_none()) {
            continue;
        }
        if is_int_or_string(branches) {
            fields.remove(keyword);
            fields.remove("type");
            fields.insert("x-kubernetes-int-or-string".to_owned(), true.into());
            continue;
        }
        if !branches.iter().all(|branch| branch.get("type").is_some_and(|kind| kind == "object")) {
            errors.push(FieldError::forbidden(
                path.child(keyword),
                "variants of different types have no structural form",
            ));
            continue;
        }
        let branches = branches.clone();
        let narrowed: Vec<Value> = branches.iter().map(|branch| hoist(branch, fields, path, errors)).collect();
        fields.insert("type".to_owned(), "object".into());
        fields.insert(keyword.to_owned(), narrowed.into());
    }
}

fn is_int_or_string(branches: &[Value]) -> bool {
    let has = |kind: &str| branches.iter().any(|branch| branch.get("type").is_some_and(|found| found == kind));
    branches.len() == 2 && has("integer") && has("string")
}

/// Moves the fields of a variant to the object that has them all; what is left tells this variant from the others.
fn hoist(branch: &Value, fields: &mut Map<String, Value>, path: &FieldPath, errors: &mut FieldErrors) -> Value {
    let mut left = Map::new();
    if let Some(required) = branch.get("required") {
        left.insert("required".to_owned(), required.clone());
    }
    let mut tags = Map::new();
    let own = fields.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    for (name, schema) in branch.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let mut schema = schema.clone();
        if let Value::Object(schema) = &mut schema {
            enums(schema);
        }
        let tag = schema.get("enum").and_then(Value::as_array).cloned();
        if let Some(options) = &tag {
            tags.insert(name.clone(), serde_json::json!({ "enum": options }));
        }
        match own.get_mut(name) {
            None => {
                if let Value::Object(own) = own {
                    own.insert(name.clone(), schema);
                }
            }
            Some(other) if *other == schema => {}
            Some(other) => match (other.get_mut("enum"), tag) {
                (Some(Value::Array(options)), Some(more)) => {
                    for option in more {
                        if !options.contains(&option) {
                            options.push(option);
                        }
                    }
                }
                _ => {
                    let field = path.child("properties").key(name);
                    errors.push(FieldError::forbidden(field, "differs between variants, which has no structural form"));
                }
            },
        }
    }
    if !tags.is_empty() {
        left.insert("properties".to_owned(), tags.into());
    }
    Value::Object(left)
}

/// A single branch is no choice: what it says holds here.
fn one_child(fields: &mut Map<String, Value>) {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = fields.get(keyword) else {
            continue;
        };
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            fields.remove(keyword);
            for (name, value) in only {
                fields.entry(name).or_insert(value);
            }
        }
    }
}

fn descend(fields: &mut Map<String, Value>, path: &FieldPath, depth: usize, errors: &mut FieldErrors) {
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for (name, schema) in properties {
            rewrite(schema, &path.child("properties").key(name), depth + 1, errors);
        }
    }
    if let Some(schema @ Value::Object(_)) = fields.get_mut("additionalProperties") {
        rewrite(schema, &path.child("additionalProperties"), depth + 1, errors);
    }
    if let Some(schema) = fields.get_mut("items") {
        rewrite(schema, &path.child("items"), depth + 1, errors);
    }
}

fn integers(fields: &mut Map<String, Value>) {
    let format = match fields.get("format").and_then(Value::as_str) {
        Some("int8" | "int16" | "uint8" | "uint16") => "int32",
        Some("uint32" | "uint64" | "uint" | "int") => "int64",
        _ => return,
    };
    fields.insert("format".to_owned(), format.into());
}

/// A bound by itself in JSON schema, a flag beside a bound in OpenAPI.
fn exclusive_bounds(fields: &mut Map<String, Value>) {
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(value @ Value::Number(_)) = fields.get(exclusive).cloned() {
            fields.insert(bound.to_owned(), value);
            fields.insert(exclusive.to_owned(), true.into());
        }
    }
}

/// A value of any type, and an object with any fields, keep what they have.
fn free_form(fields: &mut Map<String, Value>) {
    let closed = fields.get("additionalProperties").and_then(Value::as_bool);
    if closed.is_some() {
        fields.remove("additionalProperties");
    }
    let typed = fields.contains_key("type") || fields.contains_key("x-kubernetes-int-or-string");
    if closed == Some(true) || !typed {
        fields.insert("x-kubernetes-preserve-unknown-fields".to_owned(), true.into());
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_zero),
    }
}
