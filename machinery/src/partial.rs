//! Objects without anything but their metadata, for clients that look at many kinds and care for none: the garbage
//! collector, the namespace and the quota controllers.
//!
//! These are views: they borrow the objects and are written out at once, so that a list copies no metadata.

use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde::{Deserialize, Serialize as DeriveSerialize};
use serde_json::{Map, Value};

use crate::object::{Metadata, Object};

/// The metadata of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, DeriveSerialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMeta {
    /// The version of the whole list.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// What to ask for the next page with; empty on the last one.
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    pub continue_token: String,
    /// How many objects follow on later pages, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_item_count: Option<i64>,
}

/// The versions of `meta.k8s.io` that a client can ask for. They differ in name, and in one protobuf message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MetaVersion {
    /// `meta.k8s.io/v1`.
    #[default]
    V1,
    /// `meta.k8s.io/v1beta1`.
    V1beta1,
}

/// An object's metadata.
#[derive(Clone, Copy, Debug)]
pub struct PartialObjectMetadata<'o> {
    version: MetaVersion,
    object: &'o Object,
}

/// The metadata of many objects.
#[derive(Clone, Debug)]
pub struct PartialObjectMetadataList<'o> {
    version: MetaVersion,
    metadata: ListMeta,
    items: Vec<PartialObjectMetadata<'o>>,
}

// === impl MetaVersion ===

impl MetaVersion {
    /// As `apiVersion` writes it.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

// === impl PartialObjectMetadata ===

impl<'o> PartialObjectMetadata<'o> {
    /// Its kind.
    pub const KIND: &'static str = "PartialObjectMetadata";

    /// The metadata of an object.
    pub fn new(version: MetaVersion, object: &'o Object) -> Self {
        Self { version, object }
    }

    /// In which version.
    pub fn version(&self) -> MetaVersion {
        self.version
    }

    /// The metadata.
    pub fn metadata(&self) -> Metadata<'o> {
        self.object.metadata()
    }
}

impl Serialize for PartialObjectMetadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let none = Map::new();
        let metadata = self.object.fields().get("metadata").and_then(Value::as_object).unwrap_or(&none);
        let mut fields = serializer.serialize_struct(Self::KIND, 3)?;
        fields.serialize_field("kind", Self::KIND)?;
        fields.serialize_field("apiVersion", self.version.api_version())?;
        fields.serialize_field("metadata", metadata)?;
        fields.end()
    }
}

// === impl PartialObjectMetadataList ===

impl<'o> PartialObjectMetadataList<'o> {
    /// Its kind.
    pub const KIND: &'static str = "PartialObjectMetadataList";

    /// The metadata of these objects.
    pub fn new(version: MetaVersion, metadata: ListMeta, objects: impl IntoIterator<Item = &'o Object>) -> Self {
        let items = objects.into_iter().map(|object| PartialObjectMetadata::new(version, object)).collect();
        Self { version, metadata, items }
    }

    /// In which version.
    pub fn version(&self) -> MetaVersion {
        self.version
    }

    /// The metadata of the list itself.
    pub fn metadata(&self) -> &ListMeta {
        &self.metadata
    }

    /// The metadata of each object.
    pub fn items(&self) -> &[PartialObjectMetadata<'o>] {
        &self.items
    }
}

impl Serialize for PartialObjectMetadataList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct(Self::KIND, 4)?;
        fields.serialize_field("kind", Self::KIND)?;
        fields.serialize_field("apiVersion", self.version.api_version())?;
        fields.serialize_field("metadata", &self.metadata)?;
        fields.serialize_field("items", &self.items)?;
        fields.end()
    }
}

#[cfg(test)]
mod tests;
