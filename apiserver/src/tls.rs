//! What the server shows to clients, and whom it believes.
//!
//! A [`Tls`] holds the serving certificate and the pools of authorities, and replaces them while connections are open: each
//! new connection takes the newest. The handshake proves only that a client holds the key of the certificate it shows;
//! whether that certificate means anything is asked later, of one pool at a time ([`CaPool::verify`]). A chain that leads
//! to the authority of ordinary clients must never pass for the front proxy's.

mod files;
mod identity;
mod pool;
mod possession;
mod provider;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::watch;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio_rustls::rustls::version::{TLS12, TLS13};

pub(crate) use self::files::WatchedFile;
pub(crate) use self::provider::provider;

pub use self::files::FileError;
pub use self::identity::IdentityError;
pub use self::pool::{CaPool, CaPoolError, CertificateError, ClientCertificate};

use self::possession::PossessionVerifier;

/// The protocols offered, the best first.
const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Where the certificates lie, all in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The serving certificate, and those between it and its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities of ordinary clients, if certificates identify any.
    pub client_ca: Option<PathBuf>,
    /// The authorities of front proxies, if requests may come through one.
    pub request_header_ca: Option<PathBuf>,
}

/// The serving certificate and the pools, as they are now.
pub struct Tls {
    now: ArcSwap<Current>,
    /// new pools --generation--> whoever holds something open on the word of the old ones
    generation_tx: watch::Sender<u64>,
    sources: Mutex<Sources>,
}

/// The pools, as they are at one moment.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// Grows with every change, so that what was concluded from older pools can be told from what still holds.
    pub generation: u64,
    /// Who vouches for ordinary clients.
    pub client_ca: Option<Arc<CaPool>>,
    /// Who vouches for front proxies.
    pub request_header_ca: Option<Arc<CaPool>>,
}

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The serving certificate or its key.
    #[error("the serving certificate in {} cannot be used: {problem}", path.display())]
    Identity {
        /// The certificate's file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        problem: IdentityError,
    },
    /// A pool.
    #[error("the certificate authorities in {} cannot be used: {problem}", path.display())]
    Pool {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        problem: CaPoolError,
    },
    /// rustls refuses what was read.
    #[error("the TLS configuration cannot be used: {0}")]
    Config(#[from] tokio_rustls::rustls::Error),
}

/// One consistent state: the configuration announces the authorities of exactly these pools.
struct Current {
    config: Arc<ServerConfig>,
    identity: Arc<CertifiedKey>,
    trust: Arc<Trust>,
}

/// The files, as they were last looked at.
struct Sources {
    certificate: WatchedFile,
    key: WatchedFile,
    client_ca: Option<WatchedFile>,
    request_header_ca: Option<WatchedFile>,
}

// === impl Trust ===

impl Trust {
    /// Whether an authority of clients also vouches for front proxies.
    pub(crate) fn pools_overlap(&self) -> bool {
        self.client_ca
            .as_ref()
            .zip(self.request_header_ca.as_ref())
            .is_some_and(|(clients, proxies)| clients.overlaps(proxies))
    }
}

// === impl Tls ===

impl Tls {
    /// Reads the files.
    pub fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        let mut sources = Sources {
            certificate: WatchedFile::new(&files.certificate),
            key: WatchedFile::new(&files.key),
            client_ca: files.client_ca.as_deref().map(WatchedFile::new),
            request_header_ca: files.request_header_ca.as_deref().map(WatchedFile::new),
        };
        let identity = sources.identity()?;
        let trust = Trust {
            generation: 1,
            client_ca: read_pool(&mut sources.client_ca)?,
            request_header_ca: read_pool(&mut sources.request_header_ca)?,
        };
        let now = Current::new(identity, Arc::new(trust))?;
        let generation_tx = watch::Sender::new(now.trust.generation);
        Ok(Self { now: ArcSwap::from_pointee(now), generation_tx, sources: Mutex::new(sources) })
    }

    /// What the next connection is accepted with.
    pub fn config(&self) -> Arc<ServerConfig> {
        self.now.load().config.clone()
    }

    /// Whom to believe now.
    pub fn trust(&self) -> Arc<Trust> {
        self.now.load().trust.clone()
    }

    /// Takes pools that come from elsewhere than from files. One that is not given stays as it is.
    pub(crate) fn set_pools(
        &self,
        client_ca: Option<CaPool>,
        request_header_ca: Option<CaPool>,
    ) -> Result<(), TlsError> {
        let _sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now.load_full();
        let trust = Trust {
            generation: now.trust.generation + 1,
            client_ca: client_ca.map(Arc::new).or_else(|| now.trust.client_ca.clone()),
            request_header_ca: request_header_ca.map(Arc::new).or_else(|| now.trust.request_header_ca.clone()),
        };
        self.take(Current::new(now.identity.clone(), Arc::new(trust))?);
        Ok(())
    }

    /// Looks at the files again. What cannot be used is logged, and what was in use stays in use: each file by itself, so
    /// that a broken one does not hold up the others.
    pub fn reload(&self) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now.load_full();
        let identity = sources.new_identity();
        let client_ca = new_pool(&mut sources.client_ca);
        let request_header_ca = new_pool(&mut sources.request_header_ca);
        if identity.is_none() && client_ca.is_none() && request_header_ca.is_none() {
            return;
        }
        let trust = if client_ca.is_none() && request_header_ca.is_none() {
            now.trust.clone()
        } else {
            Arc::new(Trust {
                generation: now.trust.generation + 1,
                client_ca: client_ca.or_else(|| now.trust.client_ca.clone()),
                request_header_ca: request_header_ca.or_else(|| now.trust.request_header_ca.clone()),
            })
        };
        match Current::new(identity.unwrap_or_else(|| now.identity.clone()), trust) {
            Ok(next) => self.take(next),
            Err(error) => tracing::error!(%error, "the certificates that were read cannot be used: the old ones stay"),
        }
    }

    /// Tells of every change of the pools.
    pub(crate) fn generations(&self) -> watch::Receiver<u64> {
        self.generation_tx.subscribe()
    }

    fn take(&self, next: Current) {
        let generation = next.trust.generation;
        self.now.store(Arc::new(next));
        self.generation_tx.send_if_modified(|known| std::mem::replace(known, generation) != generation);
    }

    /// Looks at the files again and again, until dropped.
    pub async fn follow(self: Arc<Self>, every: Duration) {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let tls = self.clone();
            // Disks can be slow, and a panic in a parser is not worth the server.
            if tokio::task::spawn_blocking(move || tls.reload()).await.is_err() {
                tracing::error!("looking at the certificate files failed: the old ones stay");
            }
        }
    }
}

// === impl Current ===

impl Current {
    fn new(identity: Arc<CertifiedKey>, trust: Arc<Trust>) -> Result<Self, TlsError> {
        let pools = [&trust.client_ca, &trust.request_header_ca];
        let subjects = pools.into_iter().flatten().flat_map(|pool| pool.subjects()).collect();
        let mut config = ServerConfig::builder_with_provider(provider::provider())
            .with_protocol_versions(&[&TLS13, &TLS12])?
            .with_client_cert_verifier(Arc::new(PossessionVerifier::new(subjects)))
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(identity.clone())));
        config.alpn_protocols = ALPN.iter().map(|name| name.to_vec()).collect();
        Ok(Self { config: Arc::new(config), identity, trust })
    }
}

// === impl Sources ===

impl Sources {
    fn identity(&mut self) -> Result<Arc<CertifiedKey>, TlsError> {
        let (certificate, key) = (self.certificate.read()?, self.key.read()?);
        let identity = identity::parse(&certificate, &key)
            .map_err(|problem| TlsError::Identity { path: self.certificate.path().to_owned(), problem })?;
        self.certificate.accept(&certificate);
        self.key.accept(&key);
        Ok(Arc::new(identity))
    }

    /// The identity, if its files changed and fit together. A pair of which only one half was written yet does not fit,
    /// and is tried again when the other half is there.
    fn new_identity(&mut self) -> Option<Arc<CertifiedKey>> {
        let changes = (self.certificate.changed(), self.key.changed());
        if !changes.0.any() && !changes.1.any() {
            return None;
        }
        match self.identity() {
            Ok(identity) => {
                tracing::info!(file = %self.certificate.path().display(), "took the new serving certificate");
                Some(identity)
            }
            Err(error) => {
                if changes.0.is_news() || changes.1.is_news() {
                    tracing::error!(%error, "the new serving certificate cannot be used: the old one stays");
                }
                None
            }
        }
    }
}

fn read_pool(file: &mut Option<WatchedFile>) -> Result<Option<Arc<CaPool>>, TlsError> {
    let Some(file) = file else { return Ok(None) };
    let pem = file.read()?;
    let pool = CaPool::from_pem(&pem).map_err(|problem| TlsError::Pool { path: file.path().to_owned(), problem })?;
    file.accept(&pem);
    Ok(Some(Arc::new(pool)))
}

/// The pool, if its file changed and can be used.
fn new_pool(source: &mut Option<WatchedFile>) -> Option<Arc<CaPool>> {
    let change = source.as_mut()?.changed();
    if !change.any() {
        return None;
    }
    match read_pool(source) {
        Ok(pool) => {
            if let Some(file) = source {
                tracing::info!(file = %file.path().display(), "took the new certificate authorities");
            }
            pool
        }
        Err(error) => {
            if change.is_news() {
                tracing::error!(%error, "the new certificate authorities cannot be used: the old ones stay");
            }
            None
        }
    }
}
