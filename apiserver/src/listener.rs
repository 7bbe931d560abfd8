//! The HTTPS listener: connections in, requests out to a [`Handler`].
//!
//! ```text
//! socket ─▶ handshake ─▶ HTTP/1 or HTTP/2 ─▶ Handler ─▶ answer, in pieces ─▶ socket
//!    │          │               │                             │                │
//!  bounded    bounded      slow heads, idle,             a stream that     a socket that
//!  in number  in time      floods are ended              takes nothing     takes nothing
//!                                                        is reset          is closed
//! ```
//!
//! It knows TLS and HTTP framing. It knows nothing of what requests mean, nor of who may make them.

mod activity;
mod addresses;
mod answer;
mod connection;
mod handler;
mod options;
mod peer;
mod socket;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::handler::{CloseConnection, FinishBy, Handler};
pub use self::options::{HttpLimits, ListenerOptions};
pub use self::peer::Peer;

use self::addresses::Addresses;
use self::connection::Shared;
use crate::metrics::Metrics;
use crate::tls::Tls;

/// How long to wait when the system has no more room for connections.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A bound address that connections are taken from.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    tls: Arc<Tls>,
    options: ListenerOptions,
    metrics: Arc<Metrics>,
}

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else does.
    #[error("{address} is in use by another process: stop that process, or choose another port (0 picks a free one)")]
    InUse {
        /// The address.
        address: SocketAddr,
    },
    /// It is not this machine's.
    #[error("{address} is not an address of this machine: choose another one")]
    NotHere {
        /// The address.
        address: SocketAddr,
    },
    /// The system refused.
    #[error("cannot listen on {address}: {source}")]
    Refused {
        /// The address.
        address: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
}

// === impl Listener ===

impl Listener {
    /// Takes an address; port 0 picks a free one. Clients can connect from now on, and are answered once it runs.
    pub async fn bind(address: SocketAddr, tls: Arc<Tls>, options: ListenerOptions) -> Result<Self, BindError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::InUse { address },
            io::ErrorKind::AddrNotAvailable => BindError::NotHere { address },
            _ => BindError::Refused { address, source },
        };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self { socket, address, tls, options, metrics: Arc::default() })
    }

    /// Counted here.
    #[must_use]
    pub fn counted_by(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// The address, with the port that was picked.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown`; then takes no more connections, lets requests under way end for as long as
    /// [`ListenerOptions::shutdown_grace`], and returns when no connection is left.
    ///
    /// A watch ends only when its handler ends it: a handler with answers that last should know of the shutdown too.
    pub async fn run<H: Handler>(self, handler: H, shutdown: CancellationToken) {
        let Self { socket, tls, options, metrics, .. } = self;
        let shared = Arc::new(Shared {
            handler,
            tls: tls.clone(),
            options,
            metrics,
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            abort: CancellationToken::new(),
        });
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tls.follow(options.certificate_poll) => {}
            () = accept(&socket, &shared) => {}
        }
        // New clients are turned away at once, instead of waiting for someone who will not come.
        drop(socket);
        shared.closing.cancel();
        shared.tasks.close();
        if tokio::time::timeout(options.shutdown_grace, shared.tasks.wait()).await.is_err() {
            tracing::warn!(tasks = shared.tasks.len(), "requests did not end within the grace period: giving them up");
            shared.abort.cancel();
            shared.tasks.wait().await;
        }
    }
}

/// Takes connections for ever.
async fn accept<H: Handler>(socket: &TcpListener, shared: &Arc<Shared<H>>) {
    let places = Arc::new(Semaphore::new(shared.options.max_connections.min(Semaphore::MAX_PERMITS)));
    let addresses = Arc::new(Addresses::new(shared.options.max_connections_per_address));
    loop {
        // Before the connection is taken, so that those beyond the bound cost nothing here.
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let (stream, address) = accept_one(socket).await;
        let Some(share) = addresses.take(address.ip()) else {
            tracing::debug!(%address, "closed a connection: its address or network has too many");
            continue;
        };
        let shared = shared.clone();
        let tasks = shared.tasks.clone();
        tasks.spawn(async move {
            connection::serve(shared, stream, address).await;
            drop((place, share));
        });
    }
}

async fn accept_one(socket: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match socket.accept().await {
            Ok(accepted) => return accepted,
            // The client is gone again.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) => {
            }
            Err(error) => {
                tracing::error!(%error, "cannot take connections: trying again");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
