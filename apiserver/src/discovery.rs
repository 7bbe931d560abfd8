//! Discovery: what is served, told to clients. The documents are made and encoded once; an answer is a look-up.
//!
//! ```text
//! /apis                 APIGroupList, or APIGroupDiscoveryList for those who ask for it
//! /apis/<group>         APIGroup
//! /apis/<group>/<version>   APIResourceList
//! /api                  APIVersions, or APIGroupDiscoveryList for those who ask for it
//! /api/<version>        APIResourceList
//! ```
//!
//! Under `/api` is the group without a name, which is Kubernetes' oldest. Where none of its kinds is served there is
//! nothing: the only answer there that clients take for "none" is 404.

mod documents;
mod encodings;
mod version_order;

use std::collections::HashMap;

use bailiwick_machinery::discovery::ApiGroupDiscoveryList;
use bailiwick_machinery::encode::Layout;
use bailiwick_machinery::media::{self, Endpoint, MediaType, Negotiated, NotAcceptable, Transform};
use bailiwick_machinery::openapi::root;
use bailiwick_machinery::{Reason, Status, encode};
use bailiwick_registry::Registry;
use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, USER_AGENT, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use self::documents::Documents;
use self::encodings::Encodings;
use crate::form::text;

/// The encodings of discovery, the first one for those who do not care.
const OFFERED: [MediaType; 3] = [MediaType::Json, MediaType::Yaml, MediaType::Protobuf];

const ROOT: &str = "/apis";
const CORE_ROOT: &str = "/api";

/// All documents of discovery.
pub struct Discovery {
    /// By path, without a slash at the end.
    by_path: HashMap<String, Encodings>,
    /// The documents that have everything in them, by path.
    aggregated: HashMap<&'static str, Aggregated>,
}

/// A document that has everything below a path in it.
struct Aggregated {
    encodings: Encodings,
    etag: String,
}

// === impl Discovery ===

impl Discovery {
    /// Tells of all kinds there are.
    pub fn new(registry: &Registry) -> Self {
        let documents = Documents::new(registry.served());
        let mut by_path = HashMap::new();
        for group in &documents.groups.groups {
            by_path.insert(format!("{ROOT}/{}", group.name), Encodings::new(group));
        }
        for (version, resources) in &documents.versions {
            by_path.insert(format!("/{}", root(version)), Encodings::new(resources));
        }
        by_path.insert(ROOT.to_owned(), Encodings::new(&documents.groups));
        let mut aggregated = HashMap::from([(ROOT, Aggregated::new(&documents.aggregated))]);
        if let Some(core) = &documents.core {
            by_path.insert(CORE_ROOT.to_owned(), Encodings::new(&core.versions));
            aggregated.insert(CORE_ROOT, Aggregated::new(&core.aggregated));
        }
        Self { by_path, aggregated }
    }

    /// The paths of all documents.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.by_path.keys().map(String::as_str)
    }

    /// The answer to a GET; `None` if there is nothing of discovery at the path. `pretty` is what the request's parameter
    /// of that name says; without one, it depends on the client's name.
    pub fn answer(&self, path: &str, headers: &HeaderMap, pretty: Option<bool>) -> Option<Response<Bytes>> {
        let path = path.strip_suffix('/').unwrap_or(path);
        let encodings = self.by_path.get(path)?;
        let accept = text(headers, ACCEPT);
        let layout = |negotiated: &Negotiated| {
            let wanted = pretty.unwrap_or_else(|| media::is_pretty("", text(headers, USER_AGENT)));
            if wanted || negotiated.pretty { Layout::Pretty } else { Layout::Compact }
        };
        if let Some(aggregated) = self.aggregated.get(path)
            && let Ok(negotiated) = media::negotiate(accept, &OFFERED, Endpoint::Discovery)
            && negotiated.transform == Transform::ApiGroupDiscoveryList
        {
            let known = text(headers, IF_NONE_MATCH);
            return Some(aggregated.answer(negotiated.media_type, layout(&negotiated), known));
        }
        Some(match media::negotiate(accept, &OFFERED, Endpoint::Plain) {
            Ok(negotiated) => {
                let body = encodings.get(negotiated.media_type, layout(&negotiated));
                respond(StatusCode::OK, negotiated.media_type.as_str(), body)
            }
            Err(error) => not_acceptable(&error),
        })
    }
}

// === impl Aggregated ===

impl Aggregated {
    fn new(document: &ApiGroupDiscoveryList) -> Self {
        Self { encodings: Encodings::new(document), etag: document.etag() }
    }

    fn answer(&self, media_type: MediaType, layout: Layout, known: &str) -> Response<Bytes> {
        let mut response = match known == self.etag {
            true => {
                let mut response = Response::new(Bytes::new());
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                response
            }
            false => {
                // The aggregator takes the document for what it is only if these stand here, in this order.
                let content_type = format!("{media_type};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
                respond(StatusCode::OK, &content_type, self.encodings.get(media_type, layout))
            }
        };
        insert(&mut response, ETAG, &self.etag);
        insert(&mut response, VARY, "Accept");
        insert(&mut response, CACHE_CONTROL, "public");
        response
    }
}

/// No encoding that there is can be read by the client.
pub(crate) fn not_acceptable(error: &NotAcceptable) -> Response<Bytes> {
    let status = Status::new(Reason::NotAcceptable, error.to_string());
    // What is not acceptable either way is written for people.
    let body = encode::to_json_pretty(&status.to_json());
    respond(StatusCode::NOT_ACCEPTABLE, MediaType::Json.as_str(), body.into())
}

fn respond(status: StatusCode, content_type: &str, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    insert(&mut response, CONTENT_TYPE, content_type);
    response
}

fn insert(response: &mut Response<Bytes>, name: HeaderName, value: &str) {
    // All that is said here consists of letters, digits and marks.
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// The first value of a header that can be read, as Go takes it.
#[cfg(test)]
mod tests;
