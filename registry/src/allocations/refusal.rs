//! What whoever is refused is told: which allocation, which resource, and how much there is.

use bailiwick_api::quota::{Excess, Refusal};
use bailiwick_machinery::Cause;

use super::evaluate::Refused;
use super::ledger::Spec;
use super::metrics::Outcome;

/// How many reasons are told in words: most clients show nothing else.
const MAX_TOLD: usize = 8;

/// Why a change of a ResourceQuota is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// For people.
    pub why: String,
    /// For programs.
    pub causes: Vec<Cause>,
    /// As it is counted.
    pub outcome: Outcome,
}

/// It does not fit. The allocation that leaves the least is told of first.
pub(super) fn refused(refused: &[Refused]) -> Denial {
    let mut excesses: Vec<(&Spec, &Excess)> = Vec::new();
    let mut uncovered: Vec<(&Spec, &str)> = Vec::new();
    for Refused { spec, refusal } in refused {
        match refusal {
            Refusal::Exceeds(found) => excesses.extend(found.iter().map(|excess| (&**spec, excess))),
            Refusal::Uncovers(found) => uncovered.extend(found.iter().map(|resource| (&**spec, resource.as_str()))),
        }
    }
    excesses.sort_by(|(a, one), (b, other)| {
        (&one.resource, one.room(), &a.allocation.name).cmp(&(&other.resource, other.room(), &b.allocation.name))
    });
    uncovered.sort_by(|(a, one), (b, other)| (&a.allocation.name, one).cmp(&(&b.allocation.name, other)));
    let causes: Vec<Cause> = excesses
        .iter()
        .map(|(spec, excess)| exceeding(spec, excess))
        .chain(uncovered.iter().map(|(spec, resource)| uncovering(spec, resource)))
        .collect();
    let told: Vec<&str> = causes.iter().take(MAX_TOLD).map(|cause| cause.message.as_str()).collect();
    let mut why = told.join("; ");
    if causes.len() > MAX_TOLD {
        why.push_str(&format!(" (and {} more)", causes.len() - MAX_TOLD));
    }
    let outcome = if excesses.is_empty() { Outcome::Uncovered } else { Outcome::Exceeded };
    Denial { why, causes, outcome }
}

fn exceeding(spec: &Spec, excess: &Excess) -> Cause {
    let (name, resource) = (&spec.allocation.name, spec.allocation.name_of(&excess.resource));
    let Excess { requested, allocated, limit, .. } = excess;
    Cause {
        reason: "AllocationExceeded".to_owned(),
        message: format!(
            "exceeds the ResourceQuotaAllocation \"{name}\": {resource}: requested: {requested}, allocated to other \
             projects: {allocated}, limit: {limit}, so this project can have {}",
            excess.room()
        ),
        field: format!("spec.hard[{resource}]"),
    }
}

fn uncovering(spec: &Spec, resource: &str) -> Cause {
    let (name, resource) = (&spec.allocation.name, spec.allocation.name_of(resource));
    Cause {
        reason: "AllocationUncovered".to_owned(),
        message: format!(
            "leaves {resource} unlimited, which the ResourceQuotaAllocation \"{name}\" limits: keep it in spec.hard, or \
             ask someone who may update that allocation"
        ),
        field: format!("spec.hard[{resource}]"),
    }
}

/// What there is has not been seen yet.
pub(super) fn not_ready() -> Denial {
    let why = "projects and their quotas are not known yet, because the server has just started: try again";
    plain(Outcome::NotReady, "AllocationsNotReady", why.to_owned())
}

/// The projects of some allocations are being counted.
pub(super) fn counting(allocations: &[String]) -> Denial {
    let names = allocations.join("\", \"");
    plain(
        Outcome::Counting,
        "AllocationCounting",
        format!("the projects of the ResourceQuotaAllocation \"{names}\" are being counted: try again"),
    )
}

/// More allocations select the project than can be written together.
pub(super) fn too_many(count: usize) -> Denial {
    let most = super::evaluate::MAX_ALLOCATIONS;
    let why = format!("{count} ResourceQuotaAllocations select this project; at most {most} can");
    plain(Outcome::TooMany, "TooManyAllocations", why)
}

/// What would have to be written down about the project is too large.
pub(super) fn too_large() -> Denial {
    let why = "the ResourceQuota, or what else is being changed in this project, names too many resources to be accounted for: \
               name fewer, or try again in a minute";
    plain(Outcome::TooLarge, "AllocationTooLarge", why.to_owned())
}

fn plain(outcome: Outcome, reason: &str, why: String) -> Denial {
    let cause = Cause { reason: reason.to_owned(), message: why.clone(), field: String::new() };
    Denial { why, causes: vec![cause], outcome }
}
