//! What was answered, as the audit log shows it: the object itself, whatever it was sent as.

use std::io::Read;

use bailiwick_machinery::decode;
use bailiwick_machinery::host::HostType;
use bailiwick_machinery::media::MediaType;
use bailiwick_machinery::proto::Envelope;
use bailiwick_machinery::{GroupVersion, Object};
use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, Response};
use serde_json::Value;

use super::trail::Captured;
use crate::body::Body;
use crate::form::text;

/// The most bytes of an answer that are written down.
const MAX_BYTES: usize = 4 << 20;

/// The object of an answer. What goes on has none, and neither has what is no object.
pub(crate) fn capture(response: &mut Response<Body>) -> Captured {
    let Some(media_type) = media_type(response.headers()) else { return Captured::Nothing };
    if response.body().is_live() {
        return Captured::Nothing;
    }
    let Some(bytes) = response.body_mut().peek(MAX_BYTES) else { return Captured::TooLarge };
    let bytes = match text(response.headers(), CONTENT_ENCODING) {
        "gzip" => match unzip(&bytes) {
            Some(bytes) => bytes,
            None => return Captured::TooLarge,
        },
        _ => bytes,
    };
    read(media_type, bytes).map_or(Captured::Nothing, Captured::Object)
}

/// What was sent with a request, if it can be read.
pub(crate) fn sent(content_type: &str, body: &Bytes) -> Option<Value> {
    let media_type = match content_type {
        yaml if yaml.ends_with("yaml") => MediaType::Yaml,
        protobuf if protobuf == MediaType::Protobuf.as_str() => MediaType::Protobuf,
        _ => MediaType::Json,
    };
    read(media_type, body.clone())
}

fn read(media_type: MediaType, bytes: Bytes) -> Option<Value> {
    match media_type {
        _ if bytes.is_empty() => None,
        MediaType::Protobuf => from_protobuf(bytes).map(Value::from),
        MediaType::Json | MediaType::Yaml => decode::decode(media_type, &bytes).ok().map(|decoded| decoded.value),
    }
}

/// One of Kubernetes' own kinds, or what all kinds have in common.
fn from_protobuf(bytes: Bytes) -> Option<Object> {
    let envelope = Envelope::read(bytes).ok()?;
    let gvk = GroupVersion::parse(&envelope.api_version)?.kind(envelope.kind.clone());
    match HostType::of(&gvk) {
        Some(host_type) => host_type.from_protobuf(&envelope).ok(),
        None => envelope.to_object().ok(),
    }
}

fn media_type(headers: &HeaderMap) -> Option<MediaType> {
    match text(headers, CONTENT_TYPE).split(';').next() {
        Some("application/json") => Some(MediaType::Json),
        Some("application/yaml") => Some(MediaType::Yaml),
        Some(protobuf) if protobuf == MediaType::Protobuf.as_str() => Some(MediaType::Protobuf),
        _ => None,
    }
}

fn unzip(bytes: &[u8]) -> Option<Bytes> {
    let mut plain = Vec::new();
    let most = MAX_BYTES as u64 + 1;
    GzDecoder::new(bytes).take(most).read_to_end(&mut plain).ok()?;
    (plain.len() <= MAX_BYTES).then(|| plain.into())
}

#[cfg(test)]
mod tests;
