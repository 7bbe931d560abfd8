//! Whether a write of a ResourceQuota may happen: the one function that both ways of asking end in.

use std::time::Duration;

use bailiwick_api::quota::{Change, QuotaFacts, Refusal};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::desk::Task;
use super::evaluate::{Refused, Verdict};
use super::metrics::Outcome;
use super::refusal::{self, Denial};
use super::{Allocations, GROUP, PLURAL, VERSION};
use crate::User;
use crate::authorization::{Attributes, Decision, Resource, Target};
use crate::error::{Error, Result};

/// How long a write waits for an allocation whose projects are being counted.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A ResourceQuota that someone wants to make or to change.
#[derive(Clone, Copy, Debug)]
pub struct QuotaChange<'c> {
    /// Who wants to.
    pub user: &'c User,
    /// In which namespace.
    pub namespace: &'c str,
    /// What it is now.
    pub old: Option<&'c Value>,
    /// What it is to be.
    pub new: &'c Value,
    /// When, in seconds since 1970.
    pub at: i64,
    /// Whether nothing is to be reserved.
    pub is_trial: bool,
}

// === impl Allocations ===

impl Allocations {
    /// Decides about a change of a ResourceQuota, and reserves what it needs. The answer is a refusal if there is one.
    pub async fn judge(&self, asked: &QuotaChange<'_>) -> Result<Option<Denial>> {
        let (old, new) = (asked.old.map(QuotaFacts::from_json), QuotaFacts::from_json(asked.new));
        if old.as_ref().is_some_and(|old| old.spec_hash == new.spec_hash) {
            return Ok(None);
        }
        let decided = self.decide(asked, old, new).await;
        self.metrics.decided(match &decided {
            Ok(None) => Outcome::Allowed,
            Ok(Some(denial)) => denial.outcome,
            Err(_) => Outcome::Failed,
        });
        decided
    }

    async fn decide(
        &self,
        asked: &QuotaChange<'_>,
        old: Option<QuotaFacts>,
        new: QuotaFacts,
    ) -> Result<Option<Denial>> {
        let labels = match &self.elsewhere {
            None => None,
            Some(elsewhere) if !elsewhere.is_ready() => return Ok(Some(refusal::not_ready())),
            Some(elsewhere) => match elsewhere.labels(asked.namespace).await? {
                None => return Ok(None),
                labels => labels,
            },
        };
        let mut change = Change { old, new, at: asked.at, may_uncover: false };
        let began = Instant::now();
        loop {
            let task = Task::Reserve {
                namespace: asked.namespace.to_owned(),
                labels: labels.clone(),
                change: Box::new(change.clone()),
                is_trial: asked.is_trial,
            };
            match self.ask(task).await?.verdict {
                Verdict::Fits | Verdict::Postponed => return Ok(None),
                Verdict::TooMany(count) => return Ok(Some(refusal::too_many(count))),
                Verdict::Counting(names) if began.elapsed() > MAX_WAIT => {
                    return Ok(Some(refusal::counting(&names)));
                }
                Verdict::Counting(_) => sleep(LOOK_EVERY).await,
                Verdict::Refused(refused) => {
                    let uncovers = |refused: &Refused| matches!(refused.refusal, Refusal::Uncovers(_));
                    if !refused.iter().all(uncovers) || !self.may_uncover(asked.user, &refused).await? {
                        return Ok(Some(refusal::refused(&refused)));
                    }
                    change.may_uncover = true;
                }
            }
        }
    }

    /// Whether a user decides about these allocations anyway.
    async fn may_uncover(&self, user: &User, refused: &[Refused]) -> Result<bool> {
        for Refused { spec, .. } in refused {
            let name = &spec.allocation.name;
            let resource = Resource { group: GROUP, version: VERSION, resource: PLURAL, name, ..Resource::default() };
            let question = Attributes { user, verb: "update", target: Target::Resource(resource) };
            let answer = self.authorizer.authorize(&question).await;
            match answer.map_err(|error| Error::Failed { what: "authorization", why: error.0 })? {
                Decision::Allow(_) => {}
                Decision::Deny(_) | Decision::NoOpinion(_) => return Ok(false),
            }
        }
        Ok(true)
    }
}
