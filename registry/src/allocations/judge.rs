//! Whether a write of a ResourceQuota may happen: the one function that both ways of asking end in.

use std::time::Duration;

use bailiwick_api::quota::{Change, QuotaFacts, Refusal};
use bailiwick_storage::{Expected, Key, Revision, Txn};
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

/// What was reserved for a change: the rows in which it stands, and when they were written.
#[derive(Debug, Default)]
pub(super) struct Promise {
    accounts: Vec<(Key, Revision)>,
}

// === impl Promise ===

impl Promise {
    /// Lets a write happen only as long as what was reserved for it is: it ends after some seconds, and the writer may have
    /// slept through them.
    pub(super) fn bind(self, txn: Txn) -> Txn {
        self.accounts.into_iter().fold(txn, |txn, (account, at)| txn.require(account, Expected::At(at)))
    }
}

// === impl Allocations ===

impl Allocations {
    /// Decides about a change of a ResourceQuota, and reserves what it needs. The answer is a refusal if there is one.
    pub async fn judge(&self, asked: &QuotaChange<'_>) -> Result<Option<Denial>> {
        Ok(self.promise(asked).await?.err())
    }

    /// The same for whoever writes it into our own store, and so can see to it that what was reserved still is.
    pub(super) async fn promise(&self, asked: &QuotaChange<'_>) -> Result<Result<Promise, Denial>> {
        let (old, new) = (asked.old.map(QuotaFacts::from_json), QuotaFacts::from_json(asked.new));
        if old.as_ref().is_some_and(|old| old.spec_hash == new.spec_hash) {
            return Ok(Ok(Promise::default()));
        }
        let decided = self.decide(asked, old, new).await;
        self.metrics.decided(match &decided {
            Ok(Ok(_)) => Outcome::Allowed,
            Ok(Err(denial)) => denial.outcome,
            Err(_) => Outcome::Failed,
        });
        decided
    }

    async fn decide(
        &self,
        asked: &QuotaChange<'_>,
        old: Option<QuotaFacts>,
        new: QuotaFacts,
    ) -> Result<Result<Promise, Denial>> {
        let labels = match &self.elsewhere {
            None => None,
            Some(elsewhere) if !elsewhere.is_ready() => return Ok(Err(refusal::not_ready())),
            Some(elsewhere) => match elsewhere.labels(asked.namespace).await? {
                None => return Ok(Ok(Promise::default())),
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
            let done = self.ask(task).await?;
            match done.verdict {
                Verdict::Fits(accounts) => {
                    let at = |(account, at): (Key, Option<Revision>)| (account, at.unwrap_or(done.revision));
                    return Ok(Ok(Promise { accounts: accounts.into_iter().map(at).collect() }));
                }
                Verdict::TooMany(count) => return Ok(Err(refusal::too_many(count))),
                Verdict::TooLarge => return Ok(Err(refusal::too_large())),
                Verdict::Counting(names) if began.elapsed() > MAX_WAIT => {
                    return Ok(Err(refusal::counting(&names)));
                }
                Verdict::Counting(_) => sleep(LOOK_EVERY).await,
                Verdict::Refused(refused) => {
                    let uncovers = |refused: &Refused| matches!(refused.refusal, Refusal::Uncovers(_));
                    if !refused.iter().all(uncovers) || !self.may_uncover(asked.user, &refused).await? {
                        return Ok(Err(refusal::refused(&refused)));
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
