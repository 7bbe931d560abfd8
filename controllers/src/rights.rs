//! What users may do at the host, asked when something is about to be done because of what they wrote.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bailiwick_api::Requester;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::Instant;

/// How many answers are remembered at most.
const MAX_REMEMBERED: usize = 10_000;

/// A host that is asked, and its answers for as long as they are taken for true.
pub(crate) struct Rights {
    host: Client,
    remembered: Duration,
    answers: Mutex<Answers>,
}

/// What was answered.
#[derive(Default)]
struct Answers {
    /// How often all of them were forgotten: what was asked before that is not remembered after it.
    forgotten: u64,
    /// By the question and who it is about, until when.
    known: HashMap<Vec<String>, (bool, Instant)>,
}

/// What someone wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question<'q> {
    pub(crate) verb: &'q str,
    pub(crate) group: &'q str,
    pub(crate) resource: &'q str,
    pub(crate) namespace: &'q str,
    pub(crate) name: &'q str,
}

// === impl Rights ===

impl Rights {
    pub(crate) fn new(host: Client, remembered: Duration) -> Self {
        Self { host, remembered, answers: Mutex::default() }
    }

    /// Whether someone may do something. Whoever cannot be asked has allowed nothing.
    pub(crate) async fn may(&self, who: &Requester, question: Question<'_>) -> kube::Result<bool> {
        let (key, now) = (question.about(who), Instant::now());
        let forgotten = {
            let answers = self.answers();
            match answers.known.get(&key) {
                Some((answer, until)) if now < *until => return Ok(*answer),
                _ => answers.forgotten,
            }
        };
        let answer = ask(&self.host, who, question).await?;
        let mut answers = self.answers();
        if answers.forgotten == forgotten {
            if answers.known.len() >= MAX_REMEMBERED {
                answers.known.clear();
            }
            answers.known.insert(key, (answer, now + self.remembered));
        }
        Ok(answer)
    }

    /// Rights have changed: everything is asked anew.
    pub(crate) fn forget(&self) {
        let mut answers = self.answers();
        answers.forgotten += 1;
        answers.known.clear();
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Question ===

impl Question<'_> {
    /// The question and who it is about, in one: what differs in any of it is another.
    fn about(self, who: &Requester) -> Vec<String> {
        let Question { verb, group, resource, namespace, name } = self;
        let asked = [verb, group, resource, namespace, name, &who.username, &who.uid].map(str::to_owned);
        // As one text: what is a group to one user must not be something else to another.
        let came = format!("{:?}", (&who.groups, &who.extra));
        asked.into_iter().chain([came]).collect()
    }
}

async fn ask(host: &Client, who: &Requester, question: Question<'_>) -> kube::Result<bool> {
    let text = |text: &str| Some(text.to_owned());
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: text(&who.username),
            uid: text(&who.uid),
            groups: Some(who.groups.clone()),
            extra: who.extra.clone(),
            resource_attributes: Some(ResourceAttributes {
                verb: text(question.verb),
                group: text(question.group),
                resource: text(question.resource),
                namespace: text(question.namespace),
                name: text(question.name),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(host.clone());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

#[cfg(test)]
mod tests;
