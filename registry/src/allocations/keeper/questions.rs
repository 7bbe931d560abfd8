//! What another server is asked about projects, a few at a time and beside all else: it may take its time, or fail.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_api::quota::Reservation;
use bailiwick_storage::Revision;
use futures::FutureExt;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::super::source::{Project, ProjectQuotas, Told};
use super::sweep::{NO_TICKET, Ticket};
use crate::error::{Error, Result};

/// How many are asked at once.
const MAX_ASKED: usize = 16;
/// How long an answer may take.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Questions and their answers.
#[derive(Default)]
pub(super) struct Questions {
    /// What is to be asked yet.
    waiting: VecDeque<Question>,
    asked: JoinSet<Answer>,
    /// The projects that are asked about, and not answered yet.
    open: BTreeMap<String, Open>,
    answers: Vec<Answer>,
}

/// A project that is asked about.
struct Open {
    /// Its place in the sweep.
    ticket: Ticket,
    /// The same, of those who wanted to look at it since.
    again: Option<Ticket>,
}

/// What is to be found out about a project.
pub(super) struct Question {
    pub(super) namespace: String,
    /// What is known of it.
    pub(super) known: Project,
    /// Whether its labels are to be asked for: before an account is given up, as watches tell of namespaces and of
    /// ResourceQuotas in no order.
    pub(super) needs_labels: bool,
    /// Up to which state of our store whatever is written down is known here.
    pub(super) at: Revision,
    /// Reservations that are over, unless their writes are found to have happened.
    pub(super) over: Vec<Reservation>,
    pub(super) ticket: Ticket,
}

/// What was found out.
pub(super) struct Answer {
    pub(super) namespace: String,
    pub(super) over: Vec<Reservation>,
    pub(super) ticket: Ticket,
    /// The place of those who wanted to look at it since, if someone did: it may be another one by now.
    pub(super) again: Option<Ticket>,
    pub(super) told: Result<Told>,
}

// === impl Questions ===

impl Questions {
    /// Whether there is no answer yet about a project.
    pub(super) fn is_open(&self, namespace: &str) -> bool {
        self.open.contains_key(namespace)
    }

    /// The projects that are asked about, and their places in the sweep.
    pub(super) fn open(&self) -> impl Iterator<Item = (&String, Ticket)> {
        self.open.iter().map(|(namespace, open)| (namespace, open.ticket.min(open.again.unwrap_or(NO_TICKET))))
    }

    /// Notes that a project is to be looked at again as soon as there is an answer.
    pub(super) fn note_again(&mut self, namespace: &str, ticket: Ticket) {
        if let Some(open) = self.open.get_mut(namespace) {
            open.again = Some(open.again.map_or(ticket, |again| again.min(ticket)));
        }
    }

    pub(super) fn ask(&mut self, elsewhere: &Arc<dyn ProjectQuotas>, question: Question) {
        self.open.insert(question.namespace.clone(), Open { ticket: question.ticket, again: None });
        self.waiting.push_back(question);
        self.go_on(elsewhere);
    }

    /// Asks what is to be asked yet, as far as that can be.
    pub(super) fn go_on(&mut self, elsewhere: &Arc<dyn ProjectQuotas>) {
        while self.asked.len() < MAX_ASKED
            && let Some(question) = self.waiting.pop_front()
        {
            self.asked.spawn(question.put(elsewhere.clone()));
        }
    }

    /// The next answer; never if nothing is asked. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Answer {
        loop {
            match self.asked.join_next().await {
                Some(Ok(answer)) => return answer,
                // Only when the server stops: one that panics is an answer, too.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    pub(super) fn keep(&mut self, answer: Answer) {
        self.answers.push(answer);
    }

    pub(super) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The answers there are.
    pub(super) fn take(&mut self) -> Vec<Answer> {
        let mut answers = std::mem::take(&mut self.answers);
        for answer in &mut answers {
            answer.again = self.open.remove(&answer.namespace).and_then(|open| open.again);
        }
        answers
    }
}

// === impl Question ===

impl Question {
    async fn put(self, elsewhere: Arc<dyn ProjectQuotas>) -> Answer {
        let Self { namespace, known, needs_labels, at, over, ticket } = self;
        let asking = async {
            let (mut project, mut labels_at) = (known, Revision::ZERO);
            if !over.is_empty() {
                project.quotas = elsewhere.look(&namespace).await?;
            }
            if needs_labels {
                project.labels = elsewhere.labels_now(&namespace).await?;
                labels_at = at;
            }
            Ok(Told { project, labels_at })
        };
        let failed = |why| Err(Error::Failed { what: "a question about a project", why });
        // A project without an answer would be open for ever, and never looked at again.
        let told = match timeout(MAX_TIME, AssertUnwindSafe(asking).catch_unwind()).await {
            Ok(Ok(told)) => told,
            Ok(Err(_panic)) => failed("asking panicked".to_owned()),
            Err(_elapsed) => failed(format!("no answer in {MAX_TIME:?}")),
        };
        Answer { namespace, over, ticket, again: None, told }
    }
}

#[cfg(test)]
mod tests;
