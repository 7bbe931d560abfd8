//! What a Bundle says of itself after it was looked at.

use std::time::SystemTime;

use bailiwick_api::bundle::Plan;
use bailiwick_api::{BundleResourceStatus, BundleStatus, ConditionStatus, Phase};

use super::outcome::Outcome;
use crate::conditions::{self, Verdict};

/// Whether all resources are as wanted and ready.
pub(super) const READY: &str = "Ready";
/// Whether nothing exists any more that is not wanted.
pub(super) const PRUNING_COMPLETE: &str = "PruningComplete";
/// How many resources are told of in a condition.
const MAX_TOLD: usize = 3;

/// Says of each resource what became of it, and of all of them together.
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
            message: outcome.message.clone(),
            since: Some(since),
            object: outcome.object.clone(),
        });
    }
    let ready = status.resources.iter().filter(|resource| resource.phase == Phase::Ready).count();
    let count = plan.resources().len();
    status.ready = Some(format!("{ready}/{count}"));
    let (is_ready, reason, message) = match worst(&status.resources) {
        None => (ConditionStatus::True, "AllReady", format!("all {count} resources are ready")),
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
    conditions::set(&mut status.conditions, verdict, generation, now);
}

fn worst(resources: &[BundleResourceStatus]) -> Option<Phase> {
    let has = |phase: Phase| resources.iter().any(|resource| resource.phase == phase).then_some(phase);
    has(Phase::Error).or_else(|| has(Phase::InProgress)).or_else(|| has(Phase::Blocked))
}

/// What keeps the Bundle from being ready: what is wrong first, then what is under way, then what waits.
fn story(resources: &[BundleResourceStatus]) -> String {
    let of = |phase: Phase| resources.iter().filter(move |resource| resource.phase == phase);
    let mut told: Vec<String> = of(Phase::Error)
        .chain(of(Phase::InProgress))
        .chain(of(Phase::Blocked))
        .map(|resource| format!("{} is {}: {}", resource.name, resource.phase, resource.message))
        .collect();
    let more = told.len().saturating_sub(MAX_TOLD);
    told.truncate(MAX_TOLD);
    let told = told.join("; ");
    if more == 0 { told } else { format!("{told}; and {more} more") }
}
