//! The structural schema of a kind: what its objects may hold, and what follows from that alone.
//!
//! One immutable tree, shared by reference counts, serves four walks: [`validate`] says what is wrong, [`prune`] drops
//! what is not specified, [`default`] fills in what is absent, and server-side apply asks it how lists and maps merge.
//! The rules and the words are those of custom resources in Kubernetes; `tests/data/go/schema-*.json` records them.
//!
//! Walks follow the schema, so that they end where it ends; a schema is at most [`MAX_DEPTH`] deep.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

mod checked_defaults;
mod default;
mod definition;
mod derive;
mod embedded;
mod field_path;
mod format;
mod go_form;
mod list;
mod notes;
mod parse;
mod path;
mod pattern;
mod props;
mod prune;
mod structural;
mod validate;
mod write;
mod written;

use format::Format;
use pattern::Pattern;

pub use default::{default, drop_nulls};
pub use definition::{
    NotSelectable, SelectableField, StatusSubresource, check_definition, has_defaults, rules_in_cel, selectable_field,
    unrecognized_formats,
};
pub use embedded::{coerce_embedded, visit_embedded};
pub(crate) use format::is_absolute_url;
pub(crate) use go_form::SchemaInGo;
pub use prune::{prune, unknown_fields};
pub use validate::{validate, validate_update};
pub use written::Known;

/// How deep a schema may be.
pub const MAX_DEPTH: usize = 100;

/// A structural schema. A copy shares everything.
#[derive(Clone)]
pub struct Schema(Arc<Node>);

/// The types of JSON that a schema may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A map of fields.
    Object,
    /// A list.
    Array,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
}

/// How a list merges, and what must be unique in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListType {
    /// Replaced as a whole.
    Atomic,
    /// Each item at most once.
    Set,
    /// Each key at most once; see [`Schema::map_keys`].
    Map,
}

/// How a map merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapType {
    /// Field by field.
    Granular,
    /// Replaced as a whole.
    Atomic,
}

/// What holds for fields that have no schema of their own.
#[derive(Clone, Debug, Default)]
enum Additional {
    /// Nothing is said: such a field is unknown.
    #[default]
    Unset,
    /// They are there or not, with any value.
    Allowed(bool),
    /// They all have this schema.
    Schema(Schema),
}

/// One level of a schema. Under `allOf`, `anyOf`, `oneOf` and `not` most of it is empty.
#[derive(Default)]
struct Node {
    kind: Option<Type>,
    nullable: bool,
    int_or_string: bool,
    preserve_unknown: bool,
    embedded: bool,
    /// What occurs here or below, so that walks can end early.
    below: Below,
    /// Sorted by name.
    properties: Box<[(Box<str>, Schema)]>,
    additional: Additional,
    items: Option<Schema>,
    required: Box<[Box<str>]>,
    list_type: Option<ListType>,
    map_type: Option<MapType>,
    default: Option<Box<Value>>,
    rules: Option<Box<Rules>>,
    /// Most levels have one, and next to none has another note: a map for each would take more room than all the rest.
    description: Box<str>,
    /// Title, example, externalDocs and x-kubernetes-validations, as they were written.
    notes: Option<Box<Map<String, Value>>>,
}

/// The rules for a value beyond its type.
#[derive(Default)]
struct Rules {
    /// As it was written.
    format: Option<Box<str>>,
    /// What of it is checked.
    check: Check,
    pattern: Option<Pattern>,
    /// What tells the items of a list apart.
    map_keys: Box<[Box<str>]>,
    options: Vec<Value>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    multiple_of: Option<f64>,
    exclusive_minimum: bool,
    exclusive_maximum: bool,
    unique_items: bool,
    min_length: Option<i64>,
    max_length: Option<i64>,
    min_items: Option<i64>,
    max_items: Option<i64>,
    min_properties: Option<i64>,
    max_properties: Option<i64>,
    all_of: Vec<Schema>,
    any_of: Vec<Schema>,
    one_of: Vec<Schema>,
    not: Option<Schema>,
}

/// The part of a format that is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Check {
    #[default]
    Nothing,
    Text(Format),
    Int32,
    Int64,
    Float,
    Double,
}

/// What occurs at a level of a schema or below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Below {
    defaults: bool,
    embedded: bool,
    keyed_lists: bool,
}

// === impl Schema ===

impl Schema {
    /// The type, if it has exactly one.
    pub fn kind(&self) -> Option<Type> {
        self.0.kind
    }

    /// The schema of a field, whether it is named or one of the additional ones.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.property(name).or_else(|| self.additional())
    }

    /// The schema of a field that is named.
    pub fn property(&self, name: &str) -> Option<&Self> {
        let properties = &self.0.properties;
        let found = properties.binary_search_by(|(property, _)| (**property).cmp(name)).ok()?;
        properties.get(found).map(|(_, schema)| schema)
    }

    /// The fields that are named, in the order of their names.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.0.properties.iter().map(|(name, schema)| (&**name, schema))
    }

    /// The schema of the fields that are not named.
    pub fn additional(&self) -> Option<&Self> {
        match &self.0.additional {
            Additional::Schema(schema) => Some(schema),
            Additional::Unset | Additional::Allowed(_) => None,
        }
    }

    /// Whether there may be fields that are not named, with any value; `None` if nothing is said of it.
    pub fn allows_additional(&self) -> Option<bool> {
        match self.0.additional {
            Additional::Allowed(allowed) => Some(allowed),
            Additional::Unset | Additional::Schema(_) => None,
        }
    }

    /// The schema of the items of a list.
    pub fn items(&self) -> Option<&Self> {
        self.0.items.as_ref()
    }

    /// The fields that must be there.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.0.required.iter().map(|name| &**name)
    }

    /// Whether null is a value of its own here. Where it is not, a null is taken as absent.
    pub fn nullable(&self) -> bool {
        self.0.nullable
    }

    /// The value of what is absent.
    pub fn default_value(&self) -> Option<&Value> {
        self.0.default.as_deref()
    }

    /// How a list merges; unsaid means atomic.
    pub fn list_type(&self) -> ListType {
        self.0.list_type.unwrap_or(ListType::Atomic)
    }

    /// The fields that identify an item of a list of type map.
    pub fn map_keys(&self) -> impl ExactSizeIterator<Item = &str> {
        let keys = self.rules().map_or(&[][..], |rules| &rules.map_keys);
        keys.iter().map(|name| &**name)
    }

    /// How a map merges; unsaid means granular.
    pub fn map_type(&self) -> MapType {
        self.0.map_type.unwrap_or(MapType::Granular)
    }

    /// Whether fields that are not specified are kept.
    pub fn preserves_unknown_fields(&self) -> bool {
        self.0.preserve_unknown
    }

    /// Whether the value is an object of its own, with apiVersion, kind and metadata.
    pub fn is_embedded_resource(&self) -> bool {
        self.0.embedded
    }

    /// Whether the value is a whole number or text.
    pub fn is_int_or_string(&self) -> bool {
        self.0.int_or_string
    }

    /// What a text or a number stands for, as it is written; empty if nothing is said of it.
    pub fn format(&self) -> &str {
        self.rules().and_then(|rules| rules.format.as_deref()).unwrap_or_default()
    }

    /// What the field is for.
    pub fn description(&self) -> &str {
        &self.0.description
    }

    /// The rules in CEL, as they were written.
    pub fn validations(&self) -> &[Value] {
        let notes = self.0.notes.as_deref();
        let rules = notes.and_then(|notes| notes.get("x-kubernetes-validations")?.as_array());
        rules.map_or(&[], Vec::as_slice)
    }

    fn rules(&self) -> Option<&Rules> {
        self.0.rules.as_deref()
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_json())
    }
}

/// Two schemas are equal if they are written alike.
impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.to_json() == other.to_json()
    }
}

// === impl Type ===

impl Type {
    const ALL: [Self; 6] = [Self::Object, Self::Array, Self::String, Self::Integer, Self::Number, Self::Boolean];

    /// The name in a schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

// === impl ListType ===

impl ListType {
    const ALL: [Self; 3] = [Self::Atomic, Self::Set, Self::Map];

    /// The name in a schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::Set => "set",
            Self::Map => "map",
        }
    }
}

// === impl MapType ===

impl MapType {
    const ALL: [Self; 2] = [Self::Granular, Self::Atomic];

    /// The name in a schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Granular => "granular",
            Self::Atomic => "atomic",
        }
    }
}

// === impl Node ===

impl Node {
    /// The schemas of the values inside this one; not those of `allOf` and its like, which speak of the value itself.
    fn children(&self) -> impl Iterator<Item = &Schema> {
        let additional = match &self.additional {
            Additional::Schema(schema) => Some(schema),
            Additional::Unset | Additional::Allowed(_) => None,
        };
        self.properties.iter().map(|(_, schema)| schema).chain(additional).chain(&self.items)
    }

    fn seal(mut self) -> Schema {
        let mut below = Below {
            defaults: self.default.is_some(),
            embedded: self.embedded,
            keyed_lists: matches!(self.list_type, Some(ListType::Set | ListType::Map)),
        };
        for child in self.children() {
            below.defaults |= child.0.below.defaults;
            below.embedded |= child.0.below.embedded;
            below.keyed_lists |= child.0.below.keyed_lists;
        }
        self.below = below;
        Schema(Arc::new(self))
    }
}

#[cfg(test)]
mod tests;
