//! Stands in for the API until it is wired here: it is alive, it is ready, and it serves nothing else.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{Handler, Peer, Tls};
use bailiwick_storage::Store;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;

/// What the API is made of.
#[expect(dead_code, reason = "what stands in for the API needs next to nothing")]
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    /// Whom to believe.
    pub(crate) tls: Arc<Tls>,
    pub(crate) request_timeout: Duration,
    pub(crate) min_request_timeout: Duration,
    /// Cancelled when the server is about to stop: from then on it is not ready, but serves.
    pub(crate) stopping: CancellationToken,
    /// Cancelled when it stops: from then on watches end.
    pub(crate) stopped: CancellationToken,
}

/// What answers requests.
pub(crate) fn handler(parts: Parts) -> impl Handler {
    Placeholder(parts)
}

struct Placeholder(Parts);

// === impl Placeholder ===

impl Handler for Placeholder {
    type Body = Full<Bytes>;

    async fn handle(&self, request: Request<Incoming>, _peer: &Arc<Peer>) -> Response<Full<Bytes>> {
        match request.uri().path() {
            "/livez" => text(StatusCode::OK, "ok"),
            "/readyz" | "/healthz" if !self.0.stopping.is_cancelled() => text(StatusCode::OK, "ok"),
            "/readyz" | "/healthz" => text(StatusCode::INTERNAL_SERVER_ERROR, "shutting down"),
            _ => text(StatusCode::NOT_FOUND, "404 page not found"),
        }
    }
}

fn text(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
