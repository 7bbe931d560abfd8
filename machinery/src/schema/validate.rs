//! What is wrong with a value, in the order and the words of Kubernetes' validator of custom resources.
//!
//! Upstream walks fields in the random order of its maps; here additional fields come first, then named ones, each in
//! the order of their names, then those that are missing. Everything else is in upstream's order: the type, the
//! branches of `anyOf`, `oneOf`, `allOf` and `not`, text, format, number, list, enum, fields.
//!
//! A value that is right costs no allocation: paths are chains on the stack, and messages are made for errors only.

use serde_json::{Map, Value};

use super::notes::{MAX_ERROR_BYTES, MAX_ERRORS, Notes};
use super::path::Path;
use super::{Additional, Check, Node, Rules, Schema, Type, embedded, list};
use crate::go::{self, GoNumber};
use crate::{FieldError, FieldErrorKind, FieldErrors, FieldPath};

mod number;
mod old;

use old::Old;

/// Notes what is wrong with `value`, which stands at `path`: the schema's rules, then embedded objects, then lists that
/// are sets or maps. Of very many errors, only the first are noted.
pub fn validate(schema: &Schema, value: &Value, path: &FieldPath, errors: &mut FieldErrors) {
    validate_rules(schema, value, path, errors);
    embedded::validate(schema, value, &mut Notes::new(path, errors));
    list::validate(schema, value, &Path::ROOT, &mut Notes::new(path, errors));
}

/// Notes where `value` breaks the schema's rules.
pub(super) fn validate_rules(schema: &Schema, value: &Value, path: &FieldPath, errors: &mut FieldErrors) {
    let outcome = Walk { prefix: path }.value(schema, value, None, &Path::ROOT);
    errors.extend(outcome.errors.into_iter().map(|found| found.error));
}

/// What [`validate`] notes, for a value that takes the place of `old`: what is wrong with a part that did not change is let pass, so
/// that a schema can become stricter without blocking those who change something else.
pub fn validate_update(schema: &Schema, value: &Value, old: &Value, path: &FieldPath, errors: &mut FieldErrors) {
    let walk = Walk { prefix: path };
    let valid = walk.value(schema, value, None, &Path::ROOT).errors.is_empty();
    if !valid {
        let outcome = walk.ratcheted(schema, value, Some(Old { schema, value: old }), &Path::ROOT);
        errors.extend(outcome.errors.into_iter().map(|found| found.error));
    }
    embedded::validate(schema, value, &mut Notes::new(path, errors));
    let mut before = FieldErrors::default();
    list::validate(schema, old, &Path::ROOT, &mut Notes::new(path, &mut before));
    if before.is_empty() {
        list::validate(schema, value, &Path::ROOT, &mut Notes::new(path, errors));
    }
}

/// One walk; errors are reported below the prefix, but their texts begin at the value.
struct Walk<'w> {
    prefix: &'w FieldPath,
}

/// An error, and the text by which upstream tells whether it has it already.
struct Found {
    text: String,
    error: FieldError,
}

/// The result of a schema on a value.
#[derive(Default)]
struct Outcome {
    errors: Vec<Found>,
    /// How many checks passed. Of several branches that all fail, the one with the most is reported.
    matches: usize,
    /// How long the texts are.
    bytes: usize,
}

// === impl Outcome ===

impl Outcome {
    fn add(&mut self, found: Found) {
        if !self.is_full() && self.errors.iter().all(|other| other.text != found.text) {
            self.bytes += found.text.len();
            self.errors.push(found);
        }
    }

    fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        if self.errors.is_empty() {
            self.errors = other.errors;
            self.bytes = other.bytes;
        } else {
            other.errors.into_iter().for_each(|found| self.add(found));
        }
    }

    /// Whether more errors would only take room.
    fn is_full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS || self.bytes >= MAX_ERROR_BYTES
    }
}

// === impl Walk ===

impl Walk<'_> {
    /// A part of an object, with what it was before if that is known.
    fn ratcheted(&self, schema: &Schema, value: &Value, old: Option<Old<'_>>, path: &Path<'_>) -> Outcome {
        let mut outcome = self.value(schema, value, old, path);
        if !outcome.errors.is_empty() && old.is_some_and(|old| old.equals(value)) {
            outcome.errors.clear();
            outcome.bytes = 0;
        }
        outcome
    }

    fn value(&self, schema: &Schema, value: &Value, old: Option<Old<'_>>, path: &Path<'_>) -> Outcome {
        let node = &*schema.0;
        let mut outcome = Outcome::default();
        if value.is_null() {
            match self.null(node, path) {
                Some(found) => outcome.add(found),
                None => outcome.matches += 1,
            }
            if let Some(found) = node.rules.as_deref().and_then(|rules| self.options(rules, value, path)) {
                outcome.add(found);
            }
            return outcome;
        }
        let check = node.rules.as_deref().map_or(Check::Nothing, |rules| rules.check);
        if node.kind.is_some() || node.int_or_string || check != Check::Nothing {
            match self.kind(node, check, value, path) {
                Some(found) => outcome.add(found),
                None => outcome.matches += 1,
            }
            outcome.matches += 1;
        }
        let rules = node.rules.as_deref();
        if let Some(rules) = rules {
            self.branches(rules, value, path, &mut outcome);
        }
        outcome.matches += 2;
        match value {
            Value::String(text) => {
                outcome.matches += 1;
                if let Some(rules) = rules {
                    self.text(rules, text, path, &mut outcome);
                }
            }
            Value::Number(number) => {
                outcome.matches += 2;
                if let Some(rules) = rules {
                    self.number(node, rules, GoNumber::of(number), path, &mut outcome);
                } else if node.kind == Some(Type::Integer) && !node.int_or_string {
                    self.number(node, &Rules::default(), GoNumber::of(number), path, &mut outcome);
                }
            }
            Value::Array(items) => {
                outcome.matches += 2;
                self.list(node, items, old, path, &mut outcome);
            }
            Value::Null | Value::Bool(_) | Value::Object(_) => {}
        }
        if let Some(found) = rules.and_then(|rules| self.options(rules, value, path)) {
            outcome.add(found);
        }
        outcome.matches += 1;
        if let Value::Object(fields) = value {
            self.object(schema, fields, old, path, &mut outcome);
            outcome.matches += 1;
        }
        outcome.matches += 1;
        outcome
    }

    fn null(&self, node: &Node, path: &Path<'_>) -> Option<Found> {
        let wanted = type_names(node).filter(|_| !node.nullable)?;
        Some(self.wrong_type(path, wanted, "null"))
    }

    fn kind(&self, node: &Node, check: Check, value: &Value, path: &Path<'_>) -> Option<Found> {
        let (found, native) = match value {
            Value::Null => return None,
            Value::Bool(_) => (Type::Boolean, ""),
            Value::String(_) => (Type::String, ""),
            Value::Array(_) => (Type::Array, ""),
            Value::Object(_) => (Type::Object, ""),
            Value::Number(number) => match GoNumber::of(number) {
                GoNumber::Int(_) => (Type::Integer, "int64"),
                GoNumber::Float(_) => (Type::Number, "float64"),
            },
        };
        let allows = |kind: Type| match node.int_or_string {
            true => matches!(kind, Type::Integer | Type::String),
            false => node.kind == Some(kind),
        };
        let whole = || matches!(value, Value::Number(n) if number::is_whole(GoNumber::of(n).as_f64()));
        let fits = allows(found)
            || (found == Type::Number && allows(Type::Integer) && whole())
            || (found == Type::Integer && allows(Type::Number));
        if fits {
            return None;
        }
        let textual = matches!(found, Type::String | Type::Array);
        if check != Check::Nothing {
            let format = node.rules.as_deref().and_then(|rules| rules.format.as_deref()).unwrap_or_default();
            if !textual {
                return Some(self.wrong_type(path, format, native));
            }
            if !allows(Type::Number) && !allows(Type::Integer) {
                return None;
            }
        }
        Some(self.wrong_type(path, type_names(node).unwrap_or_default(), found.name()))
    }

    /// The branches of `anyOf`, `oneOf`, `allOf` and `not`. What was before makes no difference inside of them.
    fn branches(&self, rules: &Rules, value: &Value, path: &Path<'_>, outcome: &mut Outcome) {
        if !rules.any_of.is_empty() {
            let best = self.best(&rules.any_of, value, path, true);
            if best.valid == 0 {
                let text = format!("{} must validate at least one schema (anyOf)", go::quote(&path.dotted()));
                outcome.add(self.general(text));
            }
            outcome.merge(best.outcome);
        }
        if !rules.one_of.is_empty() {
            let best = self.best(&rules.one_of, value, path, false);
            if best.valid != 1 {
                let which = match best.valid {
                    0 => "Found none valid".to_owned(),
                    valid => format!("Found {valid} valid alternatives"),
                };
                let path = go::quote(&path.dotted());
                outcome.add(self.general(format!("{path} must validate one and only one schema (oneOf). {which}")));
            }
            if best.valid <= 1 {
                outcome.merge(best.outcome);
            }
        }
        if !rules.all_of.is_empty() {
            let mut valid = 0;
            for branch in &rules.all_of {
                let result = self.value(branch, value, None, path);
                valid += usize::from(result.errors.is_empty());
                outcome.merge(result);
            }
            if valid != rules.all_of.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                let path = go::quote(&path.dotted());
                outcome.add(self.general(format!("{path} must validate all the schemas (allOf){none}")));
            }
        }
        if let Some(not) = &rules.not
            && self.value(not, value, None, path).errors.is_empty()
        {
            outcome.add(self.general(format!("{} must not validate the schema (not)", go::quote(&path.dotted()))));
        }
    }

    /// The first branch that fits, else the one that fits best; and how many fit.
    fn best(&self, branches: &[Schema], value: &Value, path: &Path<'_>, first: bool) -> Best {
        let mut best = Best::default();
        let mut any = false;
        for branch in branches {
            let result = self.value(branch, value, None, path);
            if result.errors.is_empty() {
                if best.valid == 0 {
                    best.outcome = result;
                }
                best.valid += 1;
                if first {
                    break;
                }
            } else if best.valid == 0 && (!any || result.matches > best.outcome.matches) {
                best.outcome = result;
            }
            any = true;
        }
        best
    }

    fn text(&self, rules: &Rules, text: &str, path: &Path<'_>, outcome: &mut Outcome) {
        let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(most) = rules.max_length
            && length() > most
        {
            let error = |field| FieldError::too_long(field, usize::try_from(most).unwrap_or_default());
            let message = format!("{} in body should be at most {most} chars long", path.dotted());
            outcome.add(Found { text: message, error: error(self.field(&path.dotted())) });
        } else if let Some(least) = rules.min_length
            && length() < least
        {
            outcome.add(self.invalid(path, text, &format!("should be at least {least} chars long")));
        } else if let Some(pattern) = &rules.pattern
            && !pattern.matches(text)
        {
            outcome.add(self.invalid(path, text, &format!("should match '{}'", pattern.source())));
        }
        if let Check::Text(format) = rules.check {
            outcome.matches += 1;
            if !format.holds(text) {
                outcome.add(self.wrong_type(path, rules.format.as_deref().unwrap_or_default(), text));
            }
        }
    }

    fn list(&self, node: &Node, items: &[Value], old: Option<Old<'_>>, path: &Path<'_>, outcome: &mut Outcome) {
        if let Some(schema) = &node.items {
            let old = old.map(Old::items);
            for (i, item) in items.iter().enumerate() {
                let old = old.as_ref().and_then(|old| old.get(item));
                outcome.merge(self.ratcheted(schema, item, old, &path.index(i)));
                if outcome.is_full() {
                    break;
                }
            }
        }
        let Some(rules) = node.rules.as_deref() else {
            return;
        };
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(least) = rules.min_items.filter(|least| count < *least) {
            outcome.add(self.invalid(path, count, &format!("should have at least {least} items")));
        }
        if let Some(most) = rules.max_items.filter(|most| count > *most) {
            let text = format!("{} in body should have at most {most} items", path.dotted());
            outcome.add(self.too_many(path, text, items.len(), most));
        }
        if rules.unique_items && list::has_duplicates(items) {
            outcome.add(self.invalid(path, "", "shouldn't contain duplicates"));
        }
    }

    fn options(&self, rules: &Rules, value: &Value, path: &Path<'_>) -> Option<Found> {
        if rules.options.is_empty() || rules.options.iter().any(|option| is_option(value, option)) {
            return None;
        }
        let text = |option: &Value| option.as_str().map_or_else(|| go::json(option), str::to_owned);
        let options: Vec<String> = rules.options.iter().map(text).collect();
        let names: Vec<&str> = options.iter().map(String::as_str).collect();
        let dotted = path.dotted();
        let message = format!("{dotted} in body should be one of [{}]", names.join(" "));
        Some(Found { text: message, error: FieldError::not_supported(self.field(&dotted), value.clone(), &names) })
    }

    fn object(
        &self,
        schema: &Schema,
        fields: &Map<String, Value>,
        old: Option<Old<'_>>,
        path: &Path<'_>,
        outcome: &mut Outcome,
    ) {
        let node = &*schema.0;
        if let Some(rules) = node.rules.as_deref() {
            let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
            if let Some(least) = rules.min_properties.filter(|least| count < *least) {
                outcome.add(self.invalid(path, count, &format!("should have at least {least} properties")));
            }
            if let Some(most) = rules.max_properties.filter(|most| count > *most) {
                let text = format!("{} in body should have at most {most} properties", path.dotted());
                outcome.add(self.too_many(path, text, fields.len(), most));
            }
        }
        let before = |name: &str| old.and_then(|old| old.field(name));
        let unnamed = || fields.iter().filter(|(name, _)| schema.property(name).is_none());
        match &node.additional {
            Additional::Unset | Additional::Allowed(true) => {}
            Additional::Allowed(false) => {
                for (name, _) in unnamed() {
                    let text = format!("{}.{name} in body is a forbidden property", path.dotted());
                    outcome.add(self.found(path, name.as_str(), text));
                    if outcome.is_full() {
                        break;
                    }
                }
            }
            Additional::Schema(schema) => {
                for (name, value) in unnamed() {
                    outcome.merge(self.ratcheted(schema, value, before(name), &path.key(name)));
                    if outcome.is_full() {
                        break;
                    }
                }
            }
        }
        if !node.properties.is_empty() {
            for (name, value) in fields {
                if let Some(property) = schema.property(name) {
                    // The server sets these; that they did not change says nothing.
                    let typed = path.is_root() && matches!(name.as_str(), "apiVersion" | "kind");
                    let old = before(name).filter(|_| !typed);
                    outcome.merge(self.ratcheted(property, value, old, &path.field(name)));
                }
            }
        }
        for name in &node.required {
            if !fields.contains_key(&**name) {
                let dotted = format!("{}.{name}", path.dotted());
                let error = FieldError::required(self.field(&dotted), "");
                outcome.add(Found { text: format!("{dotted} in body is required"), error });
            }
        }
    }

    /// The field that upstream's name for it stands for; the value itself has none.
    fn field(&self, dotted: &str) -> FieldPath {
        match dotted {
            "" | "." => self.whole(),
            name => self.prefix.child(name.strip_prefix('.').unwrap_or(name)),
        }
    }

    fn whole(&self) -> FieldPath {
        if self.prefix.as_str().is_empty() { FieldPath::new("<nil>") } else { self.prefix.clone() }
    }

    fn found(&self, path: &Path<'_>, value: impl Into<Value>, text: String) -> Found {
        let error = FieldError::invalid(self.field(&path.dotted()), value, text.clone());
        Found { text, error }
    }

    fn invalid(&self, path: &Path<'_>, value: impl Into<Value>, rule: &str) -> Found {
        self.found(path, value, format!("{} in body {rule}", path.dotted()))
    }

    fn wrong_type(&self, path: &Path<'_>, wanted: &str, found: &str) -> Found {
        let dotted = path.dotted();
        let text = format!("{dotted} in body must be of type {wanted}: {}", go::quote(found));
        let error = FieldError::type_invalid(self.field(&dotted), found, text.clone());
        Found { text, error }
    }

    /// An error that upstream reports without a field.
    fn general(&self, text: String) -> Found {
        let error = FieldError::invalid(self.whole(), "", text.clone());
        Found { text, error }
    }

    fn too_many(&self, path: &Path<'_>, text: String, count: usize, most: i64) -> Found {
        let mut error = FieldError::too_many(self.field(&path.dotted()), count, usize::try_from(most).unwrap_or(0));
        if most < 0 {
            error.detail = "has too many items".to_owned();
        }
        debug_assert_eq!(error.kind, FieldErrorKind::TooMany);
        Found { text, error }
    }
}

/// What the branches of `anyOf` or `oneOf` come to.
#[derive(Default)]
struct Best {
    outcome: Outcome,
    valid: usize,
}

fn type_names(node: &Node) -> Option<&'static str> {
    match node.int_or_string {
        true => Some("integer,string"),
        false => node.kind.map(Type::name),
    }
}

/// Whether a value is one of an enum, as Go converts it to the type of the option: a fraction is cut off, and a number
/// stands for its character.
#[expect(clippy::cast_possible_truncation, reason = "what Go's conversion does")]
fn is_option(value: &Value, option: &Value) -> bool {
    match (value, option) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(value), Value::Number(option)) => match (GoNumber::of(value), GoNumber::of(option)) {
            (GoNumber::Float(value), GoNumber::Int(option)) => value as i64 == option,
            (value, GoNumber::Float(option)) => value.as_f64() == option,
            (value, option) => value == option,
        },
        (Value::Number(value), Value::String(option)) => match GoNumber::of(value) {
            GoNumber::Int(code) => {
                let c = u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
                option.chars().eq([c])
            }
            GoNumber::Float(_) => false,
        },
        (value, option) => go::same(value, option),
    }
}
