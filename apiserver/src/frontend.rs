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

/// Who is behind a connection, as its certificate was found to say.
struct Finding {
    /// The pools it was found by.
    generation: u64,
    known: Option<Known>,
}

struct Known {
    user: User,
    /// In seconds since 1970.
    until: i64,
}

// === impl Frontend ===

impl Frontend {
    /// A front end of this server, for users whose certificates these pools vouch for.
    pub fn new(server: Arc<Server>, tls: Arc<Tls>, clock: Arc<dyn Clock>) -> Self {
        Self { server, tls, clock }
    }

    /// Who is behind a connection. Asked for every request, because certificates expire and authorities are replaced while
    /// connections last.
    fn find_out(&self, peer: &Peer) -> Arc<Finding> {
        let now = self.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let trust = self.tls.trust();
        let holds = |finding: &Arc<Finding>| {
            let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
            finding.generation == trust.generation && finding.known.as_ref().is_none_or(|known| seconds < known.until)
        };
        peer.finding::<Finding>().filter(holds).unwrap_or_else(|| {
            let pool = trust.client_ca.as_ref().ok_or(CertificateError::Absent);
            let result = pool.and_then(|pool| pool.verify(peer.certificates(), UnixTime::since_unix_epoch(now)));
            if let Err(error) = &result
                && !matches!(error, CertificateError::Absent)
            {
                tracing::info!(peer = %peer.address(), %error, "a client certificate was refused");
            }
            let known = result.ok().map(|certificate| Known::new(&certificate));
            let finding = Arc::new(Finding { generation: trust.generation, known });
            peer.remember(finding.clone());
            finding
        })
    }
}

impl Handler for Frontend {
    type Body = Body;

    async fn handle(&self, request: Request<Incoming>, peer: &Arc<Peer>) -> Response<Body> {
        let finding = self.find_out(peer);
        let mut response = self.server.answer(request, finding.known.as_ref().map(|known| &known.user)).await;
        if response.status() == StatusCode::UNAUTHORIZED {
            response.extensions_mut().insert(CloseConnection);
        }
        response
    }
}

// === impl Known ===

impl Known {
    fn new(certificate: &ClientCertificate) -> Self {
        let mut groups = certificate.organizations.clone();
        groups.push(AUTHENTICATED.to_owned());
        let user = User {
            name: certificate.common_name.clone(),
            uid: certificate.uid.clone().unwrap_or_default(),
            groups,
            ..User::default()
        };
        Self { user, until: certificate.not_after }
    }
}
