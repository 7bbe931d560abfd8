//! Discovery: what is served, told to clients. The documents are made when someone asks after kinds have changed, those of a
//! group only if its own have; otherwise an answer is a look-up.
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

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use bailiwick_machinery::discovery::{ApiGroupDiscoveryList, ApiGroupList};
use bailiwick_machinery::encode::Layout;
use bailiwick_machinery::media::{self, Endpoint, MediaType, Negotiated, NotAcceptable, Transform};
use bailiwick_machinery::openapi::root;
use bailiwick_machinery::{Reason, Status, encode};
use bailiwick_registry::{Registry, ServedKind, ServedKinds};
use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, USER_AGENT, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use self::documents::GroupDocuments;
use self::encodings::Encodings;
use crate::form::text;

/// The encodings of discovery, the first one for those who do not care.
const OFFERED: [MediaType; 3] = [MediaType::Json, MediaType::Yaml, MediaType::Protobuf];

const ROOT: &str = "/apis";
const CORE_ROOT: &str = "/api";

/// Tells of all kinds there are.
pub struct Discovery {
    registry: Arc<Registry>,
    told: ArcSwap<Told>,
    /// Held while documents are made, so that they are made once.
    telling: Mutex<()>,
}

/// All documents of discovery, as of one moment.
struct Told {
    kinds: Arc<ServedKinds>,
    groups: BTreeMap<String, Arc<GroupDocuments>>,
    /// By path, without a slash at the end.
    by_path: HashMap<String, Arc<Encodings>>,
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
    pub fn new(registry: Arc<Registry>) -> Self {
        let told = Told::new(registry.kinds(), &BTreeMap::new());
        Self { registry, told: ArcSwap::from_pointee(told), telling: Mutex::default() }
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
        let told = Arc::new(Told::new(kinds, &told.groups));
        self.told.store(told.clone());
        told
    }

    /// The paths of all documents.
    pub fn paths(&self) -> Vec<String> {
        self.told().by_path.keys().cloned().collect()
    }

    /// The answer to a GET; `None` if there is nothing of discovery at the path. `pretty` is what the request's parameter
    /// of that name says; without one, it depends on the client's name.
    pub fn answer(&self, path: &str, headers: &HeaderMap, pretty: Option<bool>) -> Option<Response<Bytes>> {
        let is_of_discovery = path.starts_with(CORE_ROOT);
        if is_of_discovery { self.told().answer(path, headers, pretty) } else { None }
    }
}

// === impl Told ===

impl Told {
    /// What has not changed since is taken over.
    fn new(kinds: Arc<ServedKinds>, known: &BTreeMap<String, Arc<GroupDocuments>>) -> Self {
        let groups = groups(&kinds, known);
        let mut by_path = HashMap::new();
        for group in groups.values() {
            if !group.name.is_empty() {
                let document = Arc::new(Encodings::new(group.document.clone()));
                by_path.insert(format!("{ROOT}/{}", group.name), document);
            }
            let versions = group.versions.iter();
            by_path.extend(versions.map(|(version, list)| (format!("/{}", root(version)), list.clone())));
        }
        let mut named: Vec<&GroupDocuments> =
            groups.values().map(|group| &**group).filter(|group| !group.name.is_empty()).collect();
        named.sort_by_key(|group| group.rank);
        let list = ApiGroupList { groups: named.iter().map(|group| group.document.clone()).collect() };
        by_path.insert(ROOT.to_owned(), Arc::new(Encodings::new(list)));
        let mut aggregated = HashMap::from([(ROOT, Aggregated::new(&named))]);
        if let Some(core) = groups.get("") {
            by_path.insert(CORE_ROOT.to_owned(), Arc::new(Encodings::new(core.version_names())));
            aggregated.insert(CORE_ROOT, Aggregated::new(&[core]));
        }
        Self { kinds, groups, by_path, aggregated }
    }

    fn answer(&self, path: &str, headers: &HeaderMap, pretty: Option<bool>) -> Option<Response<Bytes>> {
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
    fn new(groups: &[&GroupDocuments]) -> Self {
        let items = groups.iter().map(|group| group.aggregated.clone()).collect();
        let document = ApiGroupDiscoveryList { items, ..Default::default() };
        Self { etag: document.etag(), encodings: Encodings::new(document) }
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

/// The documents of all groups; those of groups that have not changed are the known ones.
fn groups(kinds: &ServedKinds, known: &BTreeMap<String, Arc<GroupDocuments>>) -> BTreeMap<String, Arc<GroupDocuments>> {
    let mut by_group: BTreeMap<&str, Vec<Arc<ServedKind>>> = BTreeMap::new();
    for kind in kinds.served() {
        by_group.entry(&kind.gvk().group).or_default().push(kind.clone());
    }
    let documents = |(name, kinds): (&str, Vec<Arc<ServedKind>>)| {
        let is_same = |known: &&Arc<GroupDocuments>| same(&known.kinds, &kinds);
        let documents = known.get(name).filter(is_same).cloned();
        (name.to_owned(), documents.unwrap_or_else(|| Arc::new(GroupDocuments::new(name, kinds))))
    };
    by_group.into_iter().map(documents).collect()
}

fn same(some: &[Arc<ServedKind>], others: &[Arc<ServedKind>]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(one, other)| Arc::ptr_eq(one, other))
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
