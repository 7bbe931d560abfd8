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
use std::time::{Duration, UNIX_EPOCH};

use bailiwick_machinery::GroupKind;
use bailiwick_storage::Revision;
use tokio::sync::{mpsc, oneshot, watch};

pub use judge::QuotaChange;
pub use metrics::{Outcome, QuotaMetrics};
pub use refusal::Denial;
pub use source::{Labels, Project, ProjectQuotas};

pub(crate) use guard::AllocationRules;
pub(crate) use ledger::{Rows, Spec, Total};
pub(crate) use status::{project_usage, weight};

use self::desk::{Desk, Done, Inbox, MAX_WAITING, Request, Task};
use self::keeper::Keeper;
use self::ledger::Book;
use self::picture::Reserved;
use self::source::OwnProjects;
use crate::authorization::Authorizer;
use crate::context::{Clock, SystemClock};
use crate::error::{Error, Result};
use crate::registry::Registry;

/// The group of the kinds.
pub(crate) const GROUP: &str = "quota.bailiwick.dev";
/// Its version.
pub(crate) const VERSION: &str = "v1alpha1";
/// The plural of allocations.
pub(crate) const PLURAL: &str = "resourcequotaallocations";

/// How often everything is looked at.
const RESYNC_EVERY: Duration = Duration::from_secs(300);
/// After which time a reservation has come to nothing, where what there is is certain: it is released within five seconds.
const RELEASE_OWN: Duration = Duration::from_secs(4);
/// The same where another server is followed; then it is asked.
const RELEASE_ELSEWHERE: Duration = Duration::from_secs(60);
/// How long the keeper waits after something failed.
const PAUSE: Duration = Duration::from_millis(500);

/// Holds the ResourceQuotas of all projects to the allocations.
pub struct Allocations {
    authorizer: Arc<dyn Authorizer>,
    /// Who knows the projects, if they are not in our own store.
    elsewhere: Option<Arc<dyn ProjectQuotas>>,
    /// whoever wants a decision --request--> desk
    reviews_tx: mpsc::Sender<Request>,
    /// keeper --request--> desk
    upkeep_tx: mpsc::Sender<Request>,
    /// Until the desk is opened.
    inbox: Mutex<Option<Inbox>>,
    /// keeper --up to which revision everything is told--> writers of ResourceQuotas
    through_tx: watch::Sender<u64>,
    metrics: Arc<QuotaMetrics>,
    pace: Pace,
}

/// When accounts are looked at though nothing has changed.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How often all of them are.
    pub resync_every: Duration,
    /// After which time it is found out what became of a reservation.
    pub release_after: Duration,
}

// === impl Allocations ===

impl Allocations {
    /// Where ResourceQuotas are our own, or another server's. Nothing is decided before [`Allocations::open`].
    pub fn new(authorizer: Arc<dyn Authorizer>, elsewhere: Option<Arc<dyn ProjectQuotas>>) -> Arc<Self> {
        let release_after = if elsewhere.is_none() { RELEASE_OWN } else { RELEASE_ELSEWHERE };
        Self::with_pace(authorizer, elsewhere, Pace { resync_every: RESYNC_EVERY, release_after })
    }

    /// The same at another pace.
    pub fn with_pace(
        authorizer: Arc<dyn Authorizer>,
        elsewhere: Option<Arc<dyn ProjectQuotas>>,
        pace: Pace,
    ) -> Arc<Self> {
        let (reviews_tx, reviews_rx) = mpsc::channel(MAX_WAITING);
        let (upkeep_tx, upkeep_rx) = mpsc::channel(MAX_WAITING);
        let (through_tx, _) = watch::channel(0);
        let inbox = Mutex::new(Some(Inbox { reviews_rx, upkeep_rx }));
        let metrics = Arc::default();
        Arc::new(Self { authorizer, elsewhere, reviews_tx, upkeep_tx, inbox, through_tx, metrics, pace })
    }

    /// Begins to decide. Writers of our own ResourceQuotas wait until what they wrote is told, which [`Allocations::keep`]
    /// does.
    pub fn open(self: &Arc<Self>, registry: &Arc<Registry>) -> Result<()> {
        let taken = self.inbox.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(inbox) = taken else { return Ok(()) };
        let own = self.own(registry);
        if own.is_some() {
            registry.writers_wait_for(GroupKind::new("", "ResourceQuota"), self.through_tx.subscribe());
        }
        let (rows, elsewhere, book) = (Rows::new()?, self.elsewhere.clone(), Book::default());
        let desk = Desk {
            registry: registry.clone(),
            rows,
            own,
            elsewhere,
            book,
            metrics: self.metrics.clone(),
            reached: Revision::ZERO,
            is_upkeep_late: false,
        };
        registry.spawn(desk.run(inbox));
        Ok(())
    }

    /// Keeps accounts and status up to date with what there is, for as long as it is polled. Of several servers one is
    /// enough; more do no harm.
    pub async fn keep(self: Arc<Self>, registry: Arc<Registry>) {
        // How long something is reserved already is known also when all is counted anew.
        let mut reserved = Reserved::default();
        loop {
            let kept = match Keeper::new(&self, &registry, &mut reserved).await {
                Ok(keeper) => keeper.run().await,
                Err(error) => Err(error),
            };
            self.metrics.restarted();
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
        let requests_tx = match task {
            Task::Reserve { .. } => &self.reviews_tx,
            Task::Settle { .. } | Task::Count { .. } | Task::Forget(_) => &self.upkeep_tx,
        };
        requests_tx.send(Request { task, answer_tx }).await.map_err(|_| closed())?;
        answer_rx.await.map_err(|_| closed())?
    }
}

/// Now, in seconds since 1970.
fn seconds() -> i64 {
    let since = SystemClock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
