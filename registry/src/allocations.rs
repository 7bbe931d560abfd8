//! Quota allocations: one cap over the ResourceQuotas of many projects.
//!
//! ```text
//!  write of a ResourceQuota ──▶ judge ──▶ desk ──one transaction──▶ ledger: accounts, totals
//!                                          ▲                          │
//!  what became of it ─────▶ keeper ────────┘                          ├──▶ status of the allocations
//!  labels of namespaces ──▶                                           └──▶ what projects are told
//! ```
//!
//! Where the ResourceQuotas are on another server, a write is allowed before it happens, and may then fail. So what it needs
//! is reserved with the decision, in one compare-and-write, and the keeper finds out what became of it. Where they are our own
//! it is the same: writers of one row would stand in line for each other, and reservations are written many at once.

mod desk;
mod draft;
mod evaluate;
mod guard;
mod judge;
mod keeper;
mod ledger;
mod metrics;
mod picture;
mod refusal;
mod source;
mod status;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bailiwick_machinery::GroupKind;
use tokio::sync::{mpsc, oneshot, watch};

pub use judge::QuotaChange;
pub use metrics::{Outcome, QuotaMetrics};
pub use refusal::Denial;
pub use source::{Labels, Project, ProjectQuotas};

pub(crate) use guard::AllocationRules;
pub(crate) use ledger::{Rows, Spec};
pub(crate) use status::project_usage;

use self::desk::{Desk, Done, MAX_WAITING, Request, Task};
use self::keeper::Keeper;
use self::ledger::Book;
use self::source::OwnProjects;
use crate::authorization::Authorizer;
use crate::error::{Error, Result};
use crate::registry::Registry;

/// The group of the kinds.
pub(crate) const GROUP: &str = "quota.bailiwick.dev";
/// Its version.
pub(crate) const VERSION: &str = "v1alpha1";
/// The plural of allocations.
pub(crate) const PLURAL: &str = "resourcequotaallocations";

/// How long the keeper waits after something failed.
const PAUSE: Duration = Duration::from_millis(500);

/// Holds the ResourceQuotas of all projects to the allocations.
pub struct Allocations {
    authorizer: Arc<dyn Authorizer>,
    /// Who knows the projects, if they are not in our own store.
    elsewhere: Option<Arc<dyn ProjectQuotas>>,
    /// whoever wants something decided --request--> desk
    requests_tx: mpsc::Sender<Request>,
    /// Until the desk is opened.
    requests_rx: Mutex<Option<mpsc::Receiver<Request>>>,
    /// keeper --up to which revision everything is told--> writers of ResourceQuotas
    through_tx: watch::Sender<u64>,
    metrics: Arc<QuotaMetrics>,
}

// === impl Allocations ===

impl Allocations {
    /// Where ResourceQuotas are our own, or another server's. Nothing is decided before [`Allocations::open`].
    pub fn new(authorizer: Arc<dyn Authorizer>, elsewhere: Option<Arc<dyn ProjectQuotas>>) -> Arc<Self> {
        let (requests_tx, requests_rx) = mpsc::channel(MAX_WAITING);
        let (through_tx, _) = watch::channel(0);
        let requests_rx = Mutex::new(Some(requests_rx));
        let metrics = Arc::default();
        Arc::new(Self { authorizer, elsewhere, requests_tx, requests_rx, through_tx, metrics })
    }

    /// Begins to decide. Writers of our own ResourceQuotas wait until what they wrote is told, which [`Allocations::keep`]
    /// does.
    pub fn open(self: &Arc<Self>, registry: &Arc<Registry>) -> Result<()> {
        let taken = self.requests_rx.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(requests_rx) = taken else { return Ok(()) };
        let own = self.own(registry);
        if own.is_some() {
            registry.writers_wait_for(GroupKind::new("", "ResourceQuota"), self.through_tx.subscribe());
        }
        let (rows, elsewhere, book) = (Rows::new()?, self.elsewhere.clone(), Book::default());
        let metrics = self.metrics.clone();
        let desk = Desk { registry: registry.clone(), rows, own, elsewhere, book, metrics };
        registry.spawn(desk.run(requests_rx));
        Ok(())
    }

    /// Keeps accounts and status up to date with what there is, for as long as it is polled. Of several servers one is
    /// enough; more do no harm.
    pub async fn keep(self: Arc<Self>, registry: Arc<Registry>) {
        loop {
            let kept = match Keeper::new(&self, &registry).await {
                Ok(keeper) => keeper.run().await,
                Err(error) => Err(error),
            };
            if let Err(error) = kept {
                tracing::warn!(error = &error as &dyn std::error::Error, "quota allocations are counted anew");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// What operators can see of it.
    pub fn metrics(&self) -> &QuotaMetrics {
        &self.metrics
    }

    fn own(&self, registry: &Registry) -> Option<OwnProjects> {
        OwnProjects::find(registry).filter(|_| self.elsewhere.is_none())
    }

    async fn ask(&self, task: Task) -> Result<Done> {
        let closed = || Error::Failed { what: "a decision about quotas", why: "the server is stopping".to_owned() };
        let (answer_tx, answer_rx) = oneshot::channel();
        self.requests_tx.send(Request { task, answer_tx }).await.map_err(|_| closed())?;
        answer_rx.await.map_err(|_| closed())?
    }
}
