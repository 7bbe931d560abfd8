//! What a request is about, as Kubernetes reads it from the method, the path and the query.
//!
//! A path is decoded first and split afterwards, and an encoded `/` is refused, so there is one way to split it. Every field
//! but a name that a field selector gave is a piece of that one path. Empty segments, dots and control characters stay what
//! they are, in the segment where they stand; [`RequestInfo::is_canonical`] tells whether there are any.
//!
//! ```text
//! /apis/apps/v1/namespaces/default/deployments/web/scale
//!  │    │    │             │       │           │   └ subresource
//!  │    │    │             │       │           └ name
//!  │    │    └ version     │       └ resource; parts: deployments/web/scale
//!  │    └ group            └ namespace
//!  └ prefix
//! ```

use std::ops::Range;

use bailiwick_machinery::{FieldSelector, label};
use http::Method;

use crate::options::ListParameters;
use crate::query::{Plus, Query, decode};
use crate::request::{Part, RequestError};

/// What a request is about. The same value is authorized, executed and audited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestInfo {
    path: String,
    verb: Verb,
    is_resource_request: bool,
    api_prefix: Piece,
    api_group: Piece,
    api_version: Piece,
    namespace: Piece,
    resource: Piece,
    subresource: Piece,
    name: Piece,
    /// The name that a field selector demands, where the path has none.
    selected_name: Option<String>,
    parts: Option<Piece>,
    field_selector: String,
    label_selector: String,
}

/// What a request wants to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read many.
    List,
    /// Follow changes.
    Watch,
    /// Make an object.
    Create,
    /// Replace one.
    Update,
    /// Change parts of one.
    Patch,
    /// Remove one.
    Delete,
    /// Remove many.
    DeleteCollection,
    /// Reach what an object stands for, by a path that begins with this verb.
    Proxy,
    /// A resource, and a method that means nothing to it.
    None,
    /// No resource: the method in lower case.
    Method(String),
}

/// A piece of the path.
type Piece = Range<usize>;

const NOTHING: Piece = 0..0;

/// Subresources of namespaces: what else follows a namespace is a resource in it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

// === impl RequestInfo ===

impl RequestInfo {
    /// Reads the method, the path as it was sent, and the query.
    pub(crate) fn parse(method: &Method, raw_path: &str, query: &Query) -> Result<Self, RequestError> {
        let path = decode_path(raw_path)?;
        let mut info = Self {
            path: String::new(),
            verb: Verb::Method(lower(method)),
            is_resource_request: false,
            api_prefix: NOTHING,
            api_group: NOTHING,
            api_version: NOTHING,
            namespace: NOTHING,
            resource: NOTHING,
            subresource: NOTHING,
            name: NOTHING,
            selected_name: None,
            parts: None,
            field_selector: String::new(),
            label_selector: String::new(),
        };
        let read = info.read_path(method, &path);
        info.path = path;
        match read {
            Read::NoResource => return Err(RequestError::NoResource { path: info.path }),
            Read::NonResource => return Ok(info),
            Read::Resource(origin) => info.read_query(query, origin),
        }
        Ok(info)
    }

    /// Whether the request is for a resource.
    pub fn is_resource_request(&self) -> bool {
        self.is_resource_request
    }

    /// The path, decoded.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What the request wants to do.
    pub fn verb(&self) -> &Verb {
        &self.verb
    }

    /// `api` or `apis`; empty for other paths.
    pub fn api_prefix(&self) -> &str {
        self.piece(&self.api_prefix)
    }

    /// The group; empty for the core group and where there is none.
    pub fn api_group(&self) -> &str {
        self.piece(&self.api_group)
    }

    /// The version.
    pub fn api_version(&self) -> &str {
        self.piece(&self.api_version)
    }

    /// The namespace; for a namespace, itself; empty for none and for all.
    pub fn namespace(&self) -> &str {
        self.piece(&self.namespace)
    }

    /// Whether it is about a namespace itself, rather than about something in one.
    pub fn is_namespace_itself(&self) -> bool {
        !self.namespace.is_empty() && self.namespace == self.name
    }

    /// The resource's plural name.
    pub fn resource(&self) -> &str {
        self.piece(&self.resource)
    }

    /// The subresource.
    pub fn subresource(&self) -> &str {
        self.piece(&self.subresource)
    }

    /// The object's name; that of a list or a watch is the one that the field selector demands.
    pub fn name(&self) -> &str {
        self.selected_name.as_deref().unwrap_or_else(|| self.piece(&self.name))
    }

    /// The path from the resource on, in segments.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.parts.as_ref().into_iter().flat_map(|parts| self.piece(parts).split('/'))
    }

    /// The field selector as it was sent, of those who may have one.
    pub fn field_selector(&self) -> &str {
        &self.field_selector
    }

    /// The label selector as it was sent, of those who may have one.
    pub fn label_selector(&self) -> &str {
        &self.label_selector
    }

    /// Whether the path is written as the server writes it. Upstream's reading is lenient about slashes at both ends; what
    /// routes by this value must answer 404 where this is false, never a redirect to the canonical path.
    pub fn is_canonical(&self) -> bool {
        let Some(path) = self.path.strip_prefix('/') else { return false };
        let plain = |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains(|c: char| c.is_control());
        path.is_empty() || path.split('/').all(plain)
    }

    fn piece(&self, piece: &Piece) -> &str {
        self.path.get(piece.clone()).unwrap_or_default()
    }

    fn read_path(&mut self, method: &Method, path: &str) -> Read {
        let mut segments = Segments::new(path);
        if segments.count() < 3 {
            return Read::NonResource;
        }
        let groupless = match segments.peek(0) {
            "api" => true,
            "apis" => false,
            _ => return Read::NonResource,
        };
        self.api_prefix = segments.take();
        if !groupless {
            if segments.count() < 3 {
                return Read::NonResource;
            }
            self.api_group = segments.take();
        }
        self.is_resource_request = true;
        self.api_version = segments.take();

        let special = match segments.peek(0) {
            "watch" => Some(Verb::Watch),
            "proxy" => Some(Verb::Proxy),
            _ => None,
        };
        let origin = if special.is_some() { Origin::Path } else { Origin::Method };
        match special {
            Some(_) if segments.count() < 2 => return Read::NoResource,
            Some(verb) => {
                self.verb = verb;
                segments.take();
            }
            None => self.verb = verb_of(method),
        }

        if segments.peek(0) == "namespaces" && segments.count() > 1 {
            self.namespace = segments.nth(1);
            if segments.count() > 2 && !NAMESPACE_SUBRESOURCES.contains(&segments.peek(2)) {
                segments.take();
                segments.take();
            }
        }

        self.parts = Some(segments.rest());
        self.resource = segments.nth(0);
        self.name = segments.nth(1);
        if self.verb != Verb::Proxy {
            self.subresource = segments.nth(2);
        }
        Read::Resource(origin)
    }

    fn read_query(&mut self, query: &Query, origin: Origin) {
        if self.name.is_empty() && self.verb == Verb::Get {
            let parameters = ListParameters::decode(query).ok();
            let read = parameters.and_then(|read| Some((read.watch, selected_name(&read)?)));
            let (watch, selected) = read.unwrap_or_else(|| {
                // What cannot be read is refused later. Until then it is a watch if it looks like one, and has no name.
                let off = |watch: &str| watch == "0" || watch.eq_ignore_ascii_case("false");
                (query.first("watch").is_some_and(|watch| !off(watch)), None)
            });
            self.selected_name = selected.filter(|name| is_path_segment(name));
            self.verb = if watch { Verb::Watch } else { Verb::List };
        }
        if self.name.is_empty() && self.verb == Verb::Delete {
            self.verb = Verb::DeleteCollection;
        }
        if origin == Origin::Method && matches!(self.verb, Verb::List | Verb::Watch | Verb::DeleteCollection) {
            self.field_selector = query.text("fieldSelector");
            self.label_selector = query.text("labelSelector");
        }
    }
}

// === impl Verb ===

impl Verb {
    /// As authorizers and audit logs write it; empty for [`Verb::None`].
    pub fn as_str(&self) -> &str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Proxy => "proxy",
            Self::None => "",
            Self::Method(method) => method,
        }
    }
}

/// What a path turned out to be.
enum Read {
    NonResource,
    Resource(Origin),
    NoResource,
}

/// Where a verb comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Method,
    /// `/watch/` or `/proxy/`, deprecated. Those know no selectors.
    Path,
}

/// The segments of a path that are not consumed yet.
struct Segments<'p> {
    path: &'p str,
    rest: Vec<Piece>,
    next: usize,
}

// === impl Segments ===

impl<'p> Segments<'p> {
    fn new(path: &'p str) -> Self {
        let inner = path.trim_matches('/');
        let mut rest = Vec::new();
        if !inner.is_empty() {
            let mut start = path.len() - path.trim_start_matches('/').len();
            for segment in inner.split('/') {
                rest.push(start..start + segment.len());
                start += segment.len() + 1;
            }
        }
        Self { path, rest, next: 0 }
    }

    fn count(&self) -> usize {
        self.rest.len().saturating_sub(self.next)
    }

    /// A segment that follows, or nothing.
    fn nth(&self, index: usize) -> Piece {
        self.rest.get(self.next + index).cloned().unwrap_or(NOTHING)
    }

    fn peek(&self, index: usize) -> &'p str {
        self.path.get(self.nth(index)).unwrap_or_default()
    }

    fn take(&mut self) -> Piece {
        let piece = self.nth(0);
        self.next += 1;
        piece
    }

    fn rest(&self) -> Piece {
        let end = self.rest.last().map_or(0, |last| last.end);
        self.nth(0).start..end
    }
}

fn decode_path(raw: &str) -> Result<String, RequestError> {
    if !raw.starts_with('/') {
        return Err(RequestError::NotAPath);
    }
    let path = decode(raw, Part::Path, Plus::Itself)?;
    if path.matches('/').count() != raw.matches('/').count() {
        return Err(RequestError::EncodedSlash);
    }
    Ok(path)
}

fn verb_of(method: &Method) -> Verb {
    match *method {
        Method::POST => Verb::Create,
        Method::GET | Method::HEAD => Verb::Get,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE => Verb::Delete,
        _ => Verb::None,
    }
}

fn lower(method: &Method) -> String {
    method.as_str().to_ascii_lowercase()
}

/// The name that the selectors demand, if they demand one. `None` if one of them cannot be read.
fn selected_name(read: &ListParameters) -> Option<Option<String>> {
    label::Selector::parse(&read.label_selector).ok()?;
    let fields = FieldSelector::parse(&read.field_selector).ok()?;
    Some(fields.requires_exact_match("metadata.name").map(str::to_owned))
}

fn is_path_segment(name: &str) -> bool {
    !matches!(name, "." | "..") && !name.contains(['/', '%'])
}

#[cfg(test)]
mod tests;
