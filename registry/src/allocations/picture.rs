//! What the keeper knows of an allocation beyond the ledger: which projects have most, which are not limited, and where
//! something is reserved. Kept up to date row by row.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bailiwick_api::quota::{Account, Amounts, Reservation};
use bailiwick_machinery::Quantity;
use bailiwick_storage::cache::Snapshot;
use tokio::time::Instant;

use super::ledger::{AccountRow, Rows, Spec, nothing_of, read};
use crate::error::Result;

/// What is known of an allocation.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) spec: Arc<Spec>,
    projects: HashMap<String, Rank>,
    ranks: BTreeSet<(Rank, String)>,
    uncovered: BTreeSet<String>,
    /// What all of them have.
    charge: Amounts,
}

/// How much a project has of each resource; who has most comes first.
type Rank = Reverse<Vec<Quantity>>;

// === impl Picture ===

impl Picture {
    /// All there is in a state.
    pub(super) fn of(spec: Spec, rows: &Rows, state: &Snapshot) -> Result<(Self, Vec<(String, Account)>)> {
        let accounts = rows.accounts(&spec.allocation.name)?;
        let (projects, ranks, uncovered) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
        let charge = nothing_of(&spec);
        let mut picture = Self { spec: Arc::new(spec), projects, ranks, uncovered, charge };
        let mut found = Vec::new();
        for row in state.range(&accounts, None) {
            let account: Option<AccountRow> = read(Some(row))?;
            let namespace = row.key().name();
            if let Some(account) = picture.spec.current_account(account) {
                picture.set(namespace, &account);
                found.push((namespace.to_owned(), account));
            }
        }
        Ok((picture, found))
    }

    pub(super) fn set(&mut self, namespace: &str, account: &Account) {
        self.remove(namespace);
        let hard = &self.spec.allocation.hard;
        let rank: Rank = Reverse(hard.resources().map(|resource| account.charge.of(resource)).collect());
        self.charge.add(&amounts(&self.spec, &rank));
        self.ranks.insert((rank.clone(), namespace.to_owned()));
        self.projects.insert(namespace.to_owned(), rank);
        if account.uncovered(&self.spec.allocation).next().is_some() {
            self.uncovered.insert(namespace.to_owned());
        }
    }

    pub(super) fn remove(&mut self, namespace: &str) {
        if let Some(rank) = self.projects.remove(namespace) {
            self.charge.subtract(&amounts(&self.spec, &rank));
            self.ranks.remove(&(rank, namespace.to_owned()));
            self.uncovered.remove(namespace);
        }
    }

    /// What all projects have.
    pub(super) fn charge(&self) -> &Amounts {
        &self.charge
    }

    pub(super) fn project_count(&self) -> usize {
        self.projects.len()
    }

    pub(super) fn has(&self, namespace: &str) -> bool {
        self.projects.contains_key(namespace)
    }

    pub(super) fn projects(&self) -> impl Iterator<Item = &String> {
        self.projects.keys()
    }

    /// The projects that have most, those with most first.
    pub(super) fn largest(&self, most: usize) -> impl Iterator<Item = &str> {
        self.ranks.iter().take(most).map(|(_, namespace)| namespace.as_str())
    }

    /// The projects that are not limited in everything.
    pub(super) fn uncovered(&self) -> &BTreeSet<String> {
        &self.uncovered
    }
}

/// Where something is reserved of which is not known yet what became of it, and since when that is known here. Who reserves
/// it may have another idea of the time, so its own does not count.
#[derive(Debug, Default)]
pub(super) struct Reserved {
    by_place: HashMap<Place, Vec<(Reservation, Instant)>>,
    in_order: BTreeSet<(Instant, Place)>,
    count: usize,
}

/// A project of an allocation.
type Place = (String, String);

// === impl Reserved ===

impl Reserved {
    /// Notes what is reserved in an account.
    pub(super) fn note(&mut self, allocation: &str, namespace: &str, account: Option<&Account>) {
        let place = (allocation.to_owned(), namespace.to_owned());
        let known = self.by_place.remove(&place).unwrap_or_default();
        self.count -= known.len();
        if let Some(since) = first_of(&known) {
            self.in_order.remove(&(since, place.clone()));
        }
        let now = Instant::now();
        let since = |reservation: &Reservation| {
            known.iter().find(|(known, _)| known == reservation).map_or(now, |(_, since)| *since)
        };
        let reserved = account.map_or(&[][..], |account| &account.reserved);
        let reserved: Vec<_> = reserved.iter().map(|one| (one.clone(), since(one))).collect();
        self.count += reserved.len();
        if let Some(since) = first_of(&reserved) {
            self.in_order.insert((since, place.clone()));
            self.by_place.insert(place, reserved);
        }
    }

    /// Forgets what is reserved of an allocation in other projects than these.
    pub(super) fn keep_only(&mut self, allocation: &str, namespaces: &BTreeSet<&str>) {
        let is_over = |place: &&Place| place.0 == allocation && !namespaces.contains(place.1.as_str());
        let over: Vec<Place> = self.by_place.keys().filter(is_over).cloned().collect();
        over.iter().for_each(|(allocation, namespace)| self.note(allocation, namespace, None));
    }

    /// Forgets what is reserved of other allocations than these.
    pub(super) fn keep_allocations(&mut self, is_kept: impl Fn(&str) -> bool) {
        let over: Vec<Place> = self.by_place.keys().filter(|place| !is_kept(&place.0)).cloned().collect();
        over.iter().for_each(|(allocation, namespace)| self.note(allocation, namespace, None));
    }

    /// How many reservations there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Since when something is reserved.
    pub(super) fn first(&self) -> Option<Instant> {
        self.in_order.first().map(|(since, _)| *since)
    }

    /// What is reserved for so long already, by namespace.
    pub(super) fn for_longer_than(&self, long: Duration) -> BTreeMap<String, Vec<Reservation>> {
        let mut found: BTreeMap<String, Vec<Reservation>> = BTreeMap::new();
        for (_, place) in self.in_order.iter().take_while(|(since, _)| since.elapsed() > long) {
            let reserved = self.by_place.get(place).into_iter().flatten();
            let old = reserved.filter(|(_, since)| since.elapsed() > long).map(|(reservation, _)| reservation.clone());
            found.entry(place.1.clone()).or_default().extend(old);
        }
        found
    }
}

/// What a project has that is ranked so.
fn amounts(spec: &Spec, Reverse(rank): &Rank) -> Amounts {
    spec.allocation.hard.resources().map(str::to_owned).zip(rank.iter().cloned()).collect()
}

fn first_of(reserved: &[(Reservation, Instant)]) -> Option<Instant> {
    reserved.iter().map(|(_, since)| *since).min()
}
