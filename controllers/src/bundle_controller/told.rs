//! What a Bundle says of itself after it was looked at.

use std::time::SystemTime;

use bailiwick_api::bundle::{MAX_MESSAGE, Plan, max_message};
use bailiwick_api::{BundleResourceStatus, BundleStatus, ConditionStatus, Phase};

use super::critical_path::critical_path;
use super::outcome::{DEPENDENCY_NOT_READY, Deed, Outcome, beginning};
use crate::conditions::{self, Verdict};
use crate::shortened::shortened;

/// Whether all resources are as wanted and ready.
pub(super) const READY: &str = "Ready";
/// Whether nothing exists any more that is not wanted.
pub(super) const PRUNING_COMPLETE: &str = "PruningComplete";
/// How many resources are told of in a condition.
const MAX_TOLD: usize = 3;

/// Says of each resource what became of it, and of all of them together, in so many words that the status can be stored.
pub(super) fn resources(
    status: &mut BundleStatus,
    plan: &Plan,
    outcomes: &[Option<Outcome>],
    generation: Option<i64>,
    now: SystemTime,
) {
    let before = std::mem::take(&mut status.resources);
    for (resource, outcome) in plan.resources().iter().zip(outcomes) {
        let Some(outcome) = outcome else { continue };
        let old = before.iter().find(|old| old.name == resource.name);
        let is_same = |old: &&BundleResourceStatus| (old.phase, old.reason.as_str()) == (outcome.phase, outcome.reason);
        let since = old.filter(is_same).and_then(|old| old.since.clone()).unwrap_or_else(|| conditions::text(now));
        status.resources.push(BundleResourceStatus {
            name: resource.name.clone(),
            phase: outcome.phase,
            reason: outcome.reason.to_owned(),
            message: shortened(&outcome.message, max_message(plan.resources().len())),
            since: Some(since),
            ready_after_seconds: ready_after(old, outcome, now),
            object: outcome.object.clone(),
        });
    }
    status.critical_path = critical_path(plan, &status.resources);
    let ready = status.resources.iter().filter(|resource| resource.phase == Phase::Ready).count();
    let count = plan.resources().len();
    status.ready = Some(format!("{ready}/{count}"));
    let (is_ready, reason, message) = match worst(&status.resources) {
        None => (ConditionStatus::True, "AllReady", all_ready(count)),
        Some(phase) => {
            let reason = match phase {
                Phase::Error => "ResourceError",
                Phase::Blocked | Phase::InProgress | Phase::Ready => "Progressing",
            };
            (ConditionStatus::False, reason, story(&status.resources))
        }
    };
    let verdict = Verdict { condition: READY, status: is_ready, reason, message: &message };
    conditions::set(&mut status.conditions, verdict, generation, now);
}

/// Says something of the Bundle as a whole.
pub(super) fn say(status: &mut BundleStatus, verdict: Verdict<'_>, generation: Option<i64>, now: SystemTime) {
    let message = shortened(verdict.message, MAX_MESSAGE);
    conditions::set(&mut status.conditions, Verdict { message: &message, ..verdict }, generation, now);
}

/// How many seconds a resource took to become ready. What was ready at once when it was made took none.
fn ready_after(old: Option<&BundleResourceStatus>, outcome: &Outcome, now: SystemTime) -> Option<i64> {
    let known = old.and_then(|old| old.ready_after_seconds);
    let took = |since: &str| Some(conditions::seconds(&conditions::text(now))? - conditions::seconds(since)?);
    match (outcome.phase, old) {
        (Phase::Ready, None) => Some(0),
        (Phase::Ready, Some(BundleResourceStatus { phase: Phase::InProgress, since: Some(since), .. })) => took(since),
        (Phase::Ready, Some(old)) if old.phase == Phase::Blocked && outcome.deed != Deed::Nothing => Some(0),
        (Phase::Blocked | Phase::InProgress | Phase::Ready | Phase::Error, _) => known,
    }
}

fn worst(resources: &[BundleResourceStatus]) -> Option<Phase> {
    let has = |phase: Phase| resources.iter().any(|resource| resource.phase == phase).then_some(phase);
    has(Phase::Error).or_else(|| has(Phase::InProgress)).or_else(|| has(Phase::Blocked))
}

fn all_ready(count: usize) -> String {
    match count {
        0 => "no resources are wanted".to_owned(),
        1 => "the resource is ready".to_owned(),
        _ => format!("all {count} resources are ready"),
    }
}

/// What keeps the Bundle from being ready: what is wrong first, then what is under way, then what waits for something else than
/// other resources. Those that wait for them are counted.
fn story(resources: &[BundleResourceStatus]) -> String {
    let is_waiting = |resource: &&BundleResourceStatus| resource.reason == DEPENDENCY_NOT_READY;
    let of = |phase: Phase| resources.iter().filter(move |resource| resource.phase == phase && !is_waiting(resource));
    let causes: Vec<&BundleResourceStatus> =
        of(Phase::Error).chain(of(Phase::InProgress)).chain(of(Phase::Blocked)).collect();
    let mut told: Vec<String> = causes
        .iter()
        .take(MAX_TOLD)
        .map(|resource| format!("{} is {} ({})", resource.name, resource.phase, beginning(&resource.message)))
        .collect();
    match causes.len().saturating_sub(MAX_TOLD) {
        0 => {}
        1 => told.push("one more is not ready".to_owned()),
        more => told.push(format!("{more} more are not ready")),
    }
    match resources.iter().filter(is_waiting).count() {
        0 => {}
        1 => told.push("one waits for others".to_owned()),
        waiting => told.push(format!("{waiting} wait for others")),
    }
    told.join("; ")
}

#[cfg(test)]
mod tests;
