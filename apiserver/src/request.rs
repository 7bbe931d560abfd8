//! A request as it is authorized, executed and audited.
//!
//! Its method and target are read once, into values that nobody can change. Which operation runs follows from the verb that
//! was authorized; there is no other way to the options.

use std::fmt;
use std::time::Duration;

use bailiwick_machinery::Status;
use http::Method;

use crate::go::parse_duration;
use crate::options::{
    CreateOptions, DeleteQuery, GetOptions, ListOptions, ListParameters, ListScope, PatchQuery, UpdateOptions,
    WatchOptions,
};
use crate::query::Query;
use crate::request_info::{RequestInfo, Verb};

/// The longest target (path and query) of a request.
pub const MAX_TARGET_BYTES: usize = 16 * 1024;

/// The method and the target of a request, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    method: Method,
    info: RequestInfo,
    query: Query,
}

/// What a request for a resource asks for, with its options.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation<'r> {
    /// One object.
    Get(GetOptions),
    /// Objects.
    List(ListOptions),
    /// Changes.
    Watch(WatchOptions),
    /// A new object.
    Create(CreateOptions),
    /// Another state of an object.
    Update(UpdateOptions),
    /// Another state of parts of an object; which options there are depends on the kind of patch.
    Patch(PatchQuery<'r>),
    /// An object's end; its options may be in the body.
    Delete(DeleteQuery<'r>),
    /// The end of many objects: which ones, and how.
    DeleteCollection(ListOptions, DeleteQuery<'r>),
    /// Nothing that is known for resources, or no resource: the path decides.
    Other,
}

/// Why a target is not even read. The client gets 400 for all of them, and never a redirect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Longer than [`MAX_TARGET_BYTES`].
    #[error("the request's path and query are longer than {MAX_TARGET_BYTES} bytes")]
    TooLong,
    /// The path does not begin with `/`.
    #[error("the request's path does not begin with \"/\"")]
    NotAPath,
    /// A `%` without two hexadecimal digits.
    #[error("the request's {0} contains a malformed escape")]
    MalformedEscape(Part),
    /// A `/` that is not a separator. Who splits before decoding and who splits after it would see different requests.
    #[error("the request's path contains an encoded \"/\"")]
    EncodedSlash,
    /// What was encoded is no text.
    #[error("the request's {0} is not UTF-8")]
    NotUtf8(Part),
    /// A `;` that is not encoded. Who takes it for a separator would see another request.
    #[error("the request's query contains \";\", which must be encoded")]
    Semicolon,
    /// More than 1000.
    #[error("the request has too many parameters")]
    TooManyParameters,
    /// A verb in the path, and nothing behind it.
    #[error("unable to determine kind and namespace from url, {path}")]
    NoResource {
        /// The path, decoded.
        path: String,
    },
}

/// A part of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What precedes the `?`.
    Path,
    /// What follows it.
    Query,
}

// === impl Request ===

impl Request {
    /// Reads the method and the target: a path that begins with `/`, and maybe `?` and a query.
    pub fn parse(method: &Method, target: &str) -> Result<Self, RequestError> {
        if target.len() > MAX_TARGET_BYTES {
            return Err(RequestError::TooLong);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = Query::parse(query)?;
        let info = RequestInfo::parse(method, path, &query)?;
        Ok(Self { method: method.clone(), info, query })
    }

    /// The HTTP method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// What is authorized and audited, and which [`Request::operation`] follows.
    pub fn info(&self) -> &RequestInfo {
        &self.info
    }

    /// The parameters, for requests that are for no resource.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Whether it is to follow changes. A path can ask for that with any method; only reading is it.
    pub fn is_watch(&self) -> bool {
        *self.info.verb() == Verb::Watch && (self.method == Method::GET || self.method == Method::HEAD)
    }

    /// What to do, with its options; or the status with which to refuse them.
    pub fn operation(&self) -> Result<Operation<'_>, Box<Status>> {
        if !self.info.is_resource_request() {
            return Ok(Operation::Other);
        }
        let scope = if self.info.name().is_empty() { ListScope::Collection } else { ListScope::One };
        Ok(match self.info.verb() {
            Verb::Get => Operation::Get(GetOptions::parse(&self.query)?),
            Verb::List => Operation::List(ListParameters::decode(&self.query)?.list(scope)?),
            Verb::Watch if self.is_watch() => Operation::Watch(ListParameters::decode(&self.query)?.watch()?),
            Verb::Create => Operation::Create(CreateOptions::parse(&self.query)?),
            Verb::Update => Operation::Update(UpdateOptions::parse(&self.query)?),
            Verb::Patch => Operation::Patch(PatchQuery::new(&self.query)),
            Verb::Delete => Operation::Delete(DeleteQuery::new(&self.query)),
            Verb::DeleteCollection => {
                let list = ListParameters::decode(&self.query)?.list(scope)?;
                Operation::DeleteCollection(list, DeleteQuery::new(&self.query))
            }
            Verb::Watch | Verb::Proxy | Verb::None | Verb::Method(_) => Operation::Other,
        })
    }

    /// How long the client wants to wait at most. Watches and other long requests do not ask for it.
    pub fn timeout(&self) -> Result<Option<Duration>, Box<Status>> {
        let Some(text) = self.query.first("timeout").filter(|text| !text.is_empty()) else { return Ok(None) };
        let nanoseconds = parse_duration(text).map_err(|error| {
            Box::new(Status::bad_request(format!("invalid timeout specified in the request URL - {error}")))
        })?;
        // None, zero and less all leave it to the server.
        Ok(u64::try_from(nanoseconds).ok().filter(|nanoseconds| *nanoseconds > 0).map(Duration::from_nanos))
    }
}

// === impl RequestError ===

impl From<RequestError> for Status {
    fn from(error: RequestError) -> Self {
        Self::bad_request(error.to_string())
    }
}

// === impl Part ===

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Path => "path",
            Self::Query => "query",
        })
    }
}

#[cfg(test)]
mod tests;
