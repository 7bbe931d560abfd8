//! Reading what another server's OpenAPI document tells of a kind: whether an object has its form, and what may stand where.
//!
//! This is no full validation, which is the other server's own; it finds what is surely wrong while whoever wrote it is still
//! there. Where a document says nothing, everything is right.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::field::{FieldError, FieldErrors, FieldPath};
use crate::group::GroupVersionKind;

/// What a reference to another part of the document begins with.
const COMPONENTS: &str = "#/components/schemas/";
/// How deep objects and chains of references are followed.
const MAX_DEPTH: usize = 100;

/// The form of a kind's objects, as a document of version 3 tells it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HostSchema {
    document: Arc<Value>,
    component: String,
}

/// A step from a value to one inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'s> {
    /// The field of an object.
    Field(&'s str),
    /// An item of a list.
    Item,
}

/// One level of a schema, with nothing to be looked up any more.
#[derive(Clone, Copy)]
struct Node<'d>(&'d Map<String, Value>);

// === impl HostSchema ===

impl HostSchema {
    /// What the document tells of a kind, if anything.
    pub fn find(document: &Arc<Value>, gvk: &GroupVersionKind) -> Option<Self> {
        let is_it = |named: &Value| {
            let text = |field: &str| named.get(field).and_then(Value::as_str).unwrap_or_default();
            (text("group"), text("version"), text("kind")) == (&*gvk.group, &*gvk.version, &*gvk.kind)
        };
        let components = components(document)?;
        let (component, _) = components.iter().find(|(_, schema)| {
            let names = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
            // Some parts, such as the options of deletions, are of all groups.
            names.is_some_and(|names| matches!(names.as_slice(), [only] if is_it(only)))
        })?;
        Some(Self { document: document.clone(), component: component.clone() })
    }

    /// What is surely wrong with an object: types, fields that are unknown or missing, values that are none of those there are.
    pub fn check(&self, object: &Value) -> FieldErrors {
        let mut errors = FieldErrors::default();
        if let Some(root) = self.root() {
            self.check_value(root, object, &FieldPath::root(), MAX_DEPTH, &mut errors);
        }
        errors
    }

    /// The types that may stand at the end of a path, by their names in JSON schemas. None where anything may, or where nothing
    /// is told of it.
    pub fn types_at(&self, path: &[Step<'_>]) -> Option<Vec<&str>> {
        let mut node = self.root()?;
        for step in path {
            node = self.step(node, step)?;
        }
        self.types(node)
    }

    fn root(&self) -> Option<Node<'_>> {
        self.resolve(components(&self.document)?.get(&self.component)?)
    }

    /// The schema behind a reference.
    fn resolve<'d>(&'d self, mut schema: &'d Value) -> Option<Node<'d>> {
        for _ in 0..MAX_DEPTH {
            let fields = schema.as_object()?;
            let whole = match fields.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
                Some([only]) => only.as_object()?,
                _ => fields,
            };
            let Some(reference) = whole.get("$ref").and_then(Value::as_str) else { return Some(Node(fields)) };
            schema = components(&self.document)?.get(reference.strip_prefix(COMPONENTS)?)?;
        }
        None
    }

    fn step<'d>(&'d self, node: Node<'d>, step: &Step<'_>) -> Option<Node<'d>> {
        match step {
            Step::Item => self.resolve(node.get("items")?),
            Step::Field(name) => {
                let named = node.properties().and_then(|properties| properties.get(*name));
                self.resolve(named.or_else(|| node.get("additionalProperties").filter(|any| any.is_object()))?)
            }
        }
    }

    /// The types of a level; none if it may be anything.
    fn types<'d>(&'d self, node: Node<'d>) -> Option<Vec<&'d str>> {
        if node.is_true("x-kubernetes-int-or-string") || node.text("format") == Some("int-or-string") {
            return Some(vec!["integer", "string"]);
        }
        if let Some(only) = node.text("type") {
            return Some(vec![only]);
        }
        let alternatives = ["oneOf", "anyOf"].iter().find_map(|name| node.get(name)?.as_array())?;
        alternatives.iter().map(|alternative| self.resolve(alternative)?.text("type")).collect()
    }

    fn check_value(&self, node: Node<'_>, value: &Value, path: &FieldPath, depth: usize, errors: &mut FieldErrors) {
        let Some(depth) = depth.checked_sub(1) else { return };
        // Kubernetes takes null for what is not there.
        if value.is_null() {
            return;
        }
        if let Some(types) = self.types(node)
            && !types.iter().any(|name| is_of_type(value, name))
        {
            let detail = format!("must be of type {}: \"{}\"", types.join(" or "), type_name(value));
            return errors.push(FieldError::type_invalid(path.clone(), type_name(value), detail));
        }
        if let Some(options) = node.get("enum").and_then(Value::as_array)
            && !options.contains(value)
        {
            let options: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
            errors.push(FieldError::not_supported(path.clone(), value.clone(), &options));
        }
        match value {
            Value::Object(fields) => self.check_fields(node, fields, path, depth, errors),
            Value::Array(items) => {
                let Some(item) = node.get("items").and_then(|items| self.resolve(items)) else { return };
                for (index, value) in items.iter().enumerate() {
                    self.check_value(item, value, &path.index(index), depth, errors);
                }
            }
            _ => {}
        }
    }

    fn check_fields(
        &self,
        node: Node<'_>,
        fields: &Map<String, Value>,
        path: &FieldPath,
        depth: usize,
        errors: &mut FieldErrors,
    ) {
        let is_open = node.is_true("x-kubernetes-preserve-unknown-fields")
            || node.get("additionalProperties").is_some_and(|any| *any != Value::Bool(false))
            || node.properties().is_none();
        for (name, value) in fields {
            let field = path.child(name);
            match self.step(node, &Step::Field(name)) {
                Some(known) => self.check_value(known, value, &field, depth, errors),
                None if is_open || node.properties().is_some_and(|properties| properties.contains_key(name)) => {}
                None => errors.push(FieldError::invalid(field, name.as_str(), "unknown field")),
            }
        }
        let required = node.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for name in required {
            if fields.get(name).is_none_or(Value::is_null) {
                errors.push(FieldError::required(path.child(name), ""));
            }
        }
    }
}

// === impl Node ===

impl<'d> Node<'d> {
    fn get(self, name: &str) -> Option<&'d Value> {
        self.0.get(name)
    }

    fn text(self, name: &str) -> Option<&'d str> {
        self.get(name)?.as_str()
    }

    fn is_true(self, name: &str) -> bool {
        self.get(name) == Some(&Value::Bool(true))
    }

    fn properties(self) -> Option<&'d Map<String, Value>> {
        self.get("properties")?.as_object()
    }
}

fn components(document: &Value) -> Option<&Map<String, Value>> {
    document.get("components")?.get("schemas")?.as_object()
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match (name, value) {
        ("object", Value::Object(_))
        | ("array", Value::Array(_))
        | ("string", Value::String(_))
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_)) => true,
        ("integer", Value::Number(number)) => number.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests;
