//! A schema as it is written in a definition: the rules that speak of its form are held against this, not against what
//! is left of it once it was read.
//!
//! What has another type than its keyword wants is taken as absent: reading the schema reports that.

use serde_json::{Map, Value};

use super::MAX_DEPTH;

/// How long the paths of all schemas inside of one may be together. The largest definitions in use have a tenth of it.
const MAX_PATH_BYTES: usize = 32 << 20;
/// How much a keyword adds to a path at most.
const LONGEST_KEYWORD: usize = "additionalProperties[]..".len();

/// One level of a schema as it is written.
#[derive(Clone, Copy)]
pub(super) struct Props<'j>(&'j Map<String, Value>);

/// What is written under `additionalProperties`.
#[derive(Clone, Copy)]
pub(super) enum Additional<'j> {
    Unset,
    Allowed(bool),
    Schema(Props<'j>),
}

/// The keywords under which there are schemas of the same value.
pub(super) const BRANCHES: [&str; 3] = ["allOf", "oneOf", "anyOf"];

// === impl Props ===

impl<'j> Props<'j> {
    pub(super) fn new(fields: &'j Map<String, Value>) -> Self {
        Self(fields)
    }

    pub(super) fn of(json: &'j Value) -> Option<Self> {
        json.as_object().map(Self)
    }

    /// What is written; null is nothing.
    pub(super) fn get(self, keyword: &str) -> Option<&'j Value> {
        self.0.get(keyword).filter(|value| !value.is_null())
    }

    pub(super) fn has(self, keyword: &str) -> bool {
        self.get(keyword).is_some()
    }

    pub(super) fn text(self, keyword: &str) -> &'j str {
        self.optional_text(keyword).unwrap_or_default()
    }

    pub(super) fn optional_text(self, keyword: &str) -> Option<&'j str> {
        self.get(keyword)?.as_str()
    }

    pub(super) fn flag(self, keyword: &str) -> bool {
        self.optional_flag(keyword).unwrap_or(false)
    }

    pub(super) fn optional_flag(self, keyword: &str) -> Option<bool> {
        self.get(keyword)?.as_bool()
    }

    /// `type`.
    pub(super) fn kind(self) -> &'j str {
        self.text("type")
    }

    pub(super) fn embedded(self) -> bool {
        self.flag("x-kubernetes-embedded-resource")
    }

    pub(super) fn int_or_string(self) -> bool {
        self.flag("x-kubernetes-int-or-string")
    }

    pub(super) fn preserves_unknown(self) -> bool {
        self.flag("x-kubernetes-preserve-unknown-fields")
    }

    pub(super) fn list_type(self) -> Option<&'j str> {
        self.optional_text("x-kubernetes-list-type")
    }

    pub(super) fn map_keys(self) -> impl Iterator<Item = &'j str> {
        self.list("x-kubernetes-list-map-keys").filter_map(Value::as_str)
    }

    pub(super) fn list(self, keyword: &str) -> impl Iterator<Item = &'j Value> {
        self.get(keyword).and_then(Value::as_array).into_iter().flatten()
    }

    /// The branches under `allOf` and its like, with the place of each.
    pub(super) fn branches(self, keyword: &str) -> impl Iterator<Item = (usize, Self)> {
        self.list(keyword).enumerate().filter_map(|(i, json)| Some((i, Self::of(json)?)))
    }

    /// The schemas under `properties` and its like, in the order of their names.
    pub(super) fn named(self, keyword: &str) -> impl Iterator<Item = (&'j str, Self)> {
        let fields = self.get(keyword).and_then(Value::as_object).into_iter().flatten();
        fields.filter_map(|(name, json)| Some((name.as_str(), Self::of(json)?)))
    }

    pub(super) fn properties(self) -> impl Iterator<Item = (&'j str, Self)> {
        self.named("properties")
    }

    pub(super) fn property(self, name: &str) -> Option<Self> {
        self.get("properties")?.get(name).and_then(Self::of)
    }

    /// The one schema under `items` or `not`.
    pub(super) fn single(self, keyword: &str) -> Option<Self> {
        self.get(keyword).and_then(Self::of)
    }

    pub(super) fn items(self) -> Option<Self> {
        self.single("items")
    }

    pub(super) fn additional(self) -> Additional<'j> {
        match self.get("additionalProperties") {
            Some(Value::Bool(allowed)) => Additional::Allowed(*allowed),
            Some(Value::Object(fields)) => Additional::Schema(Self(fields)),
            _ => Additional::Unset,
        }
    }

    /// All schemas directly inside this one, also those under keywords that no definition may use.
    fn inner(self) -> impl Iterator<Item = Self> {
        let lists = ["allOf", "anyOf", "oneOf", "items"].into_iter();
        let lists = lists.flat_map(move |keyword| self.branches(keyword).map(|(_, props)| props));
        let maps = ["properties", "patternProperties", "definitions", "dependencies"].into_iter();
        let maps = maps.flat_map(move |keyword| self.named(keyword).map(|(_, props)| props));
        let single = ["items", "not", "additionalProperties", "additionalItems"].into_iter();
        lists.chain(maps).chain(single.filter_map(move |keyword| self.single(keyword)))
    }

    /// Whether this schema or one inside it is as `wanted`.
    pub(super) fn any(self, wanted: &dyn Fn(Self) -> bool) -> bool {
        wanted(self) || self.inner().any(|props| props.any(wanted))
    }

    /// The first that is found in this schema or in one inside it.
    pub(super) fn find<T>(self, look: &mut dyn FnMut(Self) -> Option<T>) -> Option<T> {
        look(self).or_else(|| self.inner().find_map(|props| props.find(look)))
    }

    /// Why this schema is more than can be looked at, if it is: walks over it end soon, and so do the texts they write.
    pub(super) fn excess(self) -> Option<String> {
        if self.is_deeper_than(MAX_DEPTH) {
            return Some(format!("must not be more than {MAX_DEPTH} deep"));
        }
        let mut left = MAX_PATH_BYTES;
        self.spend_paths(0, &mut left).is_none().then(|| "has too many parts below names that are too long".to_owned())
    }

    fn is_deeper_than(self, levels: usize) -> bool {
        match levels.checked_sub(1) {
            None => self.inner().next().is_some(),
            Some(levels) => self.inner().any(|props| props.is_deeper_than(levels)),
        }
    }

    /// Takes off what the paths of this schema and of all inside it are long. None if nothing is left.
    fn spend_paths(self, path: usize, left: &mut usize) -> Option<()> {
        *left = left.checked_sub(path)?;
        let maps = ["properties", "patternProperties", "definitions", "dependencies"];
        for (name, props) in maps.into_iter().flat_map(|keyword| self.named(keyword)) {
            props.spend_paths(path + LONGEST_KEYWORD + name.len(), left)?;
        }
        let lists = ["allOf", "anyOf", "oneOf", "items"].into_iter();
        let lists = lists.flat_map(|keyword| self.branches(keyword).map(|(_, props)| props));
        let single = ["items", "not", "additionalProperties", "additionalItems"].into_iter();
        for props in lists.chain(single.filter_map(|keyword| self.single(keyword))) {
            props.spend_paths(path + LONGEST_KEYWORD, left)?;
        }
        Some(())
    }
}
