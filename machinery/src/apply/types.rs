//! What apply needs to know of a kind: which values are merged field by field, and which as a whole.
//!
//! It is made of the kind's schema once, by upstream's rules (`schemaconv`): a schema without a type accepts anything, a
//! map without properties is free, what is free is merged by what it turns out to be ("deduced": maps field by field,
//! lists as a whole), and apiVersion, kind and metadata are known everywhere.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::metadata_type;
use crate::schema::{self, ListType, MapType, Schema};

/// What may stand at a place. A copy shares everything.
#[derive(Clone, Debug)]
pub(super) enum Type {
    /// What a schema says.
    Known(Arc<Atom>),
    /// Anything; a map is merged field by field.
    Deduced,
    /// Anything, as a whole.
    Untyped,
}

/// The values that a type allows: at least one of the three.
#[derive(Debug, Default)]
pub(super) struct Atom {
    pub(super) scalar: Option<Scalar>,
    pub(super) list: Option<List>,
    pub(super) map: Option<Map>,
}

/// What neither list nor map is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Numeric,
    Text,
    Boolean,
    Any,
}

/// A list.
#[derive(Debug)]
pub(super) struct List {
    pub(super) merge: ListMerge,
    pub(super) items: Type,
}

/// How a list merges.
#[derive(Debug)]
pub(super) enum ListMerge {
    /// As a whole.
    Atomic,
    /// Item by item, which are told apart by their values.
    Set,
    /// Item by item, which are told apart by the values of these fields.
    Map(Vec<String>),
}

/// A map.
#[derive(Debug)]
pub(super) struct Map {
    /// Whether it merges as a whole.
    pub(super) atomic: bool,
    /// The fields that have names in the schema.
    pub(super) fields: BTreeMap<String, Field>,
    /// All others; `None` if there may be none.
    pub(super) others: Option<Type>,
}

/// A field that has a name in the schema.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) kind: Type,
    pub(super) default: Option<Value>,
}

/// How to look at a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'t> {
    Scalar(Scalar),
    List(&'t List),
    Map(&'t Map),
}

// === impl Type ===

impl Type {
    /// The type of the objects of a kind.
    pub(super) fn of_kind(schema: &Schema) -> Self {
        convert(schema, Unknown::Dropped, Place::Root)
    }

    pub(super) fn known(atom: Atom) -> Self {
        Self::Known(Arc::new(atom))
    }

    pub(super) fn scalar(scalar: Scalar) -> Self {
        Self::known(Atom { scalar: Some(scalar), ..Atom::default() })
    }

    pub(super) fn list(merge: ListMerge, items: Self) -> Self {
        Self::known(Atom { list: Some(List { merge, items }), ..Atom::default() })
    }

    pub(super) fn map(map: Map) -> Self {
        Self::known(Atom { map: Some(map), ..Atom::default() })
    }

    pub(super) fn atom(&self) -> &Atom {
        static DEDUCED: LazyLock<Atom> = LazyLock::new(|| anything(false, Type::Deduced));
        static UNTYPED: LazyLock<Atom> = LazyLock::new(|| anything(true, Type::Untyped));
        match self {
            Self::Known(atom) => atom,
            Self::Deduced => &DEDUCED,
            Self::Untyped => &UNTYPED,
        }
    }

    /// How to look at a value: as what it is if that is allowed, and else as a map, a scalar or a list, whichever is.
    pub(super) fn form(&self, value: &Value) -> Form<'_> {
        let atom = self.atom();
        let as_it_is = match value {
            Value::Null => None,
            Value::Bool(_) | Value::Number(_) | Value::String(_) => atom.scalar.map(Form::Scalar),
            Value::Array(_) => atom.list.as_ref().map(Form::List),
            Value::Object(_) => atom.map.as_ref().map(Form::Map),
        };
        as_it_is.unwrap_or_else(|| atom.form())
    }
}

// === impl Atom ===

impl Atom {
    /// How to look at a value that says nothing of itself.
    pub(super) fn form(&self) -> Form<'_> {
        match (&self.map, self.scalar, &self.list) {
            (Some(map), ..) => Form::Map(map),
            (None, Some(scalar), _) => Form::Scalar(scalar),
            (None, None, Some(list)) => Form::List(list),
            (None, None, None) => Form::Scalar(Scalar::Any),
        }
    }
}

// === impl Form ===

impl Form<'_> {
    /// Whether both look at a value as the same: as a map, a scalar or a list.
    pub(super) fn is_like(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Form::Map(_), Form::Map(_)) | (Form::Scalar(_), Form::Scalar(_)) | (Form::List(_), Form::List(_))
        )
    }
}

// === impl List ===

impl List {
    pub(super) fn is_atomic(&self) -> bool {
        matches!(self.merge, ListMerge::Atomic)
    }
}

// === impl Map ===

impl Map {
    /// The type of a field; `None` if there may be no such field.
    pub(super) fn field(&self, name: &str) -> Option<&Type> {
        self.fields.get(name).map(|field| &field.kind).or(self.others.as_ref())
    }
}

/// What becomes of fields that a schema does not name. What is kept is kept all the way down.
#[derive(Clone, Copy, PartialEq)]
enum Unknown {
    Dropped,
    Kept,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    Inside,
}

fn anything(atomic: bool, others: Type) -> Atom {
    Atom {
        scalar: Some(Scalar::Any),
        list: Some(List { merge: ListMerge::Atomic, items: Type::Untyped }),
        map: Some(Map { atomic, fields: BTreeMap::new(), others: Some(others) }),
    }
}

fn convert(schema: &Schema, unknown: Unknown, place: Place) -> Type {
    let unknown = if schema.preserves_unknown_fields() { Unknown::Kept } else { unknown };
    match schema.kind() {
        None => Type::known(Atom {
            scalar: Some(Scalar::Any),
            list: Some(convert_list(schema, unknown)),
            map: Some(convert_map(schema, unknown, place)),
        }),
        Some(schema::Type::Object) => Type::map(convert_map(schema, unknown, place)),
        Some(schema::Type::Array) => Type::known(Atom { list: Some(convert_list(schema, unknown)), ..Atom::default() }),
        Some(schema::Type::Integer | schema::Type::Number) => Type::scalar(Scalar::Numeric),
        Some(schema::Type::Boolean) => Type::scalar(Scalar::Boolean),
        Some(schema::Type::String) => Type::scalar(match schema.format() {
            "" | "byte" => Scalar::Text,
            _ => Scalar::Any,
        }),
    }
}

fn convert_list(schema: &Schema, unknown: Unknown) -> List {
    let merge = match schema.list_type() {
        ListType::Atomic => ListMerge::Atomic,
        ListType::Set => ListMerge::Set,
        ListType::Map => ListMerge::Map(schema.map_keys().map(str::to_owned).collect()),
    };
    let items = schema.items().map_or(Type::Untyped, |items| convert(items, unknown, Place::Inside));
    List { merge, items }
}

fn convert_map(schema: &Schema, unknown: Unknown, place: Place) -> Map {
    let property = |(name, property): (&str, &Schema)| {
        let kind = convert(property, unknown, Place::Inside);
        (name.to_owned(), Field { kind, default: property.default_value().cloned() })
    };
    let mut fields: BTreeMap<String, Field> = schema.properties().map(property).collect();
    if place == Place::Root || schema.is_embedded_resource() {
        fields.extend(metadata_type::fields());
    }
    let others = match (schema.additional(), schema.allows_additional()) {
        (Some(others), _) => Some(convert(others, unknown, Place::Inside)),
        (None, Some(true)) => Some(Type::Deduced),
        (None, Some(false)) => None,
        (None, None) => (unknown == Unknown::Kept || fields.is_empty()).then_some(Type::Deduced),
    };
    Map { atomic: schema.map_type() == MapType::Atomic, fields, others }
}
