//! What a server is made of, and how it behaves.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_registry::{AllowPaths, Authorizer, Clock, Registry};
use tokio_util::sync::CancellationToken;

use super::HEALTH;
use crate::audit::Audit;
use crate::health::Health;
use crate::limits::LimitOptions;
use crate::metrics::Metrics;

/// How a server behaves.
#[derive(Clone)]
pub struct ServerOptions {
    /// How long a request may take that is no watch.
    pub request_timeout: Duration,
    /// How long a watch lasts at least, unless its client says otherwise.
    pub min_watch_duration: Duration,
    /// How often a watch tells how far it has come.
    pub bookmark_every: Duration,
    /// The health that anyone may ask for, known or not.
    pub always_allow: AllowPaths,
    /// How many requests are served at once.
    pub limits: LimitOptions,
    /// Which part of requests over HTTP/2 is asked to come back over another connection, between 0 and 1.
    pub goaway_chance: f64,
}

/// What a server is made of.
pub struct ServerParts {
    /// The kinds and their objects.
    pub registry: Arc<Registry>,
    /// How it is.
    pub health: Health,
    /// Who says what users may do.
    pub authorizer: Arc<dyn Authorizer>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Cancelled to end its watches.
    pub shutdown: CancellationToken,
    /// What is written down of requests; nothing, if there is none.
    pub audit: Option<Audit>,
    /// Where everything is counted.
    pub metrics: Arc<Metrics>,
}

// === impl ServerOptions ===

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(60),
            min_watch_duration: Duration::from_secs(1_800),
            bookmark_every: Duration::from_secs(60),
            always_allow: AllowPaths::new(HEALTH).unwrap_or_default(),
            limits: LimitOptions::default(),
            goaway_chance: 0.0,
        }
    }
}
