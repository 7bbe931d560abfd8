//! The table of types, as it is written in `types.txt`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::schema::{ListType, MapType};

/// All types.
pub(crate) struct Table {
    kinds: Vec<(&'static str, &'static str, usize)>,
    messages: Vec<Message>,
}

/// A struct in Go, an object in JSON, a message in protobuf.
pub(crate) struct Message {
    name: &'static str,
    atomic: bool,
    /// Sorted by number, which is the order in which they are written.
    fields: Vec<Field>,
}

/// A field of a message.
pub(crate) struct Field {
    pub(crate) number: u32,
    /// In JSON. A field without a name is a message whose fields stand beside it.
    pub(crate) name: &'static str,
    pub(crate) go_name: Cow<'static, str>,
    /// The Go type, where its form does not tell its name.
    pub(crate) named: Option<&'static str>,
    pub(crate) omit_empty: bool,
    pub(crate) omit_zero: bool,
    pub(crate) shape: Shape,
    pub(crate) kind: FieldKind,
    /// How strategic merge patches treat it: `merge`, `replace`, `retainKeys`, or two of them.
    pub(crate) patch_strategies: &'static str,
    pub(crate) merge_key: &'static str,
    pub(crate) list_type: Option<ListType>,
    pub(crate) map_keys: Vec<&'static str>,
    pub(crate) map_type: Option<MapType>,
    pub(crate) default: Option<Value>,
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One, always.
    Plain,
    /// One or none.
    Pointer,
    /// Any number.
    List,
    /// Any number, each with a name.
    Map,
}

/// What the values of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Text,
    Bool,
    Int32,
    Int64,
    Float64,
    Bytes,
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    FieldsV1,
    /// A list of texts that is a message of its own.
    Texts,
    /// Any value at all.
    Json,
    /// A schema, or something else in its place.
    SchemaOr(Instead),
    /// The message of that index.
    Message(usize),
}

/// What may stand where a schema can stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instead {
    /// Whether anything is allowed.
    Bool,
    /// Several schemas.
    List,
    /// Names of fields.
    Texts,
}

/// The message that a schema is.
const SCHEMA: &str = "apiextensions.JSONSchemaProps";

const TYPES: &str = include_str!("types.txt");

/// The table, which is read when it is first asked for.
pub(crate) fn table() -> &'static Table {
    static TABLE: LazyLock<Table> =
        LazyLock::new(|| Table::parse(TYPES).expect("the table is part of the program, and a test reads it"));
    &TABLE
}

// === impl Table ===

impl Table {
    pub(crate) fn kind(&self, api_version: &str, kind: &str) -> Option<&Message> {
        let found = self.kinds.iter().find(|known| (known.0, known.1) == (api_version, kind))?;
        self.message(found.2)
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.kinds.iter().map(|(api_version, kind, _)| (*api_version, *kind))
    }

    pub(crate) fn message(&self, index: usize) -> Option<&Message> {
        self.messages.get(index)
    }

    /// The table in a text; `None` if it is none.
    fn parse(text: &'static str) -> Option<Self> {
        let lines = || text.lines().filter(|line| !line.starts_with('#'));
        let names = lines().filter_map(|line| line.strip_prefix("message ")?.split(' ').next());
        let indexes: HashMap<&str, usize> = names.enumerate().map(|(index, name)| (name, index)).collect();
        let mut table = Self { kinds: Vec::new(), messages: Vec::new() };
        for line in lines() {
            let mut words = line.split(' ');
            match words.next()? {
                "kind" => table.kinds.push((words.next()?, words.next()?, *indexes.get(words.next()?)?)),
                "message" => {
                    let (name, atomic) = (words.next()?, words.next() == Some("atomic"));
                    table.messages.push(Message { name, atomic, fields: Vec::new() });
                }
                number => {
                    let field = Field::parse(number.parse().ok()?, words, &indexes)?;
                    table.messages.last_mut()?.fields.push(field);
                }
            }
        }
        Some(table)
    }
}

// === impl Instead ===

impl Instead {
    /// As Go calls the type.
    pub(crate) fn go_name(self) -> &'static str {
        match self {
            Self::Bool => "JSONSchemaPropsOrBool",
            Self::List => "JSONSchemaPropsOrArray",
            Self::Texts => "JSONSchemaPropsOrStringArray",
        }
    }
}

/// What a schema consists of.
pub(crate) fn schema_message() -> Option<&'static Message> {
    let table = table();
    table.messages.iter().find(|message| message.name == SCHEMA)
}

// === impl Message ===

impl Message {
    /// Whether it consists of messages like itself, so that following its fields would not end.
    pub(crate) fn is_recursive(&self) -> bool {
        self.name == SCHEMA
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Without the package.
    pub(crate) fn go_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    /// Whether it merges as a whole.
    pub(crate) fn is_atomic(&self) -> bool {
        self.atomic
    }

    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field of that name in JSON, here or in a message whose fields stand beside these.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find_map(|field| match field.inlined() {
            Some(message) => message.field(name),
            None => (field.name == name).then_some(field),
        })
    }

    /// The same, in capitals or not: merging strategically is less strict than reading.
    pub(crate) fn field_ignoring_case(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find_map(|field| match field.inlined() {
            Some(message) => message.field_ignoring_case(name),
            None => field.name.eq_ignore_ascii_case(name).then_some(field),
        })
    }

    /// By its number on the wire.
    pub(crate) fn numbered(&self, number: u32) -> Option<&Field> {
        self.fields.iter().find(|field| field.number == number)
    }
}

// === impl Field ===

impl Field {
    fn parse(number: u32, mut words: std::str::Split<'static, char>, indexes: &HashMap<&str, usize>) -> Option<Self> {
        let name = words.next()?;
        let (shape, kind) = parse_type(words.next()?, indexes)?;
        let (omit_empty, omit_zero) = (name.contains('?'), name.contains('~'));
        let name = name.trim_end_matches(['?', '~', '.']);
        let mut field = Self {
            number,
            name,
            go_name: capitalized(name),
            named: None,
            omit_empty,
            omit_zero,
            shape,
            kind,
            patch_strategies: "",
            merge_key: "",
            list_type: None,
            map_keys: Vec::new(),
            map_type: None,
            default: None,
        };
        for word in words {
            let (fact, value) = word.split_once('=')?;
            match fact {
                "go" => field.go_name = Cow::Borrowed(value),
                "named" => field.named = Some(value),
                "patch" => field.patch_strategies = value,
                "key" => field.merge_key = value,
                "list" => (field.list_type, field.map_keys) = parse_list(value)?,
                "map" => field.map_type = Some(if value == "atomic" { MapType::Atomic } else { MapType::Granular }),
                "default" => field.default = Some(serde_json::from_str(value).ok()?),
                _ => return None,
            }
        }
        Some(field)
    }

    /// The message whose fields stand beside this one's.
    pub(crate) fn inlined(&self) -> Option<&'static Message> {
        if self.name.is_empty() { self.message() } else { None }
    }

    /// The message that its values are.
    pub(crate) fn message(&self) -> Option<&'static Message> {
        match self.kind {
            FieldKind::Message(index) => table().message(index),
            _ => None,
        }
    }
}

fn parse_type(text: &str, indexes: &HashMap<&str, usize>) -> Option<(Shape, FieldKind)> {
    let shapes = [("*", Shape::Pointer), ("[]", Shape::List), ("map[]", Shape::Map), ("", Shape::Plain)];
    let (shape, rest) = shapes.iter().find_map(|(prefix, shape)| Some((*shape, text.strip_prefix(prefix)?)))?;
    let kind = match rest {
        "string" => FieldKind::Text,
        "bool" => FieldKind::Bool,
        "int32" => FieldKind::Int32,
        "int64" => FieldKind::Int64,
        "float64" => FieldKind::Float64,
        "bytes" => FieldKind::Bytes,
        "Quantity" => FieldKind::Quantity,
        "IntOrString" => FieldKind::IntOrString,
        "Time" => FieldKind::Time,
        "MicroTime" => FieldKind::MicroTime,
        "FieldsV1" => FieldKind::FieldsV1,
        "list[]string" => FieldKind::Texts,
        "JSON" => FieldKind::Json,
        "SchemaOrBool" => FieldKind::SchemaOr(Instead::Bool),
        "SchemaOrList" => FieldKind::SchemaOr(Instead::List),
        "SchemaOrTexts" => FieldKind::SchemaOr(Instead::Texts),
        name => FieldKind::Message(*indexes.get(name)?),
    };
    Some((shape, kind))
}

fn parse_list(text: &'static str) -> Option<(Option<ListType>, Vec<&'static str>)> {
    Some(match text.split_once(':') {
        Some(("map", keys)) => (Some(ListType::Map), keys.split(',').collect()),
        None if text == "atomic" => (Some(ListType::Atomic), Vec::new()),
        None if text == "set" => (Some(ListType::Set), Vec::new()),
        _ => return None,
    })
}

fn capitalized(name: &'static str) -> Cow<'static, str> {
    let mut letters = name.chars();
    match letters.next() {
        Some(first) => Cow::Owned(first.to_uppercase().chain(letters).collect()),
        None => Cow::Borrowed(name),
    }
}
