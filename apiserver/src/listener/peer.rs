//! The other end of a connection.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_rustls::rustls::pki_types::CertificateDer;

/// The client of one connection.
pub struct Peer {
    address: SocketAddr,
    certificates: Vec<CertificateDer<'static>>,
    finding: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

// === impl Peer ===

impl Peer {
    /// A client at `address` that holds the key of the first of `certificates`, if there is one.
    pub fn new(address: SocketAddr, certificates: Vec<CertificateDer<'static>>) -> Self {
        Self { address, certificates, finding: Mutex::new(None) }
    }

    /// Where it connects from.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The chain it showed, its own certificate first. It holds that one's key, and nothing else has been checked: only
    /// [`CaPool::verify`](crate::CaPool::verify) says whom it names.
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    /// What was last found out about this client, so that it need not be found out for each request.
    pub fn finding<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let finding = self.finding.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        finding.downcast().ok()
    }

    /// Remembers what was found out, for as long as the connection lasts. What it depends on besides the certificates (the
    /// pools, the time) is remembered with it and compared by whoever reads it.
    pub fn remember<T: Send + Sync + 'static>(&self, finding: Arc<T>) {
        *self.finding.lock().unwrap_or_else(PoisonError::into_inner) = Some(finding);
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer")
            .field("address", &self.address)
            .field("certificates", &self.certificates.len())
            .finish_non_exhaustive()
    }
}
