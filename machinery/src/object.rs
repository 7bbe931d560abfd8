//! An API object: a JSON object whose metadata can be read and written by name.
//!
//! Reading is lenient, because what is stored may have been written by another version: a field of the wrong type reads
//! as absent. Checking is the business of the schema.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::group::{GroupVersion, GroupVersionKind};

/// An API object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Object(
    /// Always an object; kept as a value, because that is what schemas and encoders look at.
    Value,
);

/// The metadata of an object, to read.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'o>(Option<&'o Map<String, Value>>);

/// An object that another one belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// The owner's `apiVersion`.
    pub api_version: String,
    /// The owner's kind.
    pub kind: String,
    /// The owner's name.
    pub name: String,
    /// The owner's UID.
    pub uid: String,
    /// Whether it is the owner that manages the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether the owner cannot be deleted in the foreground before the object is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

// === impl Object ===

impl Object {
    /// An object of these fields.
    pub fn new(fields: Map<String, Value>) -> Self {
        Self(Value::Object(fields))
    }

    /// The fields.
    pub fn fields(&self) -> &Map<String, Value> {
        match &self.0 {
            Value::Object(fields) => fields,
            _ => unreachable!("an object is made of fields only"),
        }
    }

    /// The fields, to change.
    pub fn fields_mut(&mut self) -> &mut Map<String, Value> {
        match &mut self.0 {
            Value::Object(fields) => fields,
            _ => unreachable!("an object is made of fields only"),
        }
    }

    /// The fields by themselves.
    pub fn into_fields(self) -> Map<String, Value> {
        match self.0 {
            Value::Object(fields) => fields,
            _ => unreachable!("an object is made of fields only"),
        }
    }

    /// The object as a value.
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// Changes it as the JSON value that it is. What is no object afterwards says nothing.
    pub fn edit_as_value(&mut self, change: impl FnOnce(&mut Value)) {
        change(&mut self.0);
        if !self.0.is_object() {
            self.0 = Value::Object(Map::new());
        }
    }

    /// `apiVersion`.
    pub fn api_version(&self) -> &str {
        text(self.fields(), "apiVersion")
    }

    /// `kind`.
    pub fn kind(&self) -> &str {
        text(self.fields(), "kind")
    }

    /// Group, version and kind; `None` if `apiVersion` is malformed.
    pub fn gvk(&self) -> Option<GroupVersionKind> {
        Some(GroupVersion::parse(self.api_version())?.kind(self.kind().to_owned()))
    }

    /// Sets `apiVersion` and `kind`.
    pub fn set_gvk(&mut self, gvk: &GroupVersionKind) {
        self.fields_mut().insert("apiVersion".to_owned(), gvk.group_version().to_string().into());
        self.fields_mut().insert("kind".to_owned(), gvk.kind.to_string().into());
    }

    /// The metadata, to read.
    pub fn metadata(&self) -> Metadata<'_> {
        Metadata(self.fields().get("metadata").and_then(Value::as_object))
    }

    /// The metadata, to change. One that is no object is replaced.
    pub fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        let metadata = self.fields_mut().entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if !metadata.is_object() {
            *metadata = Value::Object(Map::new());
        }
        match metadata {
            Value::Object(fields) => fields,
            _ => unreachable!("it was just made an object"),
        }
    }

    /// Sets a text of the metadata; an empty one is removed.
    pub fn set_metadata_text(&mut self, field: &str, value: &str) {
        match value {
            "" => drop(self.metadata_mut().remove(field)),
            value => drop(self.metadata_mut().insert(field.to_owned(), value.into())),
        }
    }

    /// Sets the generation.
    pub fn set_generation(&mut self, generation: i64) {
        self.metadata_mut().insert("generation".to_owned(), generation.into());
    }

    /// Sets the finalizers; none removes the field.
    pub fn set_finalizers(&mut self, finalizers: &[String]) {
        match finalizers {
            [] => drop(self.metadata_mut().remove("finalizers")),
            some => drop(self.metadata_mut().insert("finalizers".to_owned(), some.into())),
        }
    }
}

impl Default for Object {
    fn default() -> Self {
        Self::new(Map::new())
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        object.0
    }
}

/// Gives back what is no JSON object.
impl TryFrom<Value> for Object {
    type Error = Value;

    fn try_from(value: Value) -> Result<Self, Value> {
        match value {
            object @ Value::Object(_) => Ok(Self(object)),
            other => Err(other),
        }
    }
}

// === impl Metadata ===

impl<'o> Metadata<'o> {
    /// The name.
    pub fn name(self) -> &'o str {
        self.text("name")
    }

    /// What a name is to be made of.
    pub fn generate_name(self) -> &'o str {
        self.text("generateName")
    }

    /// The namespace; empty for an object of the cluster.
    pub fn namespace(self) -> &'o str {
        self.text("namespace")
    }

    /// The UID.
    pub fn uid(self) -> &'o str {
        self.text("uid")
    }

    /// The version, as clients see it.
    pub fn resource_version(self) -> &'o str {
        self.text("resourceVersion")
    }

    /// When it was created.
    pub fn creation_timestamp(self) -> &'o str {
        self.text("creationTimestamp")
    }

    /// When its deletion was asked for.
    pub fn deletion_timestamp(self) -> Option<&'o str> {
        self.get("deletionTimestamp").and_then(Value::as_str)
    }

    /// How often its desired state has changed.
    pub fn generation(self) -> i64 {
        self.get("generation").and_then(Value::as_i64).unwrap_or(0)
    }

    /// The labels, by name.
    pub fn labels(self) -> impl Iterator<Item = (&'o str, &'o str)> {
        self.texts("labels")
    }

    /// One label.
    pub fn label(self, name: &str) -> Option<&'o str> {
        self.get("labels")?.get(name)?.as_str()
    }

    /// The annotations, by name.
    pub fn annotations(self) -> impl Iterator<Item = (&'o str, &'o str)> {
        self.texts("annotations")
    }

    /// One annotation.
    pub fn annotation(self, name: &str) -> Option<&'o str> {
        self.get("annotations")?.get(name)?.as_str()
    }

    /// What must happen before it can be removed.
    pub fn finalizers(self) -> impl Iterator<Item = &'o str> {
        self.get("finalizers").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// What it belongs to. Entries that make no sense are left out.
    pub fn owner_references(self) -> impl Iterator<Item = OwnerReference> {
        let entries = self.get("ownerReferences").and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(|entry| OwnerReference::deserialize(entry).ok())
    }

    /// Any field.
    pub fn get(self, field: &str) -> Option<&'o Value> {
        self.0?.get(field)
    }

    fn text(self, field: &str) -> &'o str {
        self.0.map_or("", |fields| text(fields, field))
    }

    fn texts(self, field: &str) -> impl Iterator<Item = (&'o str, &'o str)> + use<'o> {
        let entries = self.get(field).and_then(Value::as_object).into_iter().flatten();
        entries.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }
}

fn text<'o>(fields: &'o Map<String, Value>, field: &str) -> &'o str {
    fields.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
