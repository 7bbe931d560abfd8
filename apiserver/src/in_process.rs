//! A way to the server without a socket, for controllers in the same process: as a known user, and through the same chain.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bailiwick_registry::User;
use bytes::Bytes;
use http::{Request, Response};
use tower_service::Service;

use crate::authentication::Requester;
use crate::body::Body;
use crate::limits::FromWithin;
use crate::server::Server;

/// The server, as one user reaches it. Who that is, no request can say.
#[derive(Clone)]
pub struct InProcess {
    server: Arc<Server>,
    user: Arc<User>,
}

// === impl InProcess ===

impl InProcess {
    /// As this user, who is not asked for any proof.
    pub fn new(server: Arc<Server>, user: User) -> Self {
        Self { server, user: Arc::new(user) }
    }
}

impl<B> Service<Request<B>> for InProcess
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: fmt::Display,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let Self { server, user } = self.clone();
        request.extensions_mut().insert(FromWithin);
        Box::pin(async move { Ok(server.answer(request, Requester::User(user)).await) })
    }
}
