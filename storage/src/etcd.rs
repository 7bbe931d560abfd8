//! The engine for several replicas: etcd.
//!
//! Nothing outside this module names etcd's client. Revisions are etcd's own plus the base that is fixed when the store
//! is made, so that data can move here from another engine without versions going back.
//!
//! etcd 3.5.8 or newer is needed: older ones may tell a watch that it has come further than it has (issue 15220).

mod backoff;
mod commit;
mod compaction;
mod connect;
mod identity;
mod layout;
mod members;
mod read;
mod status;
mod watch;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::AbortHandle;
use uuid::Uuid;

use crate::clock::{Clock, MonotonicClock};
use crate::error::Result;
use crate::fault::Faults;
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::store::{At, ListOptions, Lookup, Page, Store, Watch};
use crate::txn::Txn;

use compaction::Compactor;
use identity::Identity;
use layout::Layout;
use members::{Members, Patience};
use watch::EtcdWatch;

pub use connect::{ClientCertificate, ConnectError, Credentials, Secret, TlsOptions};
pub use layout::InvalidRoot;

/// The root below which a store lies unless another is chosen.
pub const DEFAULT_ROOT: &str = "bailiwick";
/// How long opening a store may take.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a request may take. Callers that read consistently promise an answer within 3 s.
pub const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(3);
/// How long old revisions are kept.
pub const DEFAULT_COMPACTION_AGE: Duration = Duration::from_secs(5 * 60);

/// A request that is not answered after this part of its time is sent to another member, if it may be sent twice.
const ATTEMPTS: u32 = 2;

/// Where etcd is and how to use it.
#[derive(Clone)]
#[non_exhaustive]
pub struct EtcdOptions {
    /// The client URLs of the members. An address that begins with `https` needs [`EtcdOptions::tls`]. One that begins
    /// with `http` is neither encrypted nor authenticated: whoever reaches it, or can listen in, has all data, so it is
    /// meant for loopback.
    pub endpoints: Vec<String>,
    /// Below what the store lies: names with `/` between them. Stores with different roots share an etcd.
    pub root: String,
    /// The certificates.
    pub tls: Option<TlsOptions>,
    /// The user, if etcd has authentication enabled.
    pub credentials: Option<Credentials>,
    /// How long opening the store may take.
    pub connect_timeout: Duration,
    /// How long a request may take. A list asks once for every few thousand records.
    pub request_timeout: Duration,
    /// How long old revisions are kept; for ever, if `None`. Replicas compact in turns, so all should say the same.
    pub compaction: Option<Duration>,
    /// What is added to etcd's revisions, if this makes the store. One that exists keeps its own.
    pub base: u64,
    /// What compaction measures age with.
    pub clock: Arc<dyn Clock>,
    /// The mistakes to make, in tests.
    pub faults: Faults,
}

/// A store in etcd.
pub struct Etcd {
    engine: Arc<Engine>,
    options: EtcdOptions,
    /// How long it may take to find out whether etcd lets us in.
    opening: Patience,
    compactor: Option<AbortHandle>,
}

/// What all operations share.
struct Engine {
    members: Members,
    layout: Layout,
    identity: Identity,
    patience: Patience,
    /// The oldest revision of etcd that may still be kept, as far as known.
    compacted: AtomicI64,
    faults: Faults,
}

// === impl EtcdOptions ===

impl EtcdOptions {
    /// The members at `endpoints`, and defaults for the rest.
    pub fn new(endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            root: DEFAULT_ROOT.to_owned(),
            tls: None,
            credentials: None,
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            request_timeout: DEFAULT_REQUEST_TIMEOUT,
            compaction: Some(DEFAULT_COMPACTION_AGE),
            base: 0,
            clock: Arc::new(MonotonicClock::default()),
            faults: Faults::default(),
        }
    }
}

// === impl Etcd ===

impl Etcd {
    /// Opens the store, and makes it if there is none.
    pub async fn connect(options: EtcdOptions) -> Result<Self, ConnectError> {
        let layout = Layout::new(&options.root)?;
        // Replicas begin with different members.
        let first = usize::from(Uuid::new_v4().as_bytes()[0]);
        let members = Members::new(connect::targets(&options)?, first);
        let attempt = options.request_timeout / ATTEMPTS;
        let opening = Patience { call: options.connect_timeout, attempt: attempt.min(options.connect_timeout) };
        let identity = connect::open(&members, &layout, &options, opening).await?;
        let engine = Arc::new(Engine {
            members,
            layout,
            identity,
            patience: Patience { call: options.request_timeout, attempt },
            // The first state, in which there is nothing yet.
            compacted: AtomicI64::new(1),
            faults: options.faults.clone(),
        });
        let compactor = options.compaction.map(|age| {
            let compactor = Compactor::new(engine.clone(), options.clock.clone(), age);
            tokio::spawn(compactor.run()).abort_handle()
        });
        Ok(Self { engine, options, opening, compactor })
    }

    /// Goes on with other certificates, if etcd lets in who has them: new connections are made with them, and what is under
    /// way on the old ones ends there. Otherwise everything stays as it is.
    pub async fn set_tls(&self, tls: TlsOptions) -> Result<(), ConnectError> {
        let options = EtcdOptions { tls: Some(tls), ..self.options.clone() };
        let targets = connect::targets(&options)?;
        let tried = Members::new(targets.clone(), 0);
        connect::try_out(&tried, &self.engine.layout, &options, self.opening).await?;
        self.engine.members.replace(targets);
        Ok(())
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        if let Some(compactor) = &self.compactor {
            compactor.abort();
        }
    }
}

#[async_trait]
impl Store for Etcd {
    async fn revision(&self) -> Result<Revision> {
        self.engine.newest().await
    }

    async fn get(&self, key: &Key, at: At) -> Result<Lookup> {
        self.engine.lookup(key, at).await
    }

    async fn list(&self, prefix: &Prefix, options: ListOptions) -> Result<Page> {
        self.engine.page(prefix, &options).await
    }

    async fn commit(&self, txn: Txn) -> Result<Revision> {
        self.engine.write(txn).await
    }

    async fn watch(&self, prefix: &Prefix, after: Revision) -> Result<Box<dyn Watch>> {
        Ok(Box::new(EtcdWatch::open(self.engine.clone(), prefix, after).await?))
    }

    async fn compact(&self, oldest: Revision) -> Result<()> {
        self.engine.forget(oldest).await
    }
}
