//! Where all decisions about quotas are made, one batch after the other: whatever waits when the last batch is written is
//! the next one, and one transaction. So however many write at once, the row that all of them change costs one write.
//!
//! Whoever wants a decision stands before whoever keeps the books, of whom only a few come with each batch.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_api::quota::{Change, Reservation};
use bailiwick_machinery::GroupResource;
use bailiwick_storage::cache::Snapshot;
use bailiwick_storage::{self as storage, At, Key, Revision, Store};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::draft::Draft;
use super::evaluate::{Evaluation, Place, Settled, Verdict};
use super::ledger::{Book, Rows};
use super::metrics::QuotaMetrics;
use super::source::{Labels, OwnProjects, Project, ProjectQuotas, Told};
use super::{GROUP, PLURAL};
use crate::error::{Error, Result};
use crate::kinds::QuotaCounts;
use crate::registry::Registry;

/// How many can wait.
pub(super) const MAX_WAITING: usize = 4_096;
/// How many are looked at together.
const MAX_BATCH: usize = 256;
/// How many who keep the books are looked at together while nobody wants a decision: whoever comes then waits for them.
const UPKEEP_ALONE: usize = 64;
/// For how long after a decision the next one is expected soon.
const BUSY: Duration = Duration::from_millis(20);
/// How long whoever keeps the books waits then, to be written together with the next decision: that would wait for two
/// transactions otherwise.
const COMPANY: Duration = Duration::from_millis(4);
/// How many who keep the books are looked at together with those who wait for a decision: these wait for the others, too.
const UPKEEP_BESIDE: usize = 16;
/// How often a batch is begun anew because another server was faster.
const MAX_ATTEMPTS: usize = 50;

/// Something to decide or to write down.
pub(super) struct Request {
    pub(super) task: Task,
    pub(super) answer_tx: oneshot::Sender<Result<Done>>,
}

/// What is to be done.
pub(super) enum Task {
    /// Decide about a change of a ResourceQuota.
    Reserve {
        namespace: String,
        /// The labels of the namespace, where they are not in our own store.
        labels: Option<Labels>,
        change: Box<Change>,
        is_trial: bool,
    },
    /// Bring the accounts of a project in line with its ResourceQuotas.
    Settle {
        namespace: String,
        /// The project, where it is not in our own store.
        told: Option<Told>,
        /// Reservations that end unless their writes have happened.
        over: Vec<Reservation>,
    },
    /// Add up what the projects of an allocation have, all of which were settled since it had this epoch.
    Count { allocation: String, epoch: String },
    /// Remove what is left of an allocation that is no more.
    Forget(String),
}

/// How requests come to the desk.
pub(super) struct Inbox {
    /// whoever wants a decision --request--> desk
    pub(super) reviews_rx: mpsc::Receiver<Request>,
    /// whoever keeps the books --request--> desk
    pub(super) upkeep_rx: mpsc::Receiver<Request>,
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Done {
    /// What was decided.
    pub(super) verdict: Verdict,
    /// The state in which it is so.
    pub(super) revision: Revision,
    /// Whether nothing is left to do.
    pub(super) finished: bool,
    /// How many reservations have come to nothing.
    pub(super) released: usize,
    /// Whether the project is to be looked at again, as what it uses may become less without a word.
    pub(super) is_ahead: bool,
    /// Whether it has an account that is given up only once its labels were asked for.
    pub(super) needs_labels: bool,
}

/// Why nothing was decided.
enum Fault {
    /// The others can be served, without those who ask for something that cannot be written down or read.
    OfSome(Error),
    /// Nobody can.
    OfAll(Error),
}

/// Works off what is asked for.
pub(super) struct Desk {
    pub(super) registry: Arc<Registry>,
    pub(super) rows: Rows,
    pub(super) own: Option<OwnProjects>,
    pub(super) elsewhere: Option<Arc<dyn ProjectQuotas>>,
    pub(super) book: Book,
    pub(super) metrics: Arc<QuotaMetrics>,
    /// The newest state that is known of.
    pub(super) reached: Revision,
    /// Whether there was no room left for someone who keeps the books: then they come first, once.
    pub(super) is_upkeep_late: bool,
}

// === impl Fault ===

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::OfAll(error)
    }
}

// === impl Inbox ===

impl Inbox {
    /// Waits for someone, and takes as many as are looked at together. Nobody will come any more if there is none.
    async fn take(
        &mut self,
        postponed: Vec<Request>,
        is_upkeep_late: bool,
        reviewed_at: Option<Instant>,
    ) -> Vec<Request> {
        let (mut reviews, mut upkeep) = (postponed, Vec::new());
        if reviews.is_empty() {
            tokio::select! {
                biased;
                Some(review) = self.reviews_rx.recv() => reviews.push(review),
                Some(request) = self.upkeep_rx.recv() => upkeep.push(request),
                else => return Vec::new(),
            }
        }
        let is_busy = || reviewed_at.is_some_and(|at| at.elapsed() < BUSY);
        if reviews.is_empty()
            && is_busy()
            && let Ok(Some(review)) = timeout(COMPANY, self.reviews_rx.recv()).await
        {
            reviews.push(review);
        }
        fill(&mut reviews, &mut self.reviews_rx, MAX_BATCH);
        fill(&mut upkeep, &mut self.upkeep_rx, if reviews.is_empty() { UPKEEP_ALONE } else { UPKEEP_BESIDE });
        let (mut first, mut last) = if is_upkeep_late { (upkeep, reviews) } else { (reviews, upkeep) };
        first.append(&mut last);
        first
    }
}

fn fill(waiting: &mut Vec<Request>, requests_rx: &mut mpsc::Receiver<Request>, most: usize) {
    while waiting.len() < most
        && let Ok(request) = requests_rx.try_recv()
    {
        waiting.push(request);
    }
}

// === impl Desk ===

impl Desk {
    pub(super) async fn run(mut self, mut inbox: Inbox) {
        let (mut postponed, mut reviewed_at) = (Vec::new(), None);
        loop {
            let mut waiting = inbox.take(postponed, self.is_upkeep_late, reviewed_at).await;
            if waiting.is_empty() {
                return;
            }
            // Whoever has gone needs no answer, and nothing is to be reserved for them.
            waiting.retain(|request| !request.answer_tx.is_closed());
            let has_reviews = waiting.iter().any(|request| matches!(request.task, Task::Reserve { .. }));
            postponed = self.serve(waiting).await;
            if has_reviews {
                reviewed_at = Some(Instant::now());
            }
        }
    }

    /// Serves as many as fit into one transaction, and gives back the others. Where something cannot be written because of what
    /// some of them ask for, the others are served without those: they are found by halving.
    async fn serve(&mut self, waiting: Vec<Request>) -> Vec<Request> {
        let (mut parts, mut postponed) = (vec![waiting], Vec::new());
        while let Some(mut part) = parts.pop() {
            match self.serve_together(&part).await {
                Ok(decided) => postponed.append(&mut answer(part, decided)),
                Err(Fault::OfSome(_)) if part.len() > 1 => {
                    parts.push(part.split_off(part.len() / 2));
                    parts.push(part);
                }
                Err(Fault::OfAll(error) | Fault::OfSome(error)) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "quotas cannot be decided about");
                    for request in part {
                        let _ = request.answer_tx.send(Err(again(&error)));
                    }
                }
            }
        }
        postponed
    }

    /// What is decided about those who fit into one transaction, once it is written.
    async fn serve_together(&mut self, waiting: &[Request]) -> Result<Vec<Option<Done>>, Fault> {
        // To know how new the store is costs a question to it, so what is known already is tried first. Our own projects are
        // part of the state, and nothing tells later whether they were the same.
        let first = if self.own.is_none() { At::NotOlderThan(self.reached) } else { At::Latest };
        for at in [first].into_iter().chain(std::iter::repeat_n(At::Latest, MAX_ATTEMPTS - 1)) {
            match self.attempt(waiting, at).await? {
                Some(decided) => {
                    // Once: what is long would otherwise be before everyone else until it is done.
                    let is_late = decided.iter().flatten().any(|done| !done.finished);
                    self.is_upkeep_late = is_late && !self.is_upkeep_late;
                    return Ok(decided);
                }
                None => self.metrics.conflicted(),
            }
        }
        Err(Fault::OfAll(Error::Overtaken { what: "quotas" }))
    }

    /// What is decided about each, once it is written, but for those who must wait for the next transaction; none if someone
    /// else wrote at the same time.
    async fn attempt(&mut self, waiting: &[Request], at: At) -> Result<Option<Vec<Option<Done>>>, Fault> {
        let state = self.registry.cache().snapshot(at).await.map_err(failed)?;
        self.book.refresh(&self.rows, &state)?;
        let (mut draft, counts) = (Draft::of(&state), QuotaCounts::of(&self.registry, &state));
        let mut answers = Vec::with_capacity(waiting.len());
        let mut is_full = false;
        for request in waiting {
            // Whoever would not be served together with the others is looked at when their turn comes.
            let done = match (&request.task, is_full) {
                (Task::Reserve { .. }, true) => None,
                (task, _) => self.work_off(task, &mut draft, &counts).map_err(Fault::OfSome)?,
            };
            is_full |= done.is_none();
            answers.push(done);
        }
        for done in answers.iter_mut().flatten() {
            let Verdict::Fits(accounts) = &mut done.verdict else { continue };
            for (account, at) in accounts.iter_mut().filter(|(account, _)| !draft.changed().contains_key(account)) {
                *at = revision(&state, account);
            }
        }
        if !draft.writes() && at != At::Latest {
            // It is as if it had been decided in the newest state if all it was decided by is still the same there.
            let newest = self.registry.cache().snapshot(At::Latest).await.map_err(failed)?;
            self.reached = newest.revision();
            return Ok((draft.holds_in(&newest) && self.book.is_of(&self.rows, &newest)?).then_some(answers));
        }
        // It happens just if all it was decided by is still the same, so there is no need to see it happen before anyone is
        // told: who is served next waits for that.
        let Some(txn) = draft.into_txn() else { return Ok(Some(answers)) };
        match self.registry.cache().commit(txn.require(self.rows.book()?, self.book.version())).await {
            Ok(revision) => {
                self.reached = revision;
                answers.iter_mut().flatten().for_each(|done| done.revision = revision);
                Ok(Some(answers))
            }
            Err(storage::Error::Conflict(_)) => Ok(None),
            Err(error @ storage::Error::Invalid(_)) => Err(Fault::OfSome(failed(error))),
            Err(error) => Err(failed(error).into()),
        }
    }

    /// What comes of a task; none if there is no room for it in this transaction.
    fn work_off(&self, task: &Task, draft: &mut Draft<'_>, counts: &QuotaCounts<'_>) -> Result<Option<Done>> {
        let revision = draft.state.revision();
        let mut done = Done {
            verdict: Verdict::Fits(Vec::new()),
            revision,
            finished: true,
            released: 0,
            is_ahead: false,
            needs_labels: false,
        };
        let mut evaluation = Evaluation { rows: &self.rows, book: &self.book, draft };
        match task {
            Task::Reserve { namespace, labels: Some(labels), change, is_trial } => {
                let known =
                    || self.elsewhere.as_ref().map(|elsewhere| elsewhere.project(namespace)).unwrap_or_default();
                let quotas = || {
                    let Project { quotas, horizon, .. } = known();
                    (quotas, horizon)
                };
                let place = Place { namespace, labels, quotas: &quotas };
                let Some(verdict) = evaluation.reserve(&place, change, *is_trial)? else { return Ok(None) };
                done.verdict = verdict;
            }
            Task::Reserve { namespace, labels: None, change, is_trial } => {
                let Project { labels, quotas, horizon, .. } = self.own_project(counts, namespace)?;
                let change = change.as_ref().clone().with_used(&quotas);
                // Where there is no namespace, the write is refused for that; and some are no projects.
                let Some(labels) = &labels else { return Ok(Some(done)) };
                let place = Place { namespace, labels, quotas: &|| (quotas.clone(), horizon) };
                let Some(verdict) = evaluation.reserve(&place, &change, *is_trial)? else { return Ok(None) };
                done.verdict = verdict;
            }
            Task::Settle { namespace, told: Some(Told { project, labels_at }), over } => {
                let Settled { finished, released, needs_labels } =
                    evaluation.settle(namespace, project, Some(*labels_at), over)?;
                (done.finished, done.released, done.needs_labels) = (finished, released, needs_labels);
                done.is_ahead = project.is_ahead;
            }
            Task::Settle { namespace, told: None, over } => {
                let project = self.own_project(counts, namespace)?;
                let Settled { finished, released, .. } = evaluation.settle(namespace, &project, None, over)?;
                (done.finished, done.released, done.is_ahead) = (finished, released, project.is_ahead);
            }
            Task::Count { allocation, epoch } => done.finished = evaluation.count(allocation, epoch)?,
            Task::Forget(allocation) => done.finished = evaluation.forget(allocation)?,
        }
        Ok(Some(done))
    }

    fn own_project(&self, counts: &QuotaCounts<'_>, namespace: &str) -> Result<Project> {
        self.own.as_ref().map_or_else(|| Ok(Project::default()), |own| own.project(counts, namespace))
    }
}

/// The revision of a row in a state.
fn revision(state: &Snapshot, key: &Key) -> Option<Revision> {
    state.get(key).map(|row| row.revision())
}

/// Tells everyone who was served, and gives back the others.
fn answer(waiting: Vec<Request>, answers: Vec<Option<Done>>) -> Vec<Request> {
    let mut postponed = Vec::new();
    for (request, done) in waiting.into_iter().zip(answers) {
        match done {
            // Nobody waits any more if this fails, and what was reserved is released later.
            Some(done) => drop(request.answer_tx.send(Ok(done))),
            None => postponed.push(request),
        }
    }
    postponed
}

/// The same for everyone who waited. What the store could not do for now can be tried again, and clients are told so.
fn again(error: &Error) -> Error {
    match error {
        Error::Storage { operation, resource, source } => {
            Error::Storage { operation, resource: resource.clone(), source: source.clone() }
        }
        Error::Overtaken { what } => Error::Overtaken { what },
        error => Error::Failed { what: "a decision about quotas", why: error.to_string() },
    }
}

pub(super) fn failed(source: storage::Error) -> Error {
    Error::Storage { operation: "update", resource: GroupResource::new(GROUP, PLURAL), source }
}
