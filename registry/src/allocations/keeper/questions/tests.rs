//! What is asked about projects, and who waits for the answers.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use bailiwick_api::quota::QuotaFacts;

use super::super::super::source::Labels;
use super::*;

/// Has no projects.
struct Nothing;

#[async_trait]
impl ProjectQuotas for Nothing {
    fn is_ready(&self) -> bool {
        true
    }

    async fn labels(&self, _: &str) -> Result<Option<Labels>> {
        Ok(None)
    }

    async fn labels_now(&self, _: &str) -> Result<Option<Labels>> {
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

/// QUOTA-21: a project that changes while it is asked about is looked at again with the answer, and not some time later; until
/// then it is missing, at the first place that someone looks for it.
#[tokio::test]
async fn whoever_comes_meanwhile_is_told_with_the_answer() {
    let elsewhere: Arc<dyn ProjectQuotas> = Arc::new(Nothing);
    let question = |needs_labels| Question {
        namespace: "a".to_owned(),
        known: Project::default(),
        needs_labels,
        at: Revision::new(7),
        over: Vec::new(),
        ticket: NO_TICKET,
    };
    let mut questions = Questions::default();
    for (came, needs_labels) in [(vec![NO_TICKET, 3, 5], true), (Vec::new(), false)] {
        questions.ask(&elsewhere, question(needs_labels));
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
