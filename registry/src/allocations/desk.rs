//! Where all decisions about quotas are made, one batch after the other: whatever waits when the last batch is written is
//! the next one, and one transaction. So however many write at once, the row that all of them change costs one write.

use std::sync::Arc;

use bailiwick_api::quota::Change;
use bailiwick_machinery::GroupResource;
use bailiwick_storage::{self as storage, At, Revision, Store};
use tokio::sync::{mpsc, oneshot};

use super::draft::Draft;
use super::evaluate::{Evaluation, Settled, Verdict};
use super::ledger::{Book, Rows};
use super::metrics::QuotaMetrics;
use super::source::{Labels, OwnProjects, Project, ProjectQuotas};
use super::{GROUP, PLURAL};
use crate::error::{Error, Result};
use crate::registry::Registry;

/// How many can wait.
pub(super) const MAX_WAITING: usize = 4_096;
/// How many are looked at together.
const MAX_BATCH: usize = 256;
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
        project: Option<Project>,
        released_before: i64,
    },
    /// Add up what the projects of an allocation have.
    Count(String),
    /// Remove what is left of an allocation that is no more.
    Forget(String),
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
}

/// Works off what is asked for.
pub(super) struct Desk {
    pub(super) registry: Arc<Registry>,
    pub(super) rows: Rows,
    pub(super) own: Option<OwnProjects>,
    pub(super) elsewhere: Option<Arc<dyn ProjectQuotas>>,
    pub(super) book: Book,
    pub(super) metrics: Arc<QuotaMetrics>,
}

// === impl Desk ===

impl Desk {
    pub(super) async fn run(mut self, mut requests_rx: mpsc::Receiver<Request>) {
        let mut waiting = Vec::new();
        loop {
            if waiting.is_empty() && requests_rx.recv_many(&mut waiting, MAX_BATCH).await == 0 {
                return;
            }
            while waiting.len() < MAX_BATCH
                && let Ok(request) = requests_rx.try_recv()
            {
                waiting.push(request);
            }
            // Whoever has gone needs no answer, and nothing is to be reserved for them.
            waiting.retain(|request| !request.answer_tx.is_closed());
            waiting = self.serve(waiting).await;
        }
    }

    /// Serves as many as fit into one transaction, and gives back the others.
    async fn serve(&mut self, waiting: Vec<Request>) -> Vec<Request> {
        for _ in 0..MAX_ATTEMPTS {
            match self.attempt(&waiting).await {
                Ok(Some(decided)) => return answer(waiting, decided),
                Ok(None) => self.metrics.conflicted(),
                Err(error) => {
                    let why = error.to_string();
                    tracing::warn!(error = &error as &dyn std::error::Error, "quotas cannot be decided about");
                    waiting.into_iter().for_each(|request| {
                        let error = Error::Failed { what: "a decision about quotas", why: why.clone() };
                        let _ = request.answer_tx.send(Err(error));
                    });
                    return Vec::new();
                }
            }
        }
        for request in waiting {
            let resource = GroupResource::new(GROUP, PLURAL);
            let _ = request.answer_tx.send(Err(Error::Contended { resource, name: String::new() }));
        }
        Vec::new()
    }

    /// What is decided about each, once it is written; none if someone else wrote at the same time.
    async fn attempt(&mut self, waiting: &[Request]) -> Result<Option<Vec<Done>>> {
        let state = self.registry.cache().snapshot(At::Latest).await.map_err(failed)?;
        self.book.refresh(&self.rows, &state)?;
        let mut draft = Draft::of(&state);
        let mut decided = Vec::with_capacity(waiting.len());
        for request in waiting {
            let mut evaluation = Evaluation { rows: &self.rows, book: &self.book, draft: &mut draft };
            let (mut verdict, mut released) = (Verdict::Fits, 0);
            let finished = match &request.task {
                Task::Reserve { namespace, labels, change, is_trial } => {
                    let project = match labels {
                        Some(labels) => {
                            let known = self.elsewhere.as_ref().map(|elsewhere| elsewhere.project(namespace));
                            Project { labels: Some(labels.clone()), ..known.unwrap_or_default() }
                        }
                        None => self.own_project(&state, namespace)?,
                    };
                    // Where there is no namespace, the write is refused for that; and some are no projects.
                    if let Some(labels) = &project.labels {
                        verdict = evaluation.reserve(namespace, labels, &project.quotas, change, *is_trial)?;
                    }
                    true
                }
                Task::Settle { namespace, project, released_before } => {
                    let project = match project {
                        Some(project) => project.clone(),
                        None => self.own_project(&state, namespace)?,
                    };
                    let settled = evaluation.settle(namespace, &project, *released_before)?;
                    let Settled { finished, released: ended } = settled;
                    released = ended;
                    finished
                }
                Task::Count(allocation) => evaluation.count(allocation)?,
                Task::Forget(allocation) => evaluation.forget(allocation)?,
            };
            decided.push(Done { verdict, revision: state.revision(), finished, released });
        }
        let Some(txn) = draft.into_txn() else { return Ok(Some(decided)) };
        match self.registry.cache().commit(txn).await {
            Ok(revision) => {
                decided.iter_mut().for_each(|done| done.revision = revision);
                Ok(Some(decided))
            }
            Err(storage::Error::Conflict(_)) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    fn own_project(&self, state: &storage::cache::Snapshot, namespace: &str) -> Result<Project> {
        self.own.as_ref().map_or_else(|| Ok(Project::default()), |own| own.project(state, namespace))
    }
}

/// Tells everyone who was served, and gives back the others.
fn answer(waiting: Vec<Request>, decided: Vec<Done>) -> Vec<Request> {
    let mut postponed = Vec::new();
    for (request, done) in waiting.into_iter().zip(decided) {
        if matches!(done.verdict, Verdict::Postponed) {
            postponed.push(request);
        } else {
            // Nobody waits any more if this fails, and what was reserved is released later.
            let _ = request.answer_tx.send(Ok(done));
        }
    }
    postponed
}

pub(super) fn failed(source: storage::Error) -> Error {
    Error::Storage { operation: "update", resource: GroupResource::new(GROUP, PLURAL), source }
}
