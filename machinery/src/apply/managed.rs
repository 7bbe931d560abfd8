//! `metadata.managedFields`: who owns which fields, since when.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::fields_v1::{self, FieldsError};
use super::set::FieldSet;
use crate::go;
use crate::object::Object;
use crate::time::{LAST_READ_BY_ALL, format_rfc3339, parse_rfc3339};

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Operation {
    /// By applying them.
    Apply,
    /// By any other write.
    Update,
}

/// What tells one owner from another. Those who apply are the same in all versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    /// All of it as JSON: the order of managers is the order of these texts.
    identifier: String,
    pub(super) name: String,
    pub(super) operation: Operation,
    /// Empty for [`Operation::Apply`].
    pub(super) api_version: String,
    pub(super) subresource: String,
}

/// Fields, in the version in which they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owned {
    pub(super) fields: FieldSet,
    pub(super) api_version: String,
}

/// Who owns what.
pub(super) type Owners = BTreeMap<Manager, Owned>;

/// Who owns what, and when they last changed it: seconds since 1970.
#[derive(Clone, Debug, Default)]
pub(super) struct Managed {
    pub(super) owners: Owners,
    pub(super) times: BTreeMap<Manager, i64>,
}

/// An entry as it is written, types checked and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Entry<'o> {
    manager: &'o str,
    operation: &'o str,
    api_version: &'o str,
    time: Option<i64>,
    fields_type: &'o str,
    fields: Option<&'o Value>,
    subresource: &'o str,
}

/// Why what stands in `managedFields` cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManagedFieldsError {
    /// It says neither that fields were applied nor that they were updated.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// It does not say in which version.
    #[error("apiVersion must not be empty")]
    ApiVersion,
    /// It does not say how the fields are written.
    #[error("missing fieldsType in managed fields entry {entry}")]
    NoFieldsType {
        /// Which entry, from 0.
        entry: usize,
    },
    /// The fields are written in a way that is not known.
    #[error("invalid fieldsType {fields_type} in managed fields entry {entry}")]
    FieldsType {
        /// How, quoted.
        fields_type: String,
        /// Which entry, from 0.
        entry: usize,
    },
    /// The fields are no set.
    #[error("error decoding set of managed fields entry {entry}: {problem}")]
    Fields {
        /// Which entry, from 0.
        entry: usize,
        /// What is wrong.
        problem: String,
    },
}

// === impl Operation ===

impl Operation {
    /// As an entry writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

// === impl Manager ===

impl Manager {
    pub(super) fn new(name: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Identifier<'m> {
            #[serde(skip_serializing_if = "str::is_empty")]
            manager: &'m str,
            operation: Operation,
            #[serde(skip_serializing_if = "str::is_empty")]
            api_version: &'m str,
            #[serde(skip_serializing_if = "str::is_empty")]
            subresource: &'m str,
        }
        let api_version = if operation == Operation::Apply { "" } else { api_version };
        Self {
            identifier: go::json_of(&Identifier { manager: name, operation, api_version, subresource }),
            name: name.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }
}

// === impl Managed ===

impl Managed {
    /// Understands entries.
    pub(super) fn decode(entries: &[Entry<'_>]) -> Result<Self, ManagedFieldsError> {
        let mut managed = Self::default();
        for (i, entry) in entries.iter().enumerate() {
            let operation = match entry.operation {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err(ManagedFieldsError::Operation),
            };
            if entry.api_version.is_empty() {
                return Err(ManagedFieldsError::ApiVersion);
            }
            match entry.fields_type {
                "FieldsV1" => {}
                "" => return Err(ManagedFieldsError::NoFieldsType { entry: i }),
                other => return Err(ManagedFieldsError::FieldsType { fields_type: go::quote(other), entry: i }),
            }
            let problem = |error: FieldsError| ManagedFieldsError::Fields { entry: i, problem: error.to_string() };
            let fields = entry.fields.map(fields_v1::from_json).transpose().map_err(problem)?;
            let manager = Manager::new(entry.manager, operation, entry.api_version, entry.subresource);
            // Whoever sends one that others cannot read would take the whole object from them.
            match entry.time.filter(|time| *time <= LAST_READ_BY_ALL) {
                Some(time) => drop(managed.times.insert(manager.clone(), time)),
                None => drop(managed.times.remove(&manager)),
            }
            let owned = Owned { fields: fields.unwrap_or_default(), api_version: entry.api_version.to_owned() };
            managed.owners.insert(manager, owned);
        }
        Ok(managed)
    }

    /// Writes the entries into an object.
    pub(super) fn encode(&self, object: &mut Object) {
        if self.owners.is_empty() {
            clear(object);
            return;
        }
        let time = |manager: &Manager| self.times.get(manager).copied();
        let mut sorted: Vec<_> = self.owners.iter().collect();
        sorted.sort_by_key(|(manager, owned)| {
            let seconds = time(manager).unwrap_or(0);
            (manager.operation, seconds, &manager.name, &owned.api_version, &manager.subresource)
        });
        let entries = sorted.into_iter().map(|(manager, owned)| entry(manager, owned, time(manager)));
        let entries = Value::Array(entries.collect());
        object.metadata_mut().insert("managedFields".to_owned(), entries);
    }
}

fn entry(manager: &Manager, owned: &Owned, time: Option<i64>) -> Value {
    let mut entry = Map::new();
    let mut text = |name: &str, value: &str| {
        if !value.is_empty() {
            entry.insert(name.to_owned(), value.into());
        }
    };
    text("manager", &manager.name);
    text("operation", manager.operation.as_str());
    text("apiVersion", &owned.api_version);
    text("time", &time.and_then(format_rfc3339).unwrap_or_default());
    text("fieldsType", "FieldsV1");
    text("subresource", &manager.subresource);
    entry.insert("fieldsV1".to_owned(), fields_v1::to_json(&owned.fields));
    Value::Object(entry)
}

/// Removes all entries from an object.
pub(super) fn clear(object: &mut Object) {
    if object.metadata().get("managedFields").is_some() {
        object.metadata_mut().remove("managedFields");
    }
}

/// The entries of an object; `None` if there is no list of them, or one that is not made of entries.
pub(super) fn entries(object: &Object) -> Option<Vec<Entry<'_>>> {
    object.metadata().get("managedFields")?.as_array()?.iter().map(Entry::read).collect()
}

/// Whether entries are a request to forget them all: none, or one that says nothing.
pub(super) fn is_reset(entries: &[Entry<'_>]) -> bool {
    match entries {
        [] => true,
        [only] => *only == Entry::default(),
        _ => false,
    }
}

// === impl Entry ===

impl<'o> Entry<'o> {
    pub(super) fn is_same_but_for_time(&self, other: &Self) -> bool {
        Self { time: None, ..*self } == Self { time: None, ..*other }
    }

    fn read(json: &'o Value) -> Option<Self> {
        let fields = json.as_object()?;
        let text = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Some(""),
            Some(value) => value.as_str(),
        };
        let time = match fields.get("time") {
            None | Some(Value::Null) => None,
            Some(value) => Some(parse_rfc3339(value.as_str()?)?),
        };
        Some(Self {
            manager: text("manager")?,
            operation: text("operation")?,
            api_version: text("apiVersion")?,
            time,
            fields_type: text("fieldsType")?,
            fields: fields.get("fieldsV1").filter(|fields| !fields.is_null()),
            subresource: text("subresource")?,
        })
    }
}
