//! What the status of an allocation says.

use bailiwick_api::quota::{Account, QuotaFacts};
use bailiwick_api::{
    AllocatedAmounts, Condition, ConditionStatus, ProjectUsage, QuotaUsage, ResourceQuotaAllocationStatus, counted,
    some_of,
};
use bailiwick_storage::cache::Snapshot;
use serde::Serialize;

use super::ledger::{Rows, Spec, Total};
use super::picture::Picture;
use crate::error::Result;

/// How many projects are in the status.
const MAX_PROJECTS: usize = 100;
/// How many bytes they take there together, about. Who owns each of their fields is written beside them, and all of the
/// allocation must fit into one row.
const MAX_BYTES: usize = 256 << 10;

/// The status in a state. Conditions have no time yet.
pub(super) fn status(picture: &Picture, rows: &Rows, state: &Snapshot) -> Result<ResourceQuotaAllocationStatus> {
    let spec = &*picture.spec;
    let total = rows.read_total(state, spec)?;
    let used_by_project = largest(picture, rows, state)?;
    let (hard, used) = (spec.allocation.shown(&spec.allocation.hard), spec.allocation.shown(&total.charge));
    Ok(ResourceQuotaAllocationStatus {
        allocated: AllocatedAmounts { hard, used },
        project_count: i64::try_from(picture.project_count()).unwrap_or(i64::MAX),
        used_by_project,
        conditions: vec![ready(&total), over_allocated(spec, &total), uncovered(picture)],
    })
}

/// The projects that have most, as many as there is room for; and of what that is made, where there is room for that, too.
fn largest(picture: &Picture, rows: &Rows, state: &Snapshot) -> Result<Vec<ProjectUsage>> {
    let (mut told, mut room) = (Vec::new(), MAX_BYTES);
    for namespace in picture.largest(MAX_PROJECTS) {
        let Some(account) = rows.read_account(state, &picture.spec, namespace)? else { continue };
        let mut usage = project_usage(&picture.spec, namespace, &account);
        let quotas = std::mem::take(&mut usage.quotas);
        let Some(rest) = room.checked_sub(weight(&usage)) else { break };
        room = rest;
        told.push((usage, quotas));
    }
    let fill = |(mut usage, quotas): (ProjectUsage, Vec<QuotaUsage>)| {
        if let Some(rest) = room.checked_sub(weight(&quotas)) {
            (room, usage.quotas) = (rest, quotas);
        }
        usage
    };
    Ok(told.into_iter().map(fill).collect())
}

/// How many bytes it has where it is written.
pub(crate) fn weight(told: &impl Serialize) -> usize {
    serde_json::to_vec(told).map_or(usize::MAX, |bytes| bytes.len())
}

/// What a project has of an allocation.
pub(crate) fn project_usage(spec: &Spec, namespace: &str, account: &Account) -> ProjectUsage {
    let usage = |quota: &QuotaFacts| QuotaUsage {
        name: quota.name.clone(),
        uid: quota.uid.clone(),
        spec_hash: quota.spec_hash.clone(),
        charge: spec.allocation.shown(&quota.charge()),
    };
    ProjectUsage {
        namespace: namespace.to_owned(),
        used: spec.allocation.shown(&account.charge),
        quotas: account.quotas.iter().map(usage).collect(),
    }
}

/// Takes over when conditions became what they are, where they are as they were.
pub(super) fn keep_times(conditions: &mut [Condition], before: &[Condition], generation: i64, now: &str) {
    for condition in conditions {
        let same = |old: &&Condition| old.condition_type == condition.condition_type && old.status == condition.status;
        let since = before.iter().find(same).map_or(now, |old| old.last_transition_time.as_str());
        condition.last_transition_time = since.to_owned();
        condition.observed_generation = Some(generation);
    }
}

fn ready(total: &Total) -> Condition {
    match total.counted {
        true => condition("Ready", true, "Counted", "All selected projects are counted.".to_owned()),
        false => {
            let message = "The selected projects are being counted; until then their quotas cannot rise.";
            condition("Ready", false, "Counting", message.to_owned())
        }
    }
}

fn over_allocated(spec: &Spec, total: &Total) -> Condition {
    let told = |resource: &str| {
        let name = spec.allocation.name_of(resource);
        format!("{name}: {} of {}", total.charge.of(resource), spec.allocation.hard.of(resource))
    };
    let exceeded: Vec<String> = spec.allocation.exceeded(&total.charge).map(told).collect();
    match exceeded.is_empty() {
        true => {
            let message = "The selected projects have no more than is allotted.";
            condition("OverAllocated", false, "WithinLimits", message.to_owned())
        }
        false => condition("OverAllocated", true, "LimitsExceeded", some_of(exceeded.iter())),
    }
}

fn uncovered(picture: &Picture) -> Condition {
    let uncovered = picture.uncovered();
    if uncovered.is_empty() {
        let message = "All selected projects are limited in all resources.";
        return condition("Uncovered", false, "AllCovered", message.to_owned());
    }
    let projects = counted(uncovered.len(), "project");
    let message = format!("{projects} not limited in all resources: {}", some_of(uncovered.iter()));
    condition("Uncovered", true, "ProjectsUnlimited", message)
}

fn condition(condition_type: &str, is_true: bool, reason: &str, message: String) -> Condition {
    Condition {
        condition_type: condition_type.to_owned(),
        status: if is_true { ConditionStatus::True } else { ConditionStatus::False },
        reason: reason.to_owned(),
        message,
        ..Condition::default()
    }
}
