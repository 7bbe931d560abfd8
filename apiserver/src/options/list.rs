//! Options of reading and following collections.
//!
//! | resourceVersion | match | limit | a list is |
//! | --- | --- | --- | --- |
//! | none | | any | [`ListAt::Consistent`] |
//! | `0` | none, NotOlderThan | any | [`ListAt::Any`] |
//! | N | none | none | [`ListAt::NotOlderThan`] |
//! | N | none | some | [`ListAt::Exact`], unless it is for one object |
//! | N | NotOlderThan, Exact | any | as named |
//! | none, `0` | none | any, with `continue` | [`ListAt::Continue`] |
//!
//! | resourceVersion | sendInitialEvents | a watch starts with |
//! | --- | --- | --- |
//! | none, `0` | none, true | [`WatchStart::State`], consistent or of any age |
//! | N | true | [`WatchStart::State`], not older than N |
//! | N | none, false | [`WatchStart::After`] |
//! | none, `0` | false | [`WatchStart::Now`] |

use std::num::NonZeroU64;
use std::time::Duration;

use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, Status};
use serde_json::Value;

use super::get::{Freshness, parse_resource_version};
use super::{bad_request, checked};
use crate::continue_token::ContinueToken;
use crate::go::parse_int;
use crate::query::Query;

/// Options of reading a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListOptions {
    /// The label selector, not read yet.
    pub label_selector: String,
    /// The field selector, not read yet.
    pub field_selector: String,
    /// As of when.
    pub at: ListAt,
    /// How many objects at most.
    pub limit: Option<NonZeroU64>,
}

/// As of when a collection is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListAt {
    /// Now: it contains every write that was answered before the request came.
    Consistent,
    /// At any time; the limit may be ignored.
    Any,
    /// At this revision or a later one.
    NotOlderThan(u64),
    /// At this revision.
    Exact(u64),
    /// Where another list ended.
    Continue(ContinueToken),
}

/// How much a list is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListScope {
    /// Whatever there is.
    Collection,
    /// One object at most, because the field selector demands a name.
    One,
}

/// Options of following a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    /// The label selector, not read yet.
    pub label_selector: String,
    /// The field selector, not read yet.
    pub field_selector: String,
    /// What the stream starts with.
    pub start: WatchStart,
    /// Whether the client wants to hear about revisions at which nothing happened.
    pub bookmarks: bool,
    /// After how long the stream ends; if absent, the server chooses.
    pub timeout: Option<Duration>,
}

/// What a watch starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchStart {
    /// The objects there are, as added, then what happens after that.
    State {
        /// How fresh these objects must be.
        freshness: Freshness,
        /// Whether a bookmark tells that these objects are complete.
        end_marker: bool,
    },
    /// What happens after now.
    Now {
        /// Whether now may be any recent time.
        freshness: Freshness,
    },
    /// What happens after a revision.
    After(u64),
}

/// The parameters of lists and watches, decoded, and not checked against each other yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListParameters {
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(crate) watch: bool,
    bookmarks: bool,
    resource_version: String,
    resource_version_match: String,
    timeout_seconds: Option<i64>,
    limit: i64,
    continue_token: String,
    send_initial_events: Option<bool>,
}

const EXACT: &str = "Exact";
const NOT_OLDER_THAN: &str = "NotOlderThan";

// === impl ListParameters ===

impl ListParameters {
    pub(crate) fn decode(query: &Query) -> Result<Self, Box<Status>> {
        let number =
            |name: &str| query.first(name).map(parse_int).transpose().map_err(|error| bad_request(error.to_string()));
        Ok(Self {
            label_selector: query.text("labelSelector"),
            field_selector: query.text("fieldSelector"),
            watch: query.switch("watch").unwrap_or(false),
            bookmarks: query.switch("allowWatchBookmarks").unwrap_or(false),
            resource_version: query.text("resourceVersion"),
            resource_version_match: query.text("resourceVersionMatch"),
            // The order matters: the first that is wrong is reported.
            timeout_seconds: number("timeoutSeconds")?,
            limit: number("limit")?.unwrap_or(0),
            continue_token: query.text("continue"),
            send_initial_events: query.switch("sendInitialEvents"),
        })
    }

    /// Checks and reads them as those of a list.
    pub(crate) fn list(self, scope: ListScope) -> Result<ListOptions, Box<Status>> {
        checked("ListOptions", self.list_errors())?;
        let limit = u64::try_from(self.limit).ok().and_then(NonZeroU64::new);
        let at = self.list_at(scope, limit)?;
        Ok(ListOptions { label_selector: self.label_selector, field_selector: self.field_selector, at, limit })
    }

    /// Checks and reads them as those of a watch. That of a path with `/watch/` need not say so in the query; upstream checks
    /// it as a list and does not change what absent parameters mean.
    pub(crate) fn watch(mut self) -> Result<WatchOptions, Box<Status>> {
        let plain = self.send_initial_events.is_none() && self.resource_version_match.is_empty();
        if self.watch && plain && matches!(self.resource_version.as_str(), "" | "0") {
            self.send_initial_events = Some(true);
            NOT_OLDER_THAN.clone_into(&mut self.resource_version_match);
        }
        checked("ListOptions", if self.watch { self.watch_errors() } else { self.list_errors() })?;
        let freshness = Freshness::parse(&self.resource_version)?;
        let start = match (self.send_initial_events, freshness) {
            (Some(true), freshness) => WatchStart::State { freshness, end_marker: self.bookmarks },
            (None | Some(false), Freshness::NotOlderThan(revision)) => WatchStart::After(revision),
            (Some(false), freshness) => WatchStart::Now { freshness },
            (None, _) => WatchStart::State { freshness: Freshness::Any, end_marker: false },
        };
        // Zero is as good as absent; less ends the stream at once.
        let timeout = self.timeout_seconds.filter(|seconds| *seconds != 0);
        let timeout = timeout.map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or(0)));
        Ok(WatchOptions {
            label_selector: self.label_selector,
            field_selector: self.field_selector,
            start,
            bookmarks: self.bookmarks,
            timeout,
        })
    }

    fn list_at(&self, scope: ListScope, limit: Option<NonZeroU64>) -> Result<ListAt, Box<Status>> {
        if scope == ListScope::Collection && !self.continue_token.is_empty() {
            let token = ContinueToken::decode(&self.continue_token)
                .map_err(|error| bad_request(format!("invalid continue token: {error}")))?;
            if !matches!(self.resource_version.as_str(), "" | "0") {
                return Err(bad_request("specifying resource version is not allowed when using continue"));
            }
            return Ok(ListAt::Continue(token));
        }
        let exact = match self.resource_version_match.as_str() {
            EXACT => true,
            NOT_OLDER_THAN => false,
            _ => scope == ListScope::Collection && limit.is_some(),
        };
        Ok(match parse_resource_version(&self.resource_version)? {
            None => ListAt::Consistent,
            Some(0) => ListAt::Any,
            Some(revision) if exact => ListAt::Exact(revision),
            Some(revision) => ListAt::NotOlderThan(revision),
        })
    }

    fn list_errors(&self) -> FieldErrors {
        let mut errors = FieldErrors::default();
        let mut forbid = |field: &str, why: &str| errors.push(FieldError::forbidden(FieldPath::new(field), why));
        let rv_match = self.resource_version_match.as_str();
        if !rv_match.is_empty() {
            if self.resource_version.is_empty() {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                forbid("resourceVersionMatch", why);
            }
            if !self.continue_token.is_empty() {
                forbid("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
            }
            if !matches!(rv_match, EXACT | NOT_OLDER_THAN) {
                errors.push(unsupported_match(rv_match, &[EXACT, NOT_OLDER_THAN, ""]));
            }
            // However it is written, nothing was ever stored at revision zero.
            if rv_match == EXACT && parse_resource_version(&self.resource_version) == Ok(Some(0)) {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(FieldError::forbidden(FieldPath::new("resourceVersionMatch"), why));
            }
        }
        if self.send_initial_events.is_some() {
            let why = "sendInitialEvents is forbidden for list";
            errors.push(FieldError::forbidden(FieldPath::new("sendInitialEvents"), why));
        }
        errors
    }

    fn watch_errors(&self) -> FieldErrors {
        let mut errors = FieldErrors::default();
        let forbidden = |why: &str| FieldError::forbidden(FieldPath::new("resourceVersionMatch"), why);
        let rv_match = self.resource_version_match.as_str();
        if self.send_initial_events.is_some() && rv_match != NOT_OLDER_THAN {
            errors.push(forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
        }
        if !rv_match.is_empty() {
            if self.send_initial_events.is_none() {
                let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                errors.push(forbidden(why));
            }
            if rv_match != NOT_OLDER_THAN {
                errors.push(unsupported_match(rv_match, &[NOT_OLDER_THAN]));
            }
            if !self.continue_token.is_empty() {
                errors.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
        }
        errors
    }
}

fn unsupported_match(value: &str, supported: &[&str]) -> FieldError {
    FieldError::not_supported(FieldPath::new("resourceVersionMatch"), Value::from(value), supported)
}
