//! What clients are told while the server gets ready: that it lives, and that they should come back.
//!
//! A server that is not ready must not say that something does not exist. To a garbage collector that would mean that what
//! depends on it can go. Most starts are short, so requests wait for a moment first: clients that are sent away at once come
//! back at once, and their handshakes would slow down what they wait for.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bailiwick_machinery::{Reason, Status};
use bailiwick_registry::Clock;
use http::{HeaderMap, Method, Request, Response};
use hyper::body::Incoming;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::body::Body;
use crate::form::Form;
use crate::health::{Endpoints, Health, Unhealthy};
use crate::listener::{Handler, Peer};
use crate::query::Query;
use crate::respond;

/// How long a request waits. Whoever probes servers waits for longer.
const WAIT: Duration = Duration::from_secs(1);
/// After how many seconds clients may ask again.
const RETRY_AFTER: u32 = 1;

/// Answers until there is someone who can. Cheap to clone.
pub struct Loading<H> {
    inner: Arc<Inner<H>>,
}

struct Inner<H> {
    handler: OnceLock<H>,
    /// Cancelled when there is a handler.
    loaded: CancellationToken,
    health: Health,
    clock: Arc<dyn Clock>,
}

// === impl Loading ===

impl<H> Loading<H> {
    /// Nobody answers yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let loading = || async { Err(Unhealthy::new("the server is still loading")) };
        let health = Health::new().with("loading", Endpoints::Ready, loading);
        Self { inner: Arc::new(Inner { handler: OnceLock::new(), loaded: CancellationToken::new(), health, clock }) }
    }

    /// From now on `handler` answers. Only the first one counts.
    pub fn done(&self, handler: H) {
        let _ = self.inner.handler.set(handler);
        self.inner.loaded.cancel();
    }
}

impl<H> Clone for Loading<H> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<H: Handler<Body = Body>> Handler for Loading<H> {
    type Body = Body;

    async fn handle(&self, request: Request<Incoming>, peer: &Arc<Peer>) -> Response<Body> {
        let inner = &*self.inner;
        if inner.handler.get().is_none()
            && let Some(health) = inner.answer_health(request.method(), request.uri().path()).await
        {
            return health;
        }
        match inner.handler().await {
            Some(handler) => handler.handle(request, peer).await,
            None => inner.refuse(request.headers()),
        }
    }
}

// === impl Inner ===

impl<H> Inner<H> {
    /// Who answers, if there is someone soon.
    async fn handler(&self) -> Option<&H> {
        if self.handler.get().is_none() {
            // Whether it came in time is seen below.
            let _ = timeout(WAIT, self.loaded.cancelled()).await;
        }
        self.handler.get()
    }

    async fn answer_health(&self, method: &Method, path: &str) -> Option<Response<Body>> {
        let readable = matches!(*method, Method::GET | Method::HEAD);
        let answer = if readable { self.health.answer(path, &Query::default()).await } else { None };
        Some(answer?.map(Body::from))
    }

    fn refuse(&self, headers: &HeaderMap) -> Response<Body> {
        let status = Status::new(Reason::ServiceUnavailable, "the server is still loading, please try again");
        let form = Form::of_status(headers, None, self.clock.now());
        respond::status(&form, &status.retry_after(RETRY_AFTER))
    }
}

#[cfg(test)]
mod tests;
