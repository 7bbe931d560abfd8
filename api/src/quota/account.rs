//! What one project has of one allocation.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::allocation::Allocation;
use super::amounts::Amounts;
use super::facts::QuotaFacts;
use super::scopes::ScopeSet;

/// What one project has of one allocation: its ResourceQuotas, and what was promised to writes that are under way.
///
/// A quota that is being changed counts as the larger one of what it is and what it may become, until it is known which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// The ResourceQuotas that count, in the order of their names.
    pub quotas: Vec<QuotaFacts>,
    /// Writes that are under way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reserved: Vec<Reservation>,
    /// What all of that comes to.
    pub charge: Amounts,
}

/// A write of a ResourceQuota that was allowed, and of which is not known yet whether it happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Reservation {
    /// What the ResourceQuota becomes. Its version is that of the ResourceQuota which it changes.
    pub quota: QuotaFacts,
    /// When it was allowed, in seconds since 1970.
    pub since: i64,
}

// === impl Account ===

impl Account {
    /// That of a project with these ResourceQuotas.
    pub fn of(quotas: impl IntoIterator<Item = QuotaFacts>, allocation: &Allocation) -> Self {
        let mut account = Self::default();
        account.settle(quotas, allocation);
        account
    }

    /// Notes that a ResourceQuota is about to become `new`. What is known of it is not older than `old`, which it is.
    pub fn reserve(&mut self, old: Option<&QuotaFacts>, new: &QuotaFacts, since: i64, allocation: &Allocation) {
        if let Some(old) = old {
            self.learn(old, allocation);
        }
        if allocation.scopes.counts(&new.scopes) {
            let version = old.map_or(0, |old| old.version);
            let quota = QuotaFacts { version, used: Amounts::default(), ..new.clone() };
            let same = |other: &Reservation| (&other.quota.name, &other.quota.spec_hash) == (&new.name, &new.spec_hash);
            self.reserved.retain(|other| !same(other));
            self.reserved.push(Reservation { quota, since });
        }
        self.add_up(allocation);
    }

    /// Takes over which ResourceQuotas there are. Of one that is known in a later state, that stays. Reservations whose
    /// write has happened end.
    pub fn settle(&mut self, quotas: impl IntoIterator<Item = QuotaFacts>, allocation: &Allocation) {
        let mut known: BTreeMap<String, QuotaFacts> =
            std::mem::take(&mut self.quotas).into_iter().map(|quota| (quota.name.clone(), quota)).collect();
        let mut now: Vec<QuotaFacts> = Vec::new();
        for quota in quotas {
            self.reserved.retain(|reserved| !reserved.is_done_by(&quota));
            if !allocation.scopes.counts(&quota.scopes) {
                continue;
            }
            let later = known.remove(&quota.name).filter(|known| known.version > quota.version);
            now.push(later.unwrap_or(quota));
        }
        now.sort_by(|a, b| a.name.cmp(&b.name));
        self.quotas = now;
        self.add_up(allocation);
    }

    /// Ends reservations.
    pub fn release(&mut self, is_over: impl Fn(&Reservation) -> bool, allocation: &Allocation) {
        self.reserved.retain(|reserved| !is_over(reserved));
        self.add_up(allocation);
    }

    /// The resources of an allocation that nothing limits in this project.
    pub fn uncovered<'a>(&'a self, allocation: &'a Allocation) -> impl Iterator<Item = &'a str> {
        allocation.hard.resources().filter(|resource| !covers(&self.quotas, resource, allocation))
    }

    /// The same, once a ResourceQuota has become `new`, of those that are limited now.
    pub fn uncovered_by<'a>(
        &'a self,
        old: Option<&QuotaFacts>,
        new: &QuotaFacts,
        allocation: &'a Allocation,
    ) -> Vec<&'a str> {
        let others = || self.quotas.iter().filter(|quota| quota.name != new.name).cloned();
        let mine = self.quotas.iter().find(|quota| quota.name == new.name);
        let before: Vec<QuotaFacts> = others().chain(old.or(mine).cloned()).collect();
        let after: Vec<QuotaFacts> = others().chain([new.clone()]).collect();
        let is_lost = |resource: &&str| covers(&before, resource, allocation) && !covers(&after, resource, allocation);
        allocation.hard.resources().filter(is_lost).collect()
    }

    /// Takes over what a ResourceQuota is, unless it is known in a later state.
    fn learn(&mut self, quota: &QuotaFacts, allocation: &Allocation) {
        if !allocation.scopes.counts(&quota.scopes) {
            return;
        }
        match self.quotas.iter_mut().find(|known| known.name == quota.name) {
            Some(known) if known.version <= quota.version => *known = quota.clone(),
            Some(_) => {}
            None => self.quotas.push(quota.clone()),
        }
        self.quotas.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// The sum over distinct sets of scopes of the most that a ResourceQuota with that set says.
    fn add_up(&mut self, allocation: &Allocation) {
        let mut by_scopes: BTreeMap<&ScopeSet, Amounts> = BTreeMap::new();
        for quota in self.quotas.iter().chain(self.reserved.iter().map(|reserved| &reserved.quota)) {
            by_scopes.entry(&quota.scopes).or_default().raise_to(&quota.charge());
        }
        let mut sum = Amounts::default();
        by_scopes.values().for_each(|charge| sum.add(charge));
        let counted = allocation.hard.resources().map(|resource| (resource.to_owned(), sum.of(resource)));
        self.charge = counted.collect();
    }
}

// === impl Reservation ===

impl Reservation {
    /// Whether a ResourceQuota is what this was reserved for, and not only looks like it: it was written later than what
    /// was to be changed.
    fn is_done_by(&self, quota: &QuotaFacts) -> bool {
        (&self.quota.name, &self.quota.spec_hash) == (&quota.name, &quota.spec_hash)
            && quota.version > self.quota.version
    }
}

fn covers(quotas: &[QuotaFacts], resource: &str, allocation: &Allocation) -> bool {
    let naming = quotas.iter().filter(|quota| quota.hard.get(resource).is_some());
    allocation.scopes.is_covered_by(&naming.map(|quota| &quota.scopes).collect::<BTreeSet<_>>())
}
