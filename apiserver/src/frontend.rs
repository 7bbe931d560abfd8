//! Where connections meet the server: who is behind a request is found out here.

use std::sync::Arc;

use http::{Request, Response, StatusCode, Version};
use hyper::body::Incoming;

use crate::audit::Source;
use crate::authentication::{Authentication, Requester, is_anonymous};
use crate::body::Body;
use crate::listener::{CloseConnection, Handler, Peer};
use crate::server::Server;

/// Answers the requests of connections.
pub struct Frontend {
    server: Arc<Server>,
    authentication: Arc<Authentication>,
}

// === impl Frontend ===

impl Frontend {
    /// A front end of this server, for users that are known in this way.
    pub fn new(server: Arc<Server>, authentication: Arc<Authentication>) -> Self {
        server.count_authentication(authentication.metrics());
        Self { server, authentication }
    }

    /// The server behind it, for those who need no connection.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }
}

impl Handler for Frontend {
    type Body = Body;

    async fn handle(&self, request: Request<Incoming>, peer: &Arc<Peer>) -> Response<Body> {
        let (mut head, body) = request.into_parts();
        let received = self.server.receive(&head);
        let by = self.server.due(&received);
        let requester = self.authentication.authenticate_by(by, head.uri.path(), &mut head.headers, peer).await;
        if let Some(source) = head.extensions.get_mut::<Source>() {
            source.is_front_proxy = self.authentication.is_front_proxy(peer);
        }
        let is_stranger = !matches!(&requester, Requester::User(user) if !is_anonymous(user));
        let is_multiplexed = head.version == Version::HTTP_2;
        let mut response = self.server.answer_received(received, head, body, requester).await;
        // Strangers get one request out of a connection: with many they could keep a server busy at little cost.
        if response.status() == StatusCode::UNAUTHORIZED || (is_stranger && is_multiplexed) {
            response.extensions_mut().insert(CloseConnection);
        }
        if response.body().is_live() && !peer.certificates().is_empty() {
            let doubted = self.authentication.clone().doubts(peer.clone());
            response = response.map(|body| body.until(doubted));
        }
        response
    }
}
