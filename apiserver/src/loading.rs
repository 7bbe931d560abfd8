//! What clients are told while the server gets ready: that it lives, and that they should come back.
//!
//! A server that is not ready must not say that something does not exist. To a garbage collector that would mean that what
//! depends on it can go.

use std::sync::{Arc, OnceLock};

use bailiwick_machinery::{Reason, Status};
use bailiwick_registry::Clock;
use http::{HeaderMap, Method, Request, Response};
use hyper::body::Incoming;

use crate::body::Body;
use crate::form::Form;
use crate::health::{Endpoints, Health, Unhealthy};
use crate::listener::{Handler, Peer};
use crate::query::Query;
use crate::respond;

/// After how many seconds clients may ask again.
const RETRY_AFTER: u32 = 1;

/// Answers until there is someone who can. Cheap to clone.
pub struct Loading<H> {
    inner: Arc<Inner<H>>,
}

struct Inner<H> {
    handler: OnceLock<H>,
    health: Health,
    clock: Arc<dyn Clock>,
}

// === impl Loading ===

impl<H> Loading<H> {
    /// Nobody answers yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let loading = || async { Err(Unhealthy::new("the server is still loading")) };
        let health = Health::new().with("loading", Endpoints::Ready, loading);
        Self { inner: Arc::new(Inner { handler: OnceLock::new(), health, clock }) }
    }

    /// From now on `handler` answers. Only the first one counts.
    pub fn done(&self, handler: H) {
        let _ = self.inner.handler.set(handler);
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
        match self.inner.handler.get() {
            Some(handler) => handler.handle(request, peer).await,
            None => self.inner.answer(request.method(), request.uri().path(), request.headers()).await,
        }
    }
}

// === impl Inner ===

impl<H> Inner<H> {
    async fn answer(&self, method: &Method, path: &str, headers: &HeaderMap) -> Response<Body> {
        if matches!(*method, Method::GET | Method::HEAD)
            && let Some(health) = self.health.answer(path, &Query::default()).await
        {
            return health.map(Body::from);
        }
        let status = Status::new(Reason::ServiceUnavailable, "the server is still loading, please try again");
        let form = Form::of_status(headers, None, self.clock.now());
        respond::status(&form, &status.retry_after(RETRY_AFTER))
    }
}

#[cfg(test)]
mod tests;
