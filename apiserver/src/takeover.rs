//! Requests that want their connection for something else than requests.
//!
//! Nothing here is reached that way. Who only left the wish unheard would answer, and what the client then sends on the
//! connection could be read as requests by one and as something else by another: so it is refused, and the connection ends.

use bailiwick_machinery::Status;
use http::Method;
use http::header::UPGRADE;
use http::request::Parts;

/// The refusal, if the request is such a one.
pub(crate) fn refusal(head: &Parts) -> Option<Status> {
    let wish = if head.method == Method::CONNECT {
        "a CONNECT request"
    } else if head.headers.contains_key(UPGRADE) {
        "an upgrade of the connection"
    } else {
        return None;
    };
    Some(Status::bad_request(format!("{wish} leads nowhere on this server: ask by ordinary requests")))
}
