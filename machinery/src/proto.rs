//! Protobuf, for those who ask for it: the garbage collector reads metadata in it, and Go clients send their delete
//! options in it.
//!
//! There are only the messages of `meta/v1`, of discovery and of OpenAPI; our own kinds have none. The bytes are exactly those that
//! upstream writes. Its messages are proto2, and a field that is no pointer in Go is always written, also when it is
//! empty: such fields are `required` here, which for prost means just that, while reading does without them.
//!
//! What is read may come from anyone. Lengths are checked against what is there, nesting ends at 100, and a message may
//! not consist of more than [`MOST_READS`] parts, however short it is.

mod budget;
mod discovery;
mod meta;
mod openapi;
mod options;
mod status;

use bytes::{BufMut, Bytes};
use prost::Message;
use prost::encoding::{self, WireType};
use serde::Serialize;
use serde_json::{Map, Value};

pub use self::openapi::openapi_v2;

use self::budget::Budget;
use crate::group::{GroupVersion, GroupVersionKind};
use crate::object::Object;

/// What can be written in protobuf.
pub trait Encode {
    /// The bytes, with the envelope that names the kind.
    fn to_protobuf(&self) -> Vec<u8>;
}

/// What a body says about itself, and the message in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// `apiVersion`; may be empty.
    pub api_version: String,
    /// `kind`; may be empty.
    pub kind: String,
    message: Bytes,
}

/// One event of a watch stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What has happened, such as `ADDED`.
    pub event_type: String,
    /// To which object; an envelope.
    pub object: Bytes,
}

/// Why bytes cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// There are none.
    #[error("empty data")]
    Empty,
    /// They do not begin as an envelope does.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoEnvelope,
    /// The envelope has no content.
    #[error("empty body")]
    EmptyBody,
    /// They are no message of their kind.
    #[error("malformed protobuf message")]
    Malformed(#[source] prost::DecodeError),
    /// The message consists of too many parts.
    #[error("protobuf message has more than {MOST_READS} parts")]
    TooManyParts,
    /// Messages of this kind are not known here.
    #[error("no protobuf message is known for kind {kind:?} of {api_version:?}")]
    UnknownKind {
        /// The `apiVersion`.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// A time lies outside of the years that have a text, or the set of fields of a manager is not JSON.
    #[error("protobuf message has no JSON form: {0}")]
    NotJson(String),
}

/// How every protobuf body begins.
const MAGIC: [u8; 4] = *b"k8s\0";

/// How many parts a message may consist of: keys, lengths, numbers and texts. An object's metadata has two for each
/// field and eight for each label. The dearest parts are the items of a list, at two parts and about a kilobyte each.
pub const MOST_READS: usize = 20_000;

/// `runtime.Unknown`.
#[derive(Clone, PartialEq, Message)]
struct Unknown {
    #[prost(message, required, tag = "1")]
    type_meta: TypeMeta,
    #[prost(bytes = "bytes", optional, tag = "2")]
    raw: Option<Bytes>,
    #[prost(string, required, tag = "3")]
    content_encoding: String,
    #[prost(string, required, tag = "4")]
    content_type: String,
}

/// `runtime.TypeMeta`, whose numbers are not those of `meta/v1`.
#[derive(Clone, PartialEq, Message)]
struct TypeMeta {
    #[prost(string, required, tag = "1")]
    api_version: String,
    #[prost(string, required, tag = "2")]
    kind: String,
}

/// `meta/v1.WatchEvent`.
#[derive(Clone, PartialEq, Message)]
struct WatchEvent {
    #[prost(string, required, tag = "1")]
    event_type: String,
    #[prost(message, required, tag = "2")]
    object: RawExtension,
}

/// `runtime.RawExtension`.
#[derive(Clone, PartialEq, Message)]
struct RawExtension {
    #[prost(bytes = "bytes", optional, tag = "1")]
    raw: Option<Bytes>,
}

// === impl Envelope ===

impl Envelope {
    /// Reads the envelope of a body. The message in it is not looked at yet.
    pub fn read(mut body: Bytes) -> Result<Self, DecodeError> {
        if body.is_empty() {
            return Err(DecodeError::Empty);
        }
        if !body.starts_with(&MAGIC) {
            return Err(DecodeError::NoEnvelope);
        }
        let content = body.split_off(MAGIC.len());
        if content.is_empty() {
            return Err(DecodeError::EmptyBody);
        }
        let Unknown { type_meta, raw, .. } = decode(content)?;
        Ok(Self { api_version: type_meta.api_version, kind: type_meta.kind, message: raw.unwrap_or_default() })
    }

    /// Fills in what the envelope leaves open, as upstream does: the kind, and the group together with the version.
    pub fn set_defaults(&mut self, gvk: &GroupVersionKind) {
        if self.kind.is_empty() {
            self.kind = gvk.kind.to_string();
        }
        let version = GroupVersion::parse(&self.api_version).map(|parsed| parsed.version);
        if version.is_none_or(|version| version.is_empty()) {
            self.api_version = gvk.group_version().to_string();
        }
    }

    /// The message, as it is on the wire.
    pub(crate) fn message(&self) -> &[u8] {
        &self.message
    }

    /// The object in JSON. Delete options are known in every group, as they are upstream.
    pub fn to_object(&self) -> Result<Object, DecodeError> {
        let read = match (self.api_version.as_str(), self.kind.as_str()) {
            (_, "DeleteOptions") => to_json::<options::DeleteOptions>,
            ("v1", "Status") => to_json::<status::Status>,
            (META_V1 | META_V1BETA1, "PartialObjectMetadata") => to_json::<meta::PartialObjectMetadata>,
            (META_V1, "PartialObjectMetadataList") => to_json::<meta::PartialObjectMetadataList>,
            (META_V1BETA1, "PartialObjectMetadataList") => to_json::<meta::PartialObjectMetadataListV1beta1>,
            ("" | "v1", "APIVersions") => to_json::<discovery::ApiVersions>,
            ("" | "v1", "APIGroupList") => to_json::<discovery::ApiGroupList>,
            ("" | "v1", "APIGroup") => to_json::<discovery::ApiGroup>,
            ("" | "v1", "APIResourceList") => to_json::<discovery::ApiResourceList>,
            ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList") => to_json::<discovery::ApiGroupDiscoveryList>,
            (api_version, kind) => {
                let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
                return Err(DecodeError::UnknownKind { api_version, kind });
            }
        };
        let mut fields = read(self.message.clone())?;
        for (name, value) in [("apiVersion", &self.api_version), ("kind", &self.kind)] {
            if !value.is_empty() {
                fields.insert(name.to_owned(), value.as_str().into());
            }
        }
        Ok(Object::new(fields))
    }
}

const META_V1: &str = "meta.k8s.io/v1";
const META_V1BETA1: &str = "meta.k8s.io/v1beta1";

// === impl Event ===

impl Event {
    /// Reads an event: a frame without its four bytes of length.
    pub fn read(frame: Bytes) -> Result<Self, DecodeError> {
        let event: WatchEvent = decode(frame)?;
        Ok(Self { event_type: event.event_type, object: event.object.raw.unwrap_or_default() })
    }
}

/// Writes what comes before an object of so many bytes in a frame. `None` if the frame's length does not fit into its
/// four bytes. There must be room for [`FrameHead::MOST`](crate::watch::FrameHead::MOST) bytes.
pub(crate) fn write_event_head(event_type: &str, object_length: usize, out: &mut &mut [u8]) -> Option<()> {
    let object = u64::try_from(object_length).ok()?;
    let extension = object.checked_add(delimited_head(object))?;
    let type_length = event_type.len() as u64;
    let event = (delimited_head(type_length) + type_length + delimited_head(extension)).checked_add(extension)?;
    let length = u32::try_from(event).ok()?;
    out.put_u32(length);
    write_delimited_head(1, type_length, out);
    out.put_slice(event_type.as_bytes());
    write_delimited_head(2, extension, out);
    write_delimited_head(1, object, out);
    Some(())
}

/// How long the key and the length of a field are. All keys here are one byte.
fn delimited_head(length: u64) -> u64 {
    1 + encoding::encoded_len_varint(length) as u64
}

fn write_delimited_head(tag: u32, length: u64, out: &mut impl BufMut) {
    encoding::encode_key(tag, WireType::LengthDelimited, out);
    encoding::encode_varint(length, out);
}

/// A message that is written already, in its envelope.
pub(crate) fn in_envelope(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let type_meta = TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() };
    let mut out = Vec::with_capacity(MAGIC.len() + message.len() + api_version.len() + kind.len() + 24);
    out.extend(MAGIC);
    encoding::message::encode(1, &type_meta, &mut out);
    write_delimited_head(2, message.len() as u64, &mut out);
    out.extend_from_slice(message);
    // The encoding and the type of the content, which upstream leaves empty and does not read.
    for tag in [3, 4] {
        write_delimited_head(tag, 0, &mut out);
    }
    out
}

/// The message in its envelope.
fn envelope(api_version: &str, kind: &str, message: &impl Message) -> Vec<u8> {
    let type_meta = TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() };
    let none = String::new();
    let length = encoding::message::encoded_len(1, &type_meta)
        + encoding::message::encoded_len(2, message)
        + 2 * encoding::string::encoded_len(3, &none);
    let mut out = Vec::with_capacity(MAGIC.len() + length);
    out.extend(MAGIC);
    encoding::message::encode(1, &type_meta, &mut out);
    encoding::message::encode(2, message, &mut out);
    // The encoding and the type of the content, which upstream leaves empty and does not read.
    encoding::string::encode(3, &none, &mut out);
    encoding::string::encode(4, &none, &mut out);
    out
}

fn decode<M: Message + Default>(bytes: Bytes) -> Result<M, DecodeError> {
    let mut budget = Budget::new(bytes, MOST_READS);
    let message = M::decode(&mut budget);
    // A budget that is used up ends the bytes early, so that what was read makes no sense, whether it is an error or not.
    if budget.is_used_up() {
        return Err(DecodeError::TooManyParts);
    }
    message.map_err(DecodeError::Malformed)
}

/// A message that can be read to become JSON.
trait Readable: Message + Default + Serialize {
    /// How many parts the JSON texts in it consist of, which are one read each to protobuf.
    fn json_parts(&self) -> usize {
        0
    }
}

fn to_json<M: Readable>(bytes: Bytes) -> Result<Map<String, Value>, DecodeError> {
    let message: M = decode(bytes)?;
    if message.json_parts() > MOST_READS {
        return Err(DecodeError::TooManyParts);
    }
    match serde_json::to_value(&message) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => unreachable!("every message is a struct"),
        Err(error) => Err(DecodeError::NotJson(error.to_string())),
    }
}

#[cfg(test)]
mod tests;
