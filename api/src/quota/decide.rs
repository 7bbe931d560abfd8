//! Whether a change of a ResourceQuota fits into an allocation.

use bailiwick_machinery::Quantity;

use super::account::Account;
use super::allocation::Allocation;
use super::amounts::{Amounts, minus, plus};
use super::facts::QuotaFacts;

/// A change of a ResourceQuota, or a new one.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What it is now; nothing if it is new.
    pub old: Option<QuotaFacts>,
    /// What it is to be.
    pub new: QuotaFacts,
    /// When it is asked for, in seconds since 1970.
    pub at: i64,
    /// Whether it may leave the project unlimited in what it is limited in now.
    pub may_uncover: bool,
}

/// Why a change does not fit.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// There would be too much of something.
    Exceeds(Vec<Excess>),
    /// Nothing would limit the project in these resources any more.
    Uncovers(Vec<String>),
}

/// Of one resource there would be too much.
#[derive(Clone, Debug, PartialEq)]
pub struct Excess {
    /// The resource, by its canonical name.
    pub resource: String,
    /// What the project would have.
    pub requested: Quantity,
    /// What the other projects have.
    pub allocated: Quantity,
    /// What all of them may have.
    pub limit: Quantity,
}

// === impl Change ===

impl Change {
    /// The same, where it is known of some ResourceQuotas what is used of them now.
    #[must_use]
    pub fn with_used(mut self, known: &[QuotaFacts]) -> Self {
        if let Some(old) = &mut self.old
            && let Some(known) = known.iter().find(|known| known.name == old.name)
        {
            old.used.clone_from(&known.used);
        }
        self
    }
}

/// Decides about a change in a project, and gives its account with the change reserved. `total` is what all projects have;
/// `counted` is what this project has of that, which is nothing if it has not been counted yet.
///
/// What rises is compared with the limit, resource by resource. What falls or stays always fits, however much there is.
pub fn decide(
    allocation: &Allocation,
    total: &Amounts,
    counted: &Amounts,
    account: &Account,
    change: &Change,
) -> Result<Account, Refusal> {
    let (old, new) = (change.old.as_ref(), &change.new);
    let uncovered = account.uncovered_by(old, new, allocation);
    if !change.may_uncover && !uncovered.is_empty() {
        return Err(Refusal::Uncovers(uncovered.into_iter().map(str::to_owned).collect()));
    }
    // What was promised is no ground to promise it again: there may be less to give away by now.
    let written = account.clone().without_reservations(allocation);
    let (mut before, mut raised) = (written.clone(), written);
    if let Some(old) = old {
        // What is used of it now counts, even if nobody has told us.
        before.reserve(Some(old), old, change.at, allocation);
    }
    raised.reserve(old, new, change.at, allocation);
    let mut after = account.clone();
    after.reserve(old, new, change.at, allocation);
    let mut excesses = Vec::new();
    for (resource, limit) in allocation.hard.iter() {
        let rises = raised.charge.of(resource) > before.charge.of(resource);
        let requested = after.charge.of(resource);
        let allocated = minus(&total.of(resource), &counted.of(resource));
        if rises && plus(&allocated, &requested) > *limit {
            // All of them are written in the way the limit is.
            let alike = |amount: Quantity| amount.in_format(limit.format());
            let (requested, allocated, limit) = (alike(requested), alike(allocated), limit.clone());
            excesses.push(Excess { resource: resource.to_owned(), requested, allocated, limit });
        }
    }
    if excesses.is_empty() { Ok(after) } else { Err(Refusal::Exceeds(excesses)) }
}

/// What a project can have at most.
pub(super) fn room(hard: &Quantity, total: &Quantity, own: &Quantity) -> Quantity {
    minus(hard, &minus(total, own))
}

// === impl Excess ===

impl Excess {
    /// What the project could have.
    pub fn room(&self) -> Quantity {
        minus(&self.limit, &self.allocated)
    }
}
