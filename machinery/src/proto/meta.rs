//! Messages of `meta/v1`: the metadata of objects and of lists.
//!
//! They are made from our own types to be written, and serialized to JSON when they were read.

use prost::Message;
use serde::Serialize as DeriveSerialize;
use serde::ser::{Error, Serialize, Serializer};
use serde_json::Value;

use super::{Encode, Readable, envelope};
use crate::object::{self, Metadata};
use crate::partial::{self, MetaVersion};
use crate::time::{ZERO, format_rfc3339, parse_rfc3339};

#[derive(Clone, PartialEq, Message, DeriveSerialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectMeta {
    #[prost(string, required, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    #[prost(string, required, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) generate_name: String,
    #[prost(string, required, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) namespace: String,
    #[prost(string, required, tag = "4")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) self_link: String,
    #[prost(string, required, tag = "5")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) uid: String,
    #[prost(string, required, tag = "6")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) resource_version: String,
    #[prost(int64, required, tag = "7")]
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) generation: i64,
    #[prost(message, required, tag = "8")]
    #[serde(skip_serializing_if = "Time::is_unset")]
    pub(super) creation_timestamp: Time,
    #[prost(message, optional, tag = "9")]
    #[serde(skip_serializing_if = "Time::is_none_or_unset")]
    pub(super) deletion_timestamp: Option<Time>,
    #[prost(int64, optional, tag = "10")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deletion_grace_period_seconds: Option<i64>,
    #[prost(message, repeated, tag = "11")]
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub(super) labels: Vec<Entry>,
    #[prost(message, repeated, tag = "12")]
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub(super) annotations: Vec<Entry>,
    #[prost(message, repeated, tag = "13")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) owner_references: Vec<OwnerReference>,
    #[prost(string, repeated, tag = "14")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) finalizers: Vec<String>,
    #[prost(message, repeated, tag = "17")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) managed_fields: Vec<ManagedFieldsEntry>,
}

/// An entry of a map. prost leaves out an empty key or value, which upstream writes; so maps are lists here.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Entry {
    #[prost(string, required, tag = "1")]
    pub(super) key: String,
    #[prost(string, required, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, Message, DeriveSerialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnerReference {
    #[prost(string, required, tag = "1")]
    kind: String,
    #[prost(string, required, tag = "3")]
    name: String,
    #[prost(string, required, tag = "4")]
    uid: String,
    #[prost(string, required, tag = "5")]
    api_version: String,
    #[prost(bool, optional, tag = "6")]
    #[serde(skip_serializing_if = "Option::is_none")]
    controller: Option<bool>,
    #[prost(bool, optional, tag = "7")]
    #[serde(skip_serializing_if = "Option::is_none")]
    block_owner_deletion: Option<bool>,
}

#[derive(Clone, PartialEq, Message, DeriveSerialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ManagedFieldsEntry {
    #[prost(string, required, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    manager: String,
    #[prost(string, required, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    operation: String,
    #[prost(string, required, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    api_version: String,
    #[prost(message, optional, tag = "4")]
    #[serde(skip_serializing_if = "Time::is_none_or_unset")]
    time: Option<Time>,
    #[prost(string, required, tag = "6")]
    #[serde(skip_serializing_if = "String::is_empty")]
    fields_type: String,
    #[prost(message, optional, tag = "7")]
    #[serde(skip_serializing_if = "Option::is_none")]
    fields_v1: Option<FieldsV1>,
    #[prost(string, required, tag = "8")]
    #[serde(skip_serializing_if = "String::is_empty")]
    subresource: String,
}

/// A set of fields, as JSON text.
#[derive(Clone, PartialEq, Message)]
pub(super) struct FieldsV1 {
    #[prost(bytes = "vec", optional, tag = "1")]
    raw: Option<Vec<u8>>,
}

/// A time in whole seconds; without them, none. The nanoseconds are always zero, and written nevertheless.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Time {
    #[prost(int64, optional, tag = "1")]
    seconds: Option<i64>,
    #[prost(int32, optional, tag = "2")]
    nanos: Option<i32>,
}

#[derive(Clone, PartialEq, Message, DeriveSerialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListMeta {
    #[prost(string, required, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    self_link: String,
    #[prost(string, required, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    resource_version: String,
    #[prost(string, required, tag = "3")]
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    continue_token: String,
    #[prost(int64, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_item_count: Option<i64>,
}

#[derive(Clone, PartialEq, Message, DeriveSerialize)]
pub(super) struct PartialObjectMetadata {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
}

#[derive(Clone, PartialEq, Message, DeriveSerialize)]
pub(super) struct PartialObjectMetadataList {
    #[prost(message, required, tag = "1")]
    metadata: ListMeta,
    #[prost(message, repeated, tag = "2")]
    items: Vec<PartialObjectMetadata>,
}

/// The older list, whose fields have other numbers.
#[derive(Clone, PartialEq, Message, DeriveSerialize)]
pub(super) struct PartialObjectMetadataListV1beta1 {
    #[prost(message, repeated, tag = "1")]
    items: Vec<PartialObjectMetadata>,
    #[prost(message, required, tag = "2")]
    metadata: ListMeta,
}

// === impl ObjectMeta ===

impl Readable for ObjectMeta {
    fn json_parts(&self) -> usize {
        self.managed_fields.iter().filter_map(|entry| entry.fields_v1.as_ref()).map(FieldsV1::parts).sum()
    }
}

/// What is not known or of the wrong type is left out.
impl From<Metadata<'_>> for ObjectMeta {
    fn from(metadata: Metadata<'_>) -> Self {
        let managed = metadata.get("managedFields").and_then(Value::as_array).into_iter().flatten();
        Self {
            name: metadata.name().to_owned(),
            generate_name: metadata.generate_name().to_owned(),
            namespace: metadata.namespace().to_owned(),
            self_link: owned_text(metadata.get("selfLink")),
            uid: metadata.uid().to_owned(),
            resource_version: metadata.resource_version().to_owned(),
            generation: metadata.generation(),
            creation_timestamp: Time::parse(metadata.creation_timestamp()).unwrap_or_default(),
            deletion_timestamp: metadata.deletion_timestamp().and_then(Time::parse),
            deletion_grace_period_seconds: metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64),
            labels: metadata.labels().map(Entry::from).collect(),
            annotations: metadata.annotations().map(Entry::from).collect(),
            owner_references: metadata.owner_references().map(OwnerReference::from).collect(),
            finalizers: metadata.finalizers().map(str::to_owned).collect(),
            managed_fields: managed.filter(|entry| entry.is_object()).map(ManagedFieldsEntry::from).collect(),
        }
    }
}

impl From<(&str, &str)> for Entry {
    fn from((key, value): (&str, &str)) -> Self {
        Self { key: key.to_owned(), value: value.to_owned() }
    }
}

impl From<object::OwnerReference> for OwnerReference {
    fn from(owner: object::OwnerReference) -> Self {
        Self {
            kind: owner.kind,
            name: owner.name,
            uid: owner.uid,
            api_version: owner.api_version,
            controller: owner.controller,
            block_owner_deletion: owner.block_owner_deletion,
        }
    }
}

impl From<&Value> for ManagedFieldsEntry {
    fn from(entry: &Value) -> Self {
        Self {
            manager: owned_text(entry.get("manager")),
            operation: owned_text(entry.get("operation")),
            api_version: owned_text(entry.get("apiVersion")),
            time: entry.get("time").and_then(Value::as_str).and_then(Time::parse),
            fields_type: owned_text(entry.get("fieldsType")),
            fields_v1: entry.get("fieldsV1").filter(|fields| !fields.is_null()).map(FieldsV1::from),
            subresource: owned_text(entry.get("subresource")),
        }
    }
}

// === impl FieldsV1 ===

impl FieldsV1 {
    /// Everything in JSON that takes memory is opened by one of these, or follows one.
    fn parts(&self) -> usize {
        let raw = self.raw.as_deref().unwrap_or_default();
        raw.iter().filter(|byte| matches!(byte, b'{' | b'[' | b',')).count()
    }
}

impl From<&Value> for FieldsV1 {
    fn from(fields: &Value) -> Self {
        Self { raw: Some(fields.to_string().into_bytes()) }
    }
}

impl Serialize for FieldsV1 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields: Value = match self.raw.as_deref().unwrap_or_default() {
            [] => Value::Null,
            raw => serde_json::from_slice(raw).map_err(S::Error::custom)?,
        };
        fields.serialize(serializer)
    }
}

// === impl Time ===

impl Time {
    fn parse(text: &str) -> Option<Self> {
        match parse_rfc3339(text)? {
            ZERO => Some(Self::default()),
            seconds => Some(Self { seconds: Some(seconds), nanos: Some(0) }),
        }
    }

    fn is_unset(&self) -> bool {
        *self == Self::default() || self.seconds == Some(ZERO)
    }

    fn is_none_or_unset(time: &Option<Self>) -> bool {
        time.as_ref().is_none_or(Self::is_unset)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let seconds = self.seconds.unwrap_or_default();
        let text = format_rfc3339(seconds).ok_or_else(|| S::Error::custom("a time is out of range"))?;
        serializer.serialize_str(&text)
    }
}

// === impl ListMeta ===

impl ListMeta {
    /// The metadata of a list that says only how it continues.
    pub(super) fn of_continue(token: Option<&str>) -> Self {
        Self { continue_token: token.unwrap_or_default().to_owned(), ..Self::default() }
    }
}

impl From<&partial::ListMeta> for ListMeta {
    fn from(metadata: &partial::ListMeta) -> Self {
        Self {
            self_link: String::new(),
            resource_version: metadata.resource_version.clone(),
            continue_token: metadata.continue_token.clone(),
            remaining_item_count: metadata.remaining_item_count,
        }
    }
}

// === impl PartialObjectMetadata ===

impl Readable for PartialObjectMetadata {
    fn json_parts(&self) -> usize {
        self.metadata.json_parts()
    }
}

impl Readable for PartialObjectMetadataList {
    fn json_parts(&self) -> usize {
        self.items.iter().map(Readable::json_parts).sum()
    }
}

impl Readable for PartialObjectMetadataListV1beta1 {
    fn json_parts(&self) -> usize {
        self.items.iter().map(Readable::json_parts).sum()
    }
}

impl From<&partial::PartialObjectMetadata<'_>> for PartialObjectMetadata {
    fn from(partial: &partial::PartialObjectMetadata<'_>) -> Self {
        Self { metadata: partial.metadata().into() }
    }
}

impl Encode for partial::PartialObjectMetadata<'_> {
    fn to_protobuf(&self) -> Vec<u8> {
        envelope(self.version().api_version(), Self::KIND, &PartialObjectMetadata::from(self))
    }
}

impl Encode for partial::PartialObjectMetadataList<'_> {
    fn to_protobuf(&self) -> Vec<u8> {
        let metadata = ListMeta::from(self.metadata());
        let items = self.items().iter().map(PartialObjectMetadata::from).collect();
        let api_version = self.version().api_version();
        match self.version() {
            MetaVersion::V1 => envelope(api_version, Self::KIND, &PartialObjectMetadataList { metadata, items }),
            MetaVersion::V1beta1 => {
                envelope(api_version, Self::KIND, &PartialObjectMetadataListV1beta1 { items, metadata })
            }
        }
    }
}

fn owned_text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Of entries with one key, the last one counts.
fn as_map<S: Serializer>(entries: &[Entry], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|entry| (&entry.key, &entry.value)))
}

// serde hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}
