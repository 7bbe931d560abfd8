//! Schemas from JSON, in the form that custom resource definitions have.
//!
//! Reading is strict about what it knows and silent about what it does not: an unknown keyword is left out, as
//! Kubernetes leaves it out. The rules that make a schema structural are checked on what is written.

use serde_json::{Map, Value};

use super::format::Format;
use super::pattern::{Pattern, PatternBudget};
use super::props::Props;
use super::{Additional, Check, ListType, MAX_DEPTH, MapType, Node, Rules, Schema, Type, structural};
use crate::{FieldError, FieldErrors, FieldPath};

// === impl Schema ===

impl Schema {
    /// Reads the schema of a kind, and checks that it is structural.
    pub fn from_json(json: &Value) -> Result<Self, FieldErrors> {
        Self::from_json_at(json, &FieldPath::root())
    }

    /// The same for a schema that stands at `path`, such as `spec.validation.openAPIV3Schema`.
    pub fn from_json_at(json: &Value, path: &FieldPath) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::default();
        if let Some(detail) = Props::of(json).and_then(Props::excess) {
            errors.push(FieldError::forbidden(path.clone(), detail));
        }
        errors.into_result()?;
        let schema = unchecked(json, path)?;
        let mut errors = FieldErrors::default();
        errors.extend(Props::of(json).into_iter().flat_map(|props| structural::check(props, path)));
        errors.into_result()?;
        Ok(schema)
    }
}

/// Reads a schema that need not be structural.
pub(super) fn unchecked(json: &Value, path: &FieldPath) -> Result<Schema, FieldErrors> {
    let mut reader = Reader { errors: FieldErrors::default(), patterns: PatternBudget::default() };
    let schema = reader.schema(json, path, 0);
    reader.errors.into_result()?;
    Ok(schema)
}

/// The same, of the fields of a schema.
pub(super) fn unchecked_fields(fields: &Map<String, Value>, path: &FieldPath) -> Result<Schema, FieldErrors> {
    let mut reader = Reader { errors: FieldErrors::default(), patterns: PatternBudget::default() };
    let schema = reader.fields(fields, path, 0);
    reader.errors.into_result()?;
    Ok(schema)
}

/// Keywords of JSON schema that a definition must not use.
const UNSUPPORTED: [&str; 7] =
    ["$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties", "$schema"];
/// Keywords that are kept for those who read the schema.
const NOTES: [&str; 4] = ["example", "externalDocs", "title", "x-kubernetes-validations"];

struct Reader {
    errors: FieldErrors,
    patterns: PatternBudget,
}

// === impl Reader ===

impl Reader {
    fn schema(&mut self, json: &Value, path: &FieldPath, depth: usize) -> Schema {
        if depth > MAX_DEPTH {
            self.errors.push(FieldError::forbidden(path.clone(), format!("must not be more than {MAX_DEPTH} deep")));
            return Node::default().seal();
        }
        let Some(fields) = json.as_object() else {
            self.errors.push(FieldError::type_invalid(path.clone(), json.clone(), "must be an object"));
            return Node::default().seal();
        };
        self.fields(fields, path, depth)
    }

    fn fields(&mut self, fields: &Map<String, Value>, path: &FieldPath, depth: usize) -> Schema {
        for keyword in UNSUPPORTED {
            if fields.get(keyword).is_some_and(|value| !is_empty(value)) {
                self.errors.push(FieldError::forbidden(path.child(keyword), format!("{keyword} is not supported")));
            }
        }
        let mut node = Node {
            kind: self.kind(fields, path),
            nullable: self.flag(fields, path, "nullable"),
            int_or_string: self.flag(fields, path, "x-kubernetes-int-or-string"),
            embedded: self.flag(fields, path, "x-kubernetes-embedded-resource"),
            preserve_unknown: self.preserve_unknown(fields, path),
            properties: self.properties(fields, path, depth),
            additional: self.additional(fields, path, depth),
            items: self.items(fields, path, depth),
            required: self.names(fields, path, "required"),
            list_type: self.one_of(fields, path, "x-kubernetes-list-type", &ListType::ALL, ListType::name),
            map_type: self.one_of(fields, path, "x-kubernetes-map-type", &MapType::ALL, MapType::name),
            default: fields.get("default").filter(|value| !value.is_null()).cloned().map(Box::new),
            description: fields.get("description").and_then(Value::as_str).unwrap_or_default().into(),
            notes: notes(fields),
            ..Node::default()
        };
        let mut rules = self.rules(fields, path, depth);
        rules.check = check(&node, rules.format.as_deref());
        if !rules.is_empty() {
            node.rules = Some(Box::new(rules));
        }
        node.seal()
    }

    fn kind(&mut self, fields: &Map<String, Value>, path: &FieldPath) -> Option<Type> {
        match fields.get("type")? {
            Value::Null => None,
            Value::String(name) if name.is_empty() => None,
            Value::String(name) if name == "null" => {
                let detail = "type cannot be set to null, use nullable as an alternative";
                self.errors.push(FieldError::forbidden(path.child("type"), detail));
                None
            }
            value => {
                let kind = value.as_str().and_then(Type::of_name);
                if kind.is_none() {
                    let mut names: Vec<&str> = Type::ALL.into_iter().map(Type::name).collect();
                    names.sort_unstable();
                    self.errors.push(FieldError::not_supported(path.child("type"), value.clone(), &names));
                }
                kind
            }
        }
    }

    fn preserve_unknown(&mut self, fields: &Map<String, Value>, path: &FieldPath) -> bool {
        let keyword = "x-kubernetes-preserve-unknown-fields";
        let flag = self.flag(fields, path, keyword);
        if !flag && fields.get(keyword).is_some_and(Value::is_boolean) {
            self.errors.push(FieldError::invalid(path.child(keyword), false, "must be true or undefined"));
        }
        flag
    }

    fn properties(&mut self, fields: &Map<String, Value>, path: &FieldPath, depth: usize) -> Box<[(Box<str>, Schema)]> {
        let Some(json) = self.typed(fields, path, "properties", "must be an object", Value::as_object) else {
            return Box::default();
        };
        let path = path.child("properties");
        let read =
            |(name, json): (&String, &Value)| (name.as_str().into(), self.schema(json, &path.key(name), depth + 1));
        let mut properties: Vec<(Box<str>, Schema)> = json.iter().map(read).collect();
        properties.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        properties.into()
    }

    fn additional(&mut self, fields: &Map<String, Value>, path: &FieldPath, depth: usize) -> Additional {
        match fields.get("additionalProperties") {
            None | Some(Value::Null) => Additional::Unset,
            Some(Value::Bool(allowed)) => Additional::Allowed(*allowed),
            Some(json) => Additional::Schema(self.schema(json, &path.child("additionalProperties"), depth + 1)),
        }
    }

    fn items(&mut self, fields: &Map<String, Value>, path: &FieldPath, depth: usize) -> Option<Schema> {
        match fields.get("items")? {
            Value::Null => None,
            Value::Array(items) if items.is_empty() => None,
            Value::Array(_) => {
                let detail = "items must be a schema object and not an array";
                self.errors.push(FieldError::forbidden(path.child("items"), detail));
                None
            }
            json => Some(self.schema(json, &path.child("items"), depth + 1)),
        }
    }

    fn rules(&mut self, fields: &Map<String, Value>, path: &FieldPath, depth: usize) -> Rules {
        let format = self.typed(fields, path, "format", "must be a string", Value::as_str);
        Rules {
            format: format.filter(|format| !format.is_empty()).map(Box::from),
            check: Check::Nothing,
            pattern: self.pattern(fields, path),
            map_keys: self.names(fields, path, "x-kubernetes-list-map-keys"),
            options: self.typed(fields, path, "enum", "must be a list", |v| v.as_array().cloned()).unwrap_or_default(),
            minimum: self.typed(fields, path, "minimum", "must be a number", Value::as_f64),
            maximum: self.typed(fields, path, "maximum", "must be a number", Value::as_f64),
            multiple_of: self.typed(fields, path, "multipleOf", "must be a number", Value::as_f64),
            exclusive_minimum: self.flag(fields, path, "exclusiveMinimum"),
            exclusive_maximum: self.flag(fields, path, "exclusiveMaximum"),
            unique_items: self.flag(fields, path, "uniqueItems"),
            min_length: self.count(fields, path, "minLength"),
            max_length: self.count(fields, path, "maxLength"),
            min_items: self.count(fields, path, "minItems"),
            max_items: self.count(fields, path, "maxItems"),
            min_properties: self.count(fields, path, "minProperties"),
            max_properties: self.count(fields, path, "maxProperties"),
            all_of: self.branches(fields, path, "allOf", depth),
            any_of: self.branches(fields, path, "anyOf", depth),
            one_of: self.branches(fields, path, "oneOf", depth),
            not: match fields.get("not") {
                None | Some(Value::Null) => None,
                Some(json) => Some(self.schema(json, &path.child("not"), depth + 1)),
            },
        }
    }

    fn pattern(&mut self, fields: &Map<String, Value>, path: &FieldPath) -> Option<Pattern> {
        let source = self.typed(fields, path, "pattern", "must be a string", Value::as_str)?;
        if source.is_empty() {
            return None;
        }
        Pattern::new(source, &mut self.patterns)
            .map_err(|error| {
                let detail = format!("must be a valid regular expression, but isn't: {error}");
                self.errors.push(FieldError::invalid(path.child("pattern"), source, detail));
            })
            .ok()
    }

    fn branches(&mut self, fields: &Map<String, Value>, path: &FieldPath, keyword: &str, depth: usize) -> Vec<Schema> {
        let branches = self.typed(fields, path, keyword, "must be a list", Value::as_array).into_iter().flatten();
        let path = path.child(keyword);
        branches.enumerate().map(|(i, json)| self.schema(json, &path.index(i), depth + 1)).collect()
    }

    fn names(&mut self, fields: &Map<String, Value>, path: &FieldPath, keyword: &str) -> Box<[Box<str>]> {
        let names = |value: &Value| value.as_array()?.iter().map(|name| name.as_str().map(Box::from)).collect();
        self.typed(fields, path, keyword, "must be a list of strings", names).unwrap_or_default()
    }

    fn flag(&mut self, fields: &Map<String, Value>, path: &FieldPath, keyword: &str) -> bool {
        self.typed(fields, path, keyword, "must be a boolean", Value::as_bool).unwrap_or(false)
    }

    fn count(&mut self, fields: &Map<String, Value>, path: &FieldPath, keyword: &str) -> Option<i64> {
        self.typed(fields, path, keyword, "must be a whole number", Value::as_i64)
    }

    fn one_of<T: Copy>(
        &mut self,
        fields: &Map<String, Value>,
        path: &FieldPath,
        keyword: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Option<T> {
        let text = self.typed(fields, path, keyword, "must be a string", Value::as_str)?;
        let found = all.iter().copied().find(|value| name(*value) == text);
        if found.is_none() {
            let names: Vec<&str> = all.iter().copied().map(name).collect();
            self.errors.push(FieldError::not_supported(path.child(keyword), text, &names));
        }
        found
    }

    fn typed<'j, T>(
        &mut self,
        fields: &'j Map<String, Value>,
        path: &FieldPath,
        keyword: &str,
        expected: &str,
        read: impl FnOnce(&'j Value) -> Option<T>,
    ) -> Option<T> {
        let value = fields.get(keyword).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() {
            self.errors.push(FieldError::type_invalid(path.child(keyword), value.clone(), expected));
        }
        read
    }
}

// === impl Rules ===

impl Rules {
    fn is_empty(&self) -> bool {
        let counts = [
            self.min_length,
            self.max_length,
            self.min_items,
            self.max_items,
            self.min_properties,
            self.max_properties,
        ];
        self.format.is_none()
            && self.pattern.is_none()
            && self.map_keys.is_empty()
            && self.not.is_none()
            && !self.unique_items
            && self.options.is_empty()
            && [self.minimum, self.maximum, self.multiple_of].iter().all(Option::is_none)
            && !(self.exclusive_minimum || self.exclusive_maximum)
            && counts.iter().all(Option::is_none)
            && [&self.all_of, &self.any_of, &self.one_of].iter().all(|branches| branches.is_empty())
    }
}

/// What of a format is checked depends on the type: `int32` means nothing for text.
fn check(node: &Node, format: Option<&str>) -> Check {
    let Some(format) = format else {
        return Check::Nothing;
    };
    match (node.kind.filter(|_| !node.int_or_string), format) {
        (None | Some(Type::String), format) => Format::of(format).map_or(Check::Nothing, Check::Text),
        (Some(Type::Integer), "int32") => Check::Int32,
        (Some(Type::Integer), "int64") => Check::Int64,
        (Some(Type::Number), "float") => Check::Float,
        (Some(Type::Number), "double") => Check::Double,
        (Some(_), _) => Check::Nothing,
    }
}

fn notes(fields: &Map<String, Value>) -> Option<Box<Map<String, Value>>> {
    let kept = |keyword: &str| fields.get(keyword).filter(|value| !is_empty(value)).cloned();
    let notes: Map<_, _> = NOTES.into_iter().filter_map(|name| Some((name.to_owned(), kept(name)?))).collect();
    (!notes.is_empty()).then(|| Box::new(notes))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
