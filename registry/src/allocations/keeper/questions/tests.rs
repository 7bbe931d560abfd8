//! What is asked about projects, and who waits for the answers.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use bailiwick_api::quota::QuotaFacts;

use super::super::super::source::Labels;
use super::*;

/// Has no projects, and cannot be asked about `broken`.
struct Nothing;

#[async_trait]
impl ProjectQuotas for Nothing {
    fn is_ready(&self) -> bool {
        true
    }

    async fn labels(&self, _: &str) -> Result<Option<Labels>> {
        Ok(None)
    }

    async fn labels_now(&self, namespace: &str) -> Result<Option<Labels>> {
        assert_ne!(namespace, "broken");
        Ok(None)
    }

    fn namespaces(&self) -> BTreeMap<String, Labels> {
        BTreeMap::new()
    }

    fn project(&self, _: &str) -> Project {
        Project::default()
    }

    async fn look(&self, _: &str) -> Result<Vec<QuotaFacts>> {
        Ok(Vec::new())
    }

    async fn changed(&self) -> BTreeSet<String> {
        std::future::pending().await
    }
}

fn question(namespace: &str, needs_labels: bool) -> Question {
    Question {
        namespace: namespace.to_owned(),
        known: Project::default(),
        needs_labels,
        at: Revision::new(7),
        over: Vec::new(),
        ticket: NO_TICKET,
    }
}

/// QUOTA-21: a project that changes while it is asked about is looked at again with the answer, and not some time later; until
/// then it is missing, at the first place that someone looks for it.
#[tokio::test]
async fn whoever_comes_meanwhile_is_told_with_the_answer() {
    let elsewhere: Arc<dyn ProjectQuotas> = Arc::new(Nothing);
    let mut questions = Questions::default();
    for (came, needs_labels) in [(vec![NO_TICKET, 3, 5], true), (Vec::new(), false)] {
        questions.ask(&elsewhere, question("a", needs_labels));
        came.iter().for_each(|ticket| questions.note_again("a", *ticket));
        questions.note_again("b", 1);
        let first = came.iter().min().copied();
        let open: Vec<_> = questions.open().map(|(name, ticket)| (name.as_str(), ticket)).collect();
        assert_eq!(open, [("a", first.unwrap_or(NO_TICKET))]);
        let answer = questions.next().await;
        questions.keep(answer);
        let [answer] = &questions.take()[..] else { panic!("one answer") };
        let at = answer.told.as_ref().unwrap().labels_at;
        assert_eq!((answer.again, at), (first, if needs_labels { Revision::new(7) } else { Revision::ZERO }));
        assert!(!questions.is_open("a"));
    }
}

/// QUOTA-20, Q-02: a question that panics is answered: its project is asked about again, as after any failure, and no other one
/// waits for it.
#[tokio::test]
async fn a_question_that_panics_is_answered() {
    let elsewhere: Arc<dyn ProjectQuotas> = Arc::new(Nothing);
    let mut questions = Questions::default();
    questions.ask(&elsewhere, question("broken", true));
    questions.ask(&elsewhere, question("a", true));
    for _ in 0..2 {
        let answer = timeout(MAX_TIME, questions.next()).await.expect("there is an answer");
        questions.keep(answer);
    }
    for answer in questions.take() {
        assert_eq!(answer.told.is_err(), answer.namespace == "broken", "{}", answer.namespace);
        assert!(!questions.is_open(&answer.namespace));
    }
    assert_eq!(questions.open().count(), 0);
}
