//! What answers requests.

use std::error::Error;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use tokio::time::Instant;

use super::peer::Peer;

/// Answers requests. A panic in here costs the client its request and is logged by the runtime; who wants the client to get
/// an answer catches it.
pub trait Handler: Send + Sync + 'static {
    /// What answers carry.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    /// Answers one request. It is dropped when the client goes away or resets its stream.
    fn handle(&self, request: Request<Incoming>, peer: &Arc<Peer>)
    -> impl Future<Output = Response<Self::Body>> + Send;
}

/// So that what answers here can also be asked elsewhere.
impl<H: Handler> Handler for Arc<H> {
    type Body = H::Body;

    fn handle(
        &self,
        request: Request<Incoming>,
        peer: &Arc<Peer>,
    ) -> impl Future<Output = Response<Self::Body>> + Send {
        (**self).handle(request, peer)
    }
}

/// In the extensions of a response: the connection ends after the requests that are under way. Kubernetes tells clients
/// that it does not know to come back with a new connection, so that HTTP/2 gives them no cheaper attack.
#[derive(Clone, Copy, Debug)]
pub struct CloseConnection;

/// In the extensions of a response: when its client must have taken all of it. What is left then is not sent.
#[derive(Clone, Copy, Debug)]
pub struct FinishBy(pub Instant);
