//! What the keeper knows of an allocation beyond the ledger: which projects have most, which are not limited, and where
//! something is reserved. Kept up to date row by row.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bailiwick_api::quota::Account;
use bailiwick_machinery::Quantity;
use bailiwick_storage::cache::Snapshot;

use super::ledger::{AccountRow, Rows, Spec, read};
use crate::error::Result;

/// What is known of an allocation.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) spec: Arc<Spec>,
    projects: HashMap<String, Rank>,
    ranks: BTreeSet<(Rank, String)>,
    uncovered: BTreeSet<String>,
}

/// How much a project has of each resource; who has most comes first.
type Rank = Reverse<Vec<Quantity>>;

// === impl Picture ===

impl Picture {
    /// All there is in a state.
    pub(super) fn of(spec: Spec, rows: &Rows, state: &Snapshot) -> Result<(Self, Vec<(String, Account)>)> {
        let accounts = rows.accounts(&spec.allocation.name)?;
        let (projects, ranks, uncovered) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
        let mut picture = Self { spec: Arc::new(spec), projects, ranks, uncovered };
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
        self.ranks.insert((rank.clone(), namespace.to_owned()));
        self.projects.insert(namespace.to_owned(), rank);
        if account.uncovered(&self.spec.allocation).next().is_some() {
            self.uncovered.insert(namespace.to_owned());
        }
    }

    pub(super) fn remove(&mut self, namespace: &str) {
        if let Some(rank) = self.projects.remove(namespace) {
            self.ranks.remove(&(rank, namespace.to_owned()));
            self.uncovered.remove(namespace);
        }
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

/// Where something is reserved of which is not known yet what became of it, and since when.
#[derive(Debug, Default)]
pub(super) struct Reserved {
    /// By place, since when, and how many.
    since: HashMap<Place, (i64, usize)>,
    in_order: BTreeSet<(i64, Place)>,
    count: usize,
}

/// A project of an allocation.
type Place = (String, String);

// === impl Reserved ===

impl Reserved {
    /// Notes what is reserved in an account.
    pub(super) fn note(&mut self, allocation: &str, namespace: &str, account: Option<&Account>) {
        let place = (allocation.to_owned(), namespace.to_owned());
        if let Some((since, count)) = self.since.remove(&place) {
            self.in_order.remove(&(since, place.clone()));
            self.count -= count;
        }
        let reserved = account.map_or(&[][..], |account| &account.reserved);
        if let Some(since) = reserved.iter().map(|reservation| reservation.since).min() {
            self.since.insert(place.clone(), (since, reserved.len()));
            self.in_order.insert((since, place));
            self.count += reserved.len();
        }
    }

    /// How many reservations there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Since when something is reserved.
    pub(super) fn first(&self) -> Option<i64> {
        self.in_order.first().map(|(since, _)| *since)
    }

    /// The namespaces in which something is reserved since before then.
    pub(super) fn before(&self, then: i64) -> BTreeSet<String> {
        self.in_order
            .iter()
            .take_while(|(since, _)| *since < then)
            .map(|(_, (_, namespace))| namespace.clone())
            .collect()
    }
}
