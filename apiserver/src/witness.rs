//! Sees what an authorizer answers, for the audit log and for metrics.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_registry::{Annotations, Attributes, AuthorizationError, Authorizer, Decision};
use tokio::time::Instant;

use crate::metrics::AuthorizationMetrics;

const DECISION: &str = "authorization.k8s.io/decision";
const REASON: &str = "authorization.k8s.io/reason";

/// Passes one question on, and remembers the answer.
pub(crate) struct Witness {
    authorizer: Arc<dyn Authorizer>,
    /// The decision, or nothing for an error; and how long it took.
    answer: OnceLock<(Option<Decision>, Duration)>,
}

// === impl Witness ===

impl Witness {
    pub(crate) fn new(authorizer: Arc<dyn Authorizer>) -> Self {
        Self { authorizer, answer: OnceLock::new() }
    }

    /// Says what it has seen.
    pub(crate) fn testify(&self, metrics: &AuthorizationMetrics, annotations: Option<&Annotations>) {
        let Some((answer, took)) = self.answer.get() else { return };
        metrics.asked(answer.as_ref(), *took);
        let Some(annotations) = annotations else { return };
        match answer {
            Some(Decision::Allow(reason)) => {
                annotations.add(DECISION, "allow");
                annotations.add(REASON, reason.as_str());
            }
            Some(Decision::Deny(reason) | Decision::NoOpinion(reason)) => {
                annotations.add(DECISION, "forbid");
                annotations.add(REASON, reason.as_str());
            }
            None => annotations.add(REASON, "internal error"),
        }
    }
}

#[async_trait]
impl Authorizer for Witness {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        let asked = Instant::now();
        let answer = self.authorizer.authorize(question).await;
        self.answer.get_or_init(|| (answer.as_ref().ok().cloned(), asked.elapsed()));
        answer
    }
}
