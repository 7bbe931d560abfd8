//! A document of discovery, ready to be sent in any encoding. Each is made when someone asks for it first.

use std::sync::OnceLock;

use bailiwick_machinery::discovery::Document;
use bailiwick_machinery::encode::{self, Layout};
use bailiwick_machinery::media::MediaType;
use bailiwick_machinery::proto::Encode;
use bytes::Bytes;

/// A document in all encodings.
pub(super) struct Encodings {
    document: Box<dyn Encodable>,
    json: OnceLock<Bytes>,
    pretty_json: OnceLock<Bytes>,
    yaml: OnceLock<Bytes>,
    protobuf: OnceLock<Bytes>,
}

/// A document of any type.
trait Encodable: Send + Sync {
    fn json(&self) -> Vec<u8>;
    fn pretty_json(&self) -> Vec<u8>;
    fn protobuf(&self) -> Vec<u8>;
}

impl<D: Document + Encode + Send + Sync> Encodable for D {
    fn json(&self) -> Vec<u8> {
        self.to_json()
    }

    fn pretty_json(&self) -> Vec<u8> {
        self.to_json_pretty()
    }

    fn protobuf(&self) -> Vec<u8> {
        self.to_protobuf()
    }
}

// === impl Encodings ===

impl Encodings {
    pub(super) fn new<D: Document + Encode + Send + Sync + 'static>(document: D) -> Self {
        Self {
            document: Box::new(document),
            json: OnceLock::new(),
            pretty_json: OnceLock::new(),
            yaml: OnceLock::new(),
            protobuf: OnceLock::new(),
        }
    }

    pub(super) fn get(&self, media_type: MediaType, layout: Layout) -> Bytes {
        let encoded = match (media_type, layout) {
            (MediaType::Json, Layout::Compact) => self.json.get_or_init(|| self.json_line()),
            (MediaType::Json, Layout::Pretty) => self.pretty_json.get_or_init(|| self.document.pretty_json().into()),
            (MediaType::Yaml, _) => self.yaml.get_or_init(|| self.yaml()),
            (MediaType::Protobuf, _) => self.protobuf.get_or_init(|| self.document.protobuf().into()),
        };
        encoded.clone()
    }

    fn json_line(&self) -> Bytes {
        let mut json = self.document.json();
        json.push(b'\n');
        json.into()
    }

    fn yaml(&self) -> Bytes {
        encode::to_yaml(&serde_json::from_slice(&self.document.json()).unwrap_or_default()).into()
    }
}
