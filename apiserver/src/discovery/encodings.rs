//! A document of discovery, ready to be sent in any encoding.

use bailiwick_machinery::discovery::Document;
use bailiwick_machinery::encode::{self, Layout};
use bailiwick_machinery::media::MediaType;
use bailiwick_machinery::proto::Encode;
use bytes::Bytes;

/// A document in all encodings.
pub(super) struct Encodings {
    json: Bytes,
    pretty_json: Bytes,
    yaml: Bytes,
    protobuf: Bytes,
}

// === impl Encodings ===

impl Encodings {
    pub(super) fn new<D: Document + Encode>(document: &D) -> Self {
        let mut json = document.to_json();
        let value = serde_json::from_slice(&json).unwrap_or_default();
        json.push(b'\n');
        Self {
            json: json.into(),
            pretty_json: document.to_json_pretty().into(),
            yaml: encode::to_yaml(&value).into(),
            protobuf: document.to_protobuf().into(),
        }
    }

    pub(super) fn get(&self, media_type: MediaType, layout: Layout) -> Bytes {
        match (media_type, layout) {
            (MediaType::Json, Layout::Compact) => self.json.clone(),
            (MediaType::Json, Layout::Pretty) => self.pretty_json.clone(),
            (MediaType::Yaml, _) => self.yaml.clone(),
            (MediaType::Protobuf, _) => self.protobuf.clone(),
        }
    }
}
