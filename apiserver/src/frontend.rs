//! Where connections meet the server: who is behind a connection is found out here.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bailiwick_registry::{Clock, User};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio_rustls::rustls::pki_types::UnixTime;

use crate::body::Body;
use crate::listener::{CloseConnection, Handler, Peer};
use crate::server::Server;
use crate::tls::{CertificateError, ClientCertificate, Tls};

/// Every user who is known.
const AUTHENTICATED: &str = "system:authenticated";

/// Answers the requests of connections.
pub struct Frontend {
    server: Arc<Server>,
    tls: Arc<Tls>,
    clock: Arc<dyn Clock>,
}

/// What the certificate of a connection was found to say.
struct Finding {
    /// The pools it was found by.
    generation: u64,
    result: Result<ClientCertificate, CertificateError>,
}

// === impl Frontend ===

impl Frontend {
    /// A front end of this server, for users whose certificates these pools vouch for.
    pub fn new(server: Arc<Server>, tls: Arc<Tls>, clock: Arc<dyn Clock>) -> Self {
        Self { server, tls, clock }
    }

    /// Who is behind a connection. Asked for every request, because certificates expire and authorities are replaced while
    /// connections last.
    fn user(&self, peer: &Peer) -> Option<User> {
        let now = self.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let trust = self.tls.trust();
        let known = peer.finding::<Finding>().filter(|finding| finding.generation == trust.generation);
        let finding = known.unwrap_or_else(|| {
            let pool = trust.client_ca.as_ref().ok_or(CertificateError::Absent);
            let result = pool.and_then(|pool| pool.verify(peer.certificates(), UnixTime::since_unix_epoch(now)));
            if let Err(error) = &result
                && !matches!(error, CertificateError::Absent)
            {
                tracing::info!(peer = %peer.address(), %error, "a client certificate was refused");
            }
            let finding = Arc::new(Finding { generation: trust.generation, result });
            peer.remember(finding.clone());
            finding
        });
        let certificate = finding.result.as_ref().ok()?;
        let valid = i64::try_from(now.as_secs()).is_ok_and(|now| now < certificate.not_after);
        valid.then(|| user_of(certificate))
    }
}

impl Handler for Frontend {
    type Body = Body;

    async fn handle(&self, request: Request<Incoming>, peer: &Arc<Peer>) -> Response<Body> {
        let mut response = self.server.answer(request, self.user(peer)).await;
        if response.status() == StatusCode::UNAUTHORIZED {
            response.extensions_mut().insert(CloseConnection);
        }
        response
    }
}

fn user_of(certificate: &ClientCertificate) -> User {
    let mut groups = certificate.organizations.clone();
    groups.push(AUTHENTICATED.to_owned());
    User {
        name: certificate.common_name.clone(),
        uid: certificate.uid.clone().unwrap_or_default(),
        groups,
        ..User::default()
    }
}
