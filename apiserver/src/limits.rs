//! How much at once: every request that is authenticated takes a seat before it is authorized, or is told to come back.
//!
//! ```text
//! health                        no seat: it must answer when nothing else does
//! calls of the server itself,   a room of their own: who waits for them may hold a seat elsewhere
//! and a cluster's questions
//! members of system:masters     no seat: they must be able to repair what they or others overload
//! everyone else                 reads, writes, watches: a room each
//! ```
//!
//! In every room one user has a share only, and a short queue is served so that whoever holds least comes first.

mod goaway;
mod network;
mod room;

use std::sync::Arc;
use std::time::Duration;

use bailiwick_registry::User;
use http::header::RETRY_AFTER;
use http::{HeaderValue, Response, StatusCode};

pub(crate) use self::goaway::Goaway;
pub(crate) use self::network::network;
pub(crate) use self::room::{Room, Seat};
use crate::access_webhook::ACCESS_WEBHOOK_PATH;
use crate::body::Body;
use crate::health;
use crate::request_info::{RequestInfo, Verb};
use crate::respond;

/// Those who may do everything, also when everyone else waits.
const MASTERS: &str = "system:masters";
/// After how many seconds a client may come back.
const RETRY_AFTER_SECONDS: &str = "1";
/// As Kubernetes says it.
const TOO_MANY: &str = "Too many requests, please try again later.\n";

/// How many requests are served at once. None is no bound.
#[derive(Clone, Copy, Debug)]
pub struct LimitOptions {
    /// Requests that change nothing and end.
    pub reads: Option<usize>,
    /// Requests that change something.
    pub writes: Option<usize>,
    /// Requests that go on.
    pub watches: Option<usize>,
    /// Of the server itself.
    pub in_process: Option<usize>,
    /// How long a request waits for a seat. What waits longer is answered when its client has given up.
    pub patience: Duration,
}

/// In the extensions of a request: the server itself asks. Nothing that comes over a connection has it.
#[derive(Clone, Copy, Debug)]
pub struct FromWithin;

/// Which room a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Read,
    Write,
    Watch,
    InProcess,
}

/// All rooms.
pub(crate) struct Limits {
    rooms: [Option<Arc<Room>>; Level::COUNT],
}

/// There is no seat, and no place to wait for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

// === impl LimitOptions ===

impl Default for LimitOptions {
    fn default() -> Self {
        Self {
            reads: Some(400),
            writes: Some(200),
            watches: Some(20_000),
            in_process: Some(400),
            patience: Duration::from_millis(500),
        }
    }
}

// === impl Level ===

impl Level {
    const COUNT: usize = 4;

    /// The room of a request; none for what must always be answered.
    pub(crate) fn of(info: &RequestInfo, user: &User, origin: Option<FromWithin>) -> Option<Self> {
        if origin.is_some() {
            // There are as many watches as there are kinds, and each lasts as long as the server.
            return (*info.verb() != Verb::Watch).then_some(Self::InProcess);
        }
        if !info.is_resource_request() && health::is_health_path(info.path()) {
            return None;
        }
        // The cluster may ask because we have asked it, in the name of someone who has a seat.
        if !info.is_resource_request() && info.path() == ACCESS_WEBHOOK_PATH {
            return Some(Self::InProcess);
        }
        if user.groups.iter().any(|group| group == MASTERS) {
            return None;
        }
        if *info.verb() == Verb::Watch {
            return Some(Self::Watch);
        }
        Some(if is_read(info) { Self::Read } else { Self::Write })
    }
}

// === impl Limits ===

impl Limits {
    pub(crate) fn new(options: &LimitOptions) -> Self {
        let room = |seats: Option<usize>| seats.map(|seats| Arc::new(Room::new(seats, options.patience)));
        let LimitOptions { reads, writes, watches, in_process, patience: _ } = *options;
        Self { rooms: [reads, writes, watches, in_process].map(room) }
    }

    /// Takes a seat, or waits for one a little. No room, no seat: the request is served.
    pub(crate) async fn enter(&self, level: Option<Level>, user: &User) -> Result<Option<Seat>, TooMany> {
        let room = level.and_then(|level| self.rooms[level as usize].as_ref());
        match room {
            Some(room) => room.enter(&user.name).await.map(Some),
            None => Ok(None),
        }
    }

    /// How many wait for a seat: to read, and to write.
    pub(crate) fn waiting(&self) -> [usize; 2] {
        [Level::Read, Level::Write].map(|level| self.rooms[level as usize].as_ref().map_or(0, |room| room.waiting()))
    }
}

/// Whether a request changes nothing, as Kubernetes judges it.
pub(crate) fn is_read(info: &RequestInfo) -> bool {
    matches!(info.verb().as_str(), "get" | "list" | "watch")
}

/// The answer to who finds no seat.
pub(crate) fn too_many() -> Response<Body> {
    let mut response = respond::text(StatusCode::TOO_MANY_REQUESTS, TOO_MANY);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS));
    response
}

#[cfg(test)]
mod tests;
