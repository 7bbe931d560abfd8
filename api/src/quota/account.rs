//! What one project has of one allocation.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_machinery::Quantity;
use serde::{Deserialize, Serialize};

use super::allocation::Allocation;
use super::amounts::Amounts;
use super::decide::Change;
use super::facts::QuotaFacts;
use super::scopes::ScopeSet;

/// For how many seconds what was reserved serves whoever asks for the same again. Less than what is reserved lasts.
const JUST_BEFORE: u64 = 2;

/// How many bytes the ResourceQuotas of an account have at most, about, before only what its allocation counts is kept of
/// them.
const MAX_WHOLE: usize = 32 << 10;
/// How many bytes an account has at most, about, when something more is promised: it must fit into one row, several of which
/// are written together.
const MAX_PROMISED: usize = 128 << 10;

/// What one project has of one allocation: its ResourceQuotas, and what was promised to writes that are under way.
///
/// A quota that is being changed counts as the larger one of what it is and what it may become, until it is known which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// The ResourceQuotas that count, in the order of their names. If they are large, without what is not allotted.
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
    /// When it was allowed, in seconds since 1970, as far as whoever allowed it knew.
    pub since: i64,
}

// === impl Account ===

impl Account {
    /// That of a project with these ResourceQuotas.
    pub fn of(quotas: impl IntoIterator<Item = QuotaFacts>, allocation: &Allocation) -> Self {
        let mut account = Self::default();
        account.settle(quotas, u64::MAX, allocation);
        account
    }

    /// The same for an allocation that has begun to select or to count something else: what was promised may still be written,
    /// and of a ResourceQuota a later state may be known here than elsewhere.
    #[must_use]
    pub fn carried_over(mut self, allocation: &Allocation) -> Self {
        self.quotas.retain(|quota| allocation.scopes.counts(&quota.scopes));
        self.reserved.retain(|reserved| allocation.scopes.counts(&reserved.quota.scopes));
        self.add_up(allocation);
        self
    }

    /// Notes that a ResourceQuota is about to become `new`. What is known of it is not older than `old`, which it is.
    pub fn reserve(&mut self, old: Option<&QuotaFacts>, new: &QuotaFacts, since: i64, allocation: &Allocation) {
        if let Some(old) = old {
            self.reserved.retain(|reserved| !reserved.is_over_with(old));
            self.learn(old, allocation);
        }
        if allocation.scopes.counts(&new.scopes) {
            let version = old.map_or(0, |old| old.version);
            let mut reservation =
                Reservation { quota: QuotaFacts { version, used: Amounts::default(), ..new.clone() }, since };
            self.reserved.retain(|other| !reservation.takes_over(other));
            self.reserved.push(reservation);
        }
        self.add_up(allocation);
    }

    /// Takes over which ResourceQuotas there are, as far as that is known: up to the version `horizon`. One that is known in a
    /// later state stays as it is. Reservations whose write has happened, or cannot happen any more, end.
    pub fn settle(&mut self, quotas: impl IntoIterator<Item = QuotaFacts>, horizon: u64, allocation: &Allocation) {
        let mut known: BTreeMap<String, QuotaFacts> =
            std::mem::take(&mut self.quotas).into_iter().map(|quota| (quota.name.clone(), quota)).collect();
        let (mut now, mut names) = (Vec::new(), BTreeSet::new());
        for quota in quotas {
            self.reserved.retain(|reserved| !reserved.is_over_with(&quota));
            names.insert(quota.name.clone());
            let later = known.remove(&quota.name).filter(|known| known.version > quota.version);
            let latest = later.unwrap_or(quota);
            if allocation.scopes.counts(&latest.scopes) {
                now.push(latest);
            }
        }
        now.extend(known.into_values().filter(|known| known.version > horizon));
        now.sort_by(|a, b| a.name.cmp(&b.name));
        self.quotas = now;
        self.reserved.retain(|reserved| names.contains(&reserved.quota.name) || !reserved.is_over_without(horizon));
        self.add_up(allocation);
    }

    /// Whether nothing has to be reserved for a change, because the ResourceQuota allows as much already, itself: then it can
    /// become so at any time. What others have, or what is used, is no ground for that: it can be given up before the write
    /// happens. So can one that is to be made: the one of that name, if it is known, is gone. What is left out is unlimited, so
    /// that others must hear of it.
    pub fn holds(&self, change: &Change, allocation: &Allocation) -> bool {
        let new = &change.new;
        let is_it = |known: &&QuotaFacts| change.old.is_some() && known.name == new.name && known.scopes == new.scopes;
        let known = self.quotas.iter().find(is_it);
        let allows = |resource: &str| {
            known.is_some_and(|known| match (known.hard.get(resource), new.hard.get(resource)) {
                (Some(now), Some(then)) => now >= then,
                (Some(_), None) => false,
                (None, then) => then.is_none_or(Quantity::is_zero),
            })
        };
        !allocation.scopes.counts(&new.scopes) || allocation.hard.resources().all(allows)
    }

    /// Whether what a change needs is reserved already, and will be for long enough: it was asked for just before.
    pub fn has_reserved(&self, change: &Change) -> bool {
        let (new, version) = (&change.new, change.old.as_ref().map_or(0, |old| old.version));
        let is_it = |reserved: &Reservation| {
            (&reserved.quota.name, &reserved.quota.spec_hash, reserved.quota.version)
                == (&new.name, &new.spec_hash, version)
                && (version > 0 || reserved.quota.uid == new.uid)
                && reserved.since.abs_diff(change.at) < JUST_BEFORE
        };
        self.reserved.iter().any(is_it)
    }

    /// Whether so much was promised that nothing more can be until it is known what became of some of it.
    pub fn is_too_large(&self) -> bool {
        let reserved = self.reserved.iter().map(|reserved| reserved.quota.weight());
        self.quotas.iter().map(QuotaFacts::weight).chain(reserved).sum::<usize>() > MAX_PROMISED
    }

    /// The same, with nothing promised.
    #[must_use]
    pub(super) fn without_reservations(mut self, allocation: &Allocation) -> Self {
        self.release(|_| true, allocation);
        self
    }

    /// Ends reservations.
    pub fn release(&mut self, is_over: impl Fn(&Reservation) -> bool, allocation: &Allocation) {
        self.reserved.retain(|reserved| !is_over(reserved));
        self.add_up(allocation);
    }

    /// The resources of an allocation that nothing limits in this project.
    pub fn uncovered<'a>(&'a self, allocation: &'a Allocation) -> impl Iterator<Item = &'a str> {
        allocation.hard.resources().filter(|resource| !covers(self.quotas.iter(), resource, allocation))
    }

    /// The same, once a ResourceQuota has become `new`, of those that are limited now. Another one limits only what it will
    /// limit whatever becomes of the writes that are under way.
    pub fn uncovered_by<'a>(
        &'a self,
        old: Option<&QuotaFacts>,
        new: &QuotaFacts,
        allocation: &'a Allocation,
    ) -> Vec<&'a str> {
        let mine = old.or_else(|| self.quotas.iter().find(|quota| quota.name == new.name));
        let is_lost = |resource: &&str| {
            let others = self.quotas.iter().filter(|quota| quota.name != new.name);
            let others: Vec<&QuotaFacts> = others.filter(|quota| self.stays(quota, resource)).collect();
            let with = |mine: Option<&QuotaFacts>| covers(others.iter().copied().chain(mine), resource, allocation);
            with(mine) && !with(Some(new))
        };
        allocation.hard.resources().filter(is_lost).collect()
    }

    /// Whether a ResourceQuota limits a resource, in the same scopes, also once any write of it has happened that was allowed.
    fn stays(&self, quota: &QuotaFacts, resource: &str) -> bool {
        let mut writes = self.reserved.iter().map(|reserved| &reserved.quota).filter(|write| write.name == quota.name);
        writes.all(|write| write.scopes == quota.scopes && write.hard.get(resource).is_some())
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

    /// The sum over distinct sets of scopes of the most that a ResourceQuota with that set says. What was promised is kept
    /// whole: it may still be written when the allocation counts something else.
    fn add_up(&mut self, allocation: &Allocation) {
        let mut by_scopes: BTreeMap<&ScopeSet, Amounts> = BTreeMap::new();
        for quota in self.quotas.iter().chain(self.reserved.iter().map(|reserved| &reserved.quota)) {
            by_scopes.entry(&quota.scopes).or_default().raise_to(&quota.charge());
        }
        let mut sum = Amounts::default();
        by_scopes.values().for_each(|charge| sum.add(charge));
        let counted = allocation.hard.resources().map(|resource| (resource.to_owned(), sum.of(resource)));
        self.charge = counted.collect();
        if self.quotas.iter().map(QuotaFacts::weight).sum::<usize>() > MAX_WHOLE {
            self.quotas.iter_mut().for_each(|quota| quota.keep_only(&allocation.hard));
        }
    }
}

// === impl Reservation ===

impl Reservation {
    /// Whether another one is for the same, and this one stands for both from now on. Of two changes the later one can
    /// happen only: it was made of a version that has replaced the other's. Of those who want to make a ResourceQuota anyone
    /// can, so then no single UID says what became of it.
    fn takes_over(&mut self, other: &Self) -> bool {
        let of = |it: &Self| (it.quota.name.clone(), it.quota.spec_hash.clone(), it.quota.version > 0);
        if of(self) != of(other) {
            return false;
        }
        self.quota.version = self.quota.version.max(other.quota.version);
        if self.quota.version == 0 && self.quota.uid != other.quota.uid {
            self.quota.uid.clear();
        }
        true
    }

    /// Whether the write has happened or cannot happen any more, where this is what the ResourceQuota is. A change replaces
    /// just the version that it was made of. What is to be made may still be once the one of that name is gone, unless this
    /// is it, whatever became of it since.
    fn is_over_with(&self, quota: &QuotaFacts) -> bool {
        let is_change = self.quota.version > 0;
        let is_made = || !self.quota.uid.is_empty() && self.quota.uid == quota.uid;
        self.quota.name == quota.name && quota.version > self.quota.version && (is_change || is_made())
    }

    /// Whether the write cannot happen any more, where there is no ResourceQuota of the name up to a version: the one that was
    /// to be changed is gone.
    fn is_over_without(&self, horizon: u64) -> bool {
        self.quota.version > 0 && self.quota.version <= horizon
    }
}

fn covers<'q>(quotas: impl Iterator<Item = &'q QuotaFacts>, resource: &str, allocation: &Allocation) -> bool {
    let naming = quotas.filter(|quota| quota.hard.get(resource).is_some());
    allocation.scopes.is_covered_by(&naming.map(|quota| &quota.scopes).collect::<BTreeSet<_>>())
}
