//! Options of reading one object, and how fresh what is read must be.

use bailiwick_machinery::{FieldError, FieldPath, Status};

use super::bad_request;
use crate::go::parse_uint;
use crate::query::Query;

/// Options of reading one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetOptions {
    /// How fresh the object must be.
    pub freshness: Freshness,
}

/// How fresh what is read must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// As of now: it contains every write that was answered before the request came.
    Consistent,
    /// Of any time.
    Any,
    /// Of this revision or a later one.
    NotOlderThan(u64),
}

// === impl GetOptions ===

impl GetOptions {
    pub(crate) fn parse(query: &Query) -> Result<Self, Box<Status>> {
        if query.switch("export") == Some(true) {
            return Err(bad_request("the export parameter, deprecated since v1.14, is no longer supported"));
        }
        Ok(Self { freshness: Freshness::parse(query.first("resourceVersion").unwrap_or_default())? })
    }
}

// === impl Freshness ===

impl Freshness {
    /// What a `resourceVersion` demands, where older is not allowed.
    pub(super) fn parse(resource_version: &str) -> Result<Self, Box<Status>> {
        Ok(match parse_resource_version(resource_version)? {
            None => Self::Consistent,
            Some(0) => Self::Any,
            Some(revision) => Self::NotOlderThan(revision),
        })
    }
}

/// The revision; `None` for the empty text.
pub(super) fn parse_resource_version(text: &str) -> Result<Option<u64>, Box<Status>> {
    if text.is_empty() {
        return Ok(None);
    }
    parse_uint(text).map(Some).map_err(|error| {
        let error = FieldError::invalid(FieldPath::new("resourceVersion"), text, error.to_string());
        bad_request(format!("invalid resource version: {error}"))
    })
}
