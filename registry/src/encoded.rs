//! The two encodings of an object, and the short way between them.
//!
//! ```text
//! stored    {"apiVersion":"g/v","kind":"K","metadata":{             "name":"x",…},"spec":…}
//! served                                  "metadata":{"resourceVersion":"7","name":"x",…},"spec":…}
//! ```
//!
//! What is served lacks its head, `{"apiVersion":…,"kind":…,`, because one stored object can be served in several
//! versions and groups. The resource version is the revision at which the object was written, which is known only when
//! it has been: it stands at a place where it can be put in, and replaced, without reading the rest.

use bailiwick_machinery::{GroupVersionKind, Object, encode};
use bailiwick_storage::{self as storage, cache};
use bytes::Bytes;
use serde_json::{Map, Value};

use crate::error::Error;

const METADATA: &[u8] = b"\"metadata\":{";
/// In the head of what is stored by a schema that can change, which one.
pub(crate) const SCHEMA: &[u8] = b"\"schema\":\"";
const VERSION: &[u8] = b"\"resourceVersion\":\"";
const VERSION_END: &[u8] = b"\",";

/// An object as it is served, without its head. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded(Bytes);

/// Why bytes are not an encoded object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodedError {
    /// They do not begin as one.
    #[error("it does not begin with apiVersion, kind and metadata")]
    Form,
    /// They are no JSON.
    #[error("it is not JSON: {0}")]
    Json(String),
}

/// What precedes an object that is served as this kind.
pub(crate) fn head(gvk: &GroupVersionKind) -> Bytes {
    let text = |text: &str| encode::to_json(&Value::from(text));
    let api_version = text(&gvk.group_version().to_string());
    [b"{\"apiVersion\":".as_slice(), &api_version, b",\"kind\":", &text(&gvk.kind), b","].concat().into()
}

/// An object as it is stored: with the head of its home version, and without a resource version.
pub(crate) fn stored(head: &[u8], object: &Object) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(head);
    out.extend_from_slice(METADATA);
    let empty = Map::new();
    let metadata = object.fields().get("metadata").and_then(Value::as_object).unwrap_or(&empty);
    push_fields(&mut out, metadata, |name| name != "resourceVersion");
    out.push(b'}');
    if object.fields().keys().any(|name| is_content(name)) {
        out.push(b',');
        push_fields(&mut out, object.fields(), is_content);
    }
    out.push(b'}');
    out
}

/// Whether two stored objects are the same, whichever schema they are said to fit.
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    let parts = |stored| {
        let (head, rest) = <[u8]>::split_at_checked(stored, metadata_of(stored).ok()?)?;
        let mark = head.windows(SCHEMA.len()).position(|window| window == SCHEMA).unwrap_or(head.len());
        Some((head.get(..mark)?, rest))
    };
    parts(one).is_some() && parts(one) == parts(other)
}

/// Where the metadata of a stored object begins.
pub(crate) fn metadata_of(stored: &[u8]) -> Result<usize, EncodedError> {
    // Neither an apiVersion nor a kind contains a quote, so the first such text is the field.
    let at = stored.windows(METADATA.len()).take(1_024).position(|window| window == METADATA);
    at.ok_or(EncodedError::Form)
}

fn is_content(name: &str) -> bool {
    !matches!(name, "apiVersion" | "kind" | "metadata")
}

fn push_fields(out: &mut Vec<u8>, fields: &Map<String, Value>, wanted: impl Fn(&str) -> bool) {
    let mut first = true;
    for (name, value) in fields.iter().filter(|(name, _)| wanted(name)) {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        encode::push_json(out, &Value::from(name.as_str()));
        out.push(b':');
        encode::push_json(out, value);
    }
}

// === impl Encoded ===

impl Encoded {
    /// What is served for a stored object that was written at `revision`; for one that was not written, there is none.
    pub(crate) fn from_stored(stored: &[u8], revision: Option<u64>) -> Result<Self, EncodedError> {
        let content = metadata_of(stored)? + METADATA.len();
        Ok(Self::assemble(revision, stored.get(content..).unwrap_or_default()))
    }

    /// A cached object.
    pub fn of(object: &cache::Object) -> storage::Result<Self> {
        object.body().map(|body| Self(body.clone()))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// The same object, as of another revision: what is told of an object that was deleted then.
    #[must_use]
    pub fn at(&self, revision: u64) -> Self {
        Self::assemble(Some(revision), self.content())
    }

    /// The object, as the kind it is served as.
    pub fn to_object(&self, gvk: &GroupVersionKind) -> Result<Object, EncodedError> {
        let mut json = Vec::with_capacity(self.0.len() + 1);
        json.push(b'{');
        json.extend_from_slice(&self.0);
        let fields = serde_json::from_slice(&json).map_err(|error| EncodedError::Json(error.to_string()))?;
        let mut object = Object::new(fields);
        object.set_gvk(gvk);
        Ok(object)
    }

    /// Whether storing `stored` would change nothing.
    pub(crate) fn is_stored_as(&self, stored: &[u8]) -> bool {
        metadata_of(stored).is_ok_and(|at| stored.get(at + METADATA.len()..) == Some(self.content()))
    }

    fn assemble(revision: Option<u64>, content: &[u8]) -> Self {
        let mut out = Vec::with_capacity(METADATA.len() + VERSION.len() + 20 + VERSION_END.len() + content.len());
        out.extend_from_slice(METADATA);
        if let Some(revision) = revision {
            out.extend_from_slice(VERSION);
            out.extend_from_slice(revision.to_string().as_bytes());
            out.extend_from_slice(VERSION_END);
        }
        out.extend_from_slice(content);
        Self(out.into())
    }

    /// What follows the resource version.
    fn content(&self) -> &[u8] {
        let fields = self.0.strip_prefix(METADATA).unwrap_or(&self.0);
        let Some(version) = fields.strip_prefix(VERSION) else { return fields };
        let digits = version.iter().take_while(|byte| byte.is_ascii_digit()).count();
        version.get(digits..).and_then(|rest| rest.strip_prefix(VERSION_END)).unwrap_or(fields)
    }
}

// === impl EncodedError ===

impl EncodedError {
    /// As the failure of an operation on the object.
    pub fn about(self, resource: &bailiwick_machinery::GroupResource, name: &str) -> Error {
        Error::Unreadable { resource: resource.clone(), name: name.to_owned(), why: self.to_string() }
    }
}

#[cfg(test)]
mod tests;
