//! OpenAPI: what is served, told to programs that know OpenAPI. The documents are made when someone asks for them first, and
//! anew only if kinds that they tell of have changed; otherwise an answer is a look-up.
//!
//! ```text
//! /openapi/v3                             where the documents are, with their hashes
//! /openapi/v3/apis/<group>/<version>      the document of a group and version; that of the core group is `api/v1`
//! /openapi/v2                             one document for everything
//! ```
//!
//! Only what is served here is told: an aggregator merges the documents of many servers, and would send clients here for
//! whatever is named. For the same reason nobody is redirected to the current hash of a document: an aggregator takes a
//! redirection for a failure. Whoever has an old hash gets the current document, without leave to keep it.
//!
//! Version 2 is there in protobuf too, which is how kubectl asks for it; version 3 in JSON only.

mod resources;
mod versions;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use bailiwick_machinery::media::{self, MediaType, NotAcceptable};
use bailiwick_machinery::openapi::{Info, v2};
use bailiwick_machinery::{encode, proto};
use bailiwick_registry::{Registry, ServedKinds};
use bytes::Bytes;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, Response, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha512};

use self::versions::Versions;
use crate::discovery::not_acceptable;
use crate::form::{accepts_gzip, text};
use crate::query::Query;
use crate::respond;

const ROOT: &str = "/openapi/v3";
const V2: &str = "/openapi/v2";

/// Where to begin.
pub(crate) const PATHS: [&str; 2] = [V2, ROOT];

/// What the documents say of the server. The version is not that of Kubernetes: they describe our kinds.
const INFO: Info<'_> = Info { title: "Bailiwick", version: concat!("v", env!("CARGO_PKG_VERSION")) };

/// What a hash names never changes, so it can be kept for a year, which is forever.
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// Tells of all kinds there are.
pub(crate) struct OpenApi {
    registry: Arc<Registry>,
    told: ArcSwap<Told>,
    /// Held while documents are taken over, so that none is made twice.
    telling: Mutex<()>,
}

/// All documents of OpenAPI, as of one moment.
struct Told {
    kinds: Arc<ServedKinds>,
    versions: Versions,
    index: OnceLock<Document>,
    everything: OnceLock<Document>,
}

/// A document in all its forms, the usual one first.
struct Document(Vec<Form>);

/// A document, ready to be sent.
struct Form {
    /// By what clients ask for it. The first one is what it is called in the answer.
    media_types: &'static [&'static str],
    plain: Bytes,
    gzip: Bytes,
    hash: String,
}

const JSON: &[&str] = &[MediaType::Json.as_str()];

/// Old clients have an `@` where media types may have none.
const PROTOBUF: &[&str] = &[
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];

// === impl OpenApi ===

impl OpenApi {
    /// Tells of all kinds there are.
    pub(crate) fn new(registry: Arc<Registry>) -> Self {
        let kinds = registry.kinds();
        let told = ArcSwap::from_pointee(Told::new(kinds.clone(), Versions::new(&kinds)));
        Self { registry, told, telling: Mutex::default() }
    }

    /// The answer to a GET; `None` if there is no document at the path.
    pub(crate) fn answer(&self, path: &str, query: &Query, headers: &HeaderMap) -> Option<Response<Bytes>> {
        let path = path.strip_suffix('/').unwrap_or(path);
        if !path.starts_with("/openapi/") {
            return None;
        }
        let told = self.told();
        let answer = |document: &Document| match document.form(text(headers, ACCEPT)) {
            Ok(form) => form.answer(query.first("hash"), headers),
            Err(error) => not_acceptable(&error),
        };
        match path {
            ROOT => Some(answer(told.index.get_or_init(|| told.index()))),
            V2 => Some(answer(told.everything.get_or_init(|| told.everything()))),
            _ => told.versions.document(&told.kinds, path.strip_prefix(ROOT)?.strip_prefix('/')?).map(|it| answer(&it)),
        }
    }

    fn told(&self) -> Arc<Told> {
        let (kinds, told) = (self.registry.kinds(), self.told.load_full());
        if Arc::ptr_eq(&kinds, &told.kinds) {
            return told;
        }
        let _telling = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        let (kinds, told) = (self.registry.kinds(), self.told.load_full());
        if Arc::ptr_eq(&kinds, &told.kinds) {
            return told;
        }
        let told = Arc::new(Told::new(kinds.clone(), told.versions.follow(&kinds)));
        self.told.store(told.clone());
        told
    }
}

// === impl Told ===

impl Told {
    fn new(kinds: Arc<ServedKinds>, versions: Versions) -> Self {
        Self { kinds, versions, index: OnceLock::new(), everything: OnceLock::new() }
    }

    /// Where the documents of all versions are.
    fn index(&self) -> Document {
        let place = |(key, hash): (&str, String)| {
            (key.to_owned(), json!({ "serverRelativeURL": format!("{ROOT}/{key}?hash={hash}") }))
        };
        let places: BTreeMap<String, Value> = self.versions.hashes(&self.kinds).map(place).collect();
        Document::new(&json!({ "paths": places }))
    }

    /// The document of version 2.
    fn everything(&self) -> Document {
        let everything = v2(INFO, &resources::resources(self.kinds.served()));
        let protobuf = Form::new(PROTOBUF, proto::openapi_v2(&everything));
        Document::new(&everything).with(protobuf)
    }
}

// === impl Document ===

impl Document {
    fn new(document: &Value) -> Self {
        Self(vec![Form::new(JSON, encode::to_json(document))])
    }

    /// A document that is known by the hash of what it is made of.
    fn hashed(document: &Value, hash: String) -> Self {
        Self(vec![Form { hash, ..Form::new(JSON, encode::to_json(document)) }])
    }

    fn with(mut self, form: Form) -> Self {
        self.0.push(form);
        self
    }

    /// The hash of its usual form.
    fn hash(&self) -> &str {
        self.0.first().map_or("", |form| &form.hash)
    }

    fn form(&self, accept: &str) -> Result<&Form, NotAcceptable> {
        let offered: Vec<&str> = self.0.iter().flat_map(|form| form.media_types).copied().collect();
        let chosen = media::choose(accept, &offered)?;
        let form = self.0.iter().find(|form| form.media_types.contains(&chosen));
        form.ok_or(NotAcceptable { accepted: Vec::new() })
    }
}

// === impl Form ===

impl Form {
    fn new(media_types: &'static [&'static str], plain: Vec<u8>) -> Self {
        let plain = Bytes::from(plain);
        Self { media_types, gzip: respond::gzip(plain.clone()), hash: hash(&plain), plain }
    }

    fn answer(&self, wanted_hash: Option<&str>, headers: &HeaderMap) -> Response<Bytes> {
        let mut response = if self.is_known(headers) {
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else if accepts_gzip(headers) {
            let mut response = Response::new(self.gzip.clone());
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        } else {
            Response::new(self.plain.clone())
        };
        let mut insert = |name: HeaderName, value| drop(response.headers_mut().insert(name, value));
        let media_type = self.media_types.first().copied().unwrap_or_default();
        insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
        // A hash consists of digits and letters.
        if let Ok(etag) = HeaderValue::from_str(&format!("\"{}\"", self.hash)) {
            insert(ETAG, etag);
        }
        if wanted_hash == Some(&self.hash) {
            insert(CACHE_CONTROL, FOREVER);
        }
        response
    }

    /// Whether the client has this document already.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        known.flat_map(|value| value.split(',')).any(|etag| {
            let etag = etag.trim();
            let hash = etag.strip_prefix("W/").unwrap_or(etag).trim_matches('"');
            etag == "*" || hash == self.hash
        })
    }
}

fn hash(bytes: &[u8]) -> String {
    Sha512::digest(bytes).iter().map(|byte| format!("{byte:02X}")).collect()
}
