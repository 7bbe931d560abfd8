//! The rows in which it stands who has how much: private, and written by the desk only, but for the first two.
//!
//! | row | what it holds | written with |
//! |---|---|---|
//! | `specs/<allocation>` | what counts of an allocation | each change of the allocation's spec |
//! | `book/specs` | which spec was changed last | each of these changes: who decides requires that there was none |
//! | `totals/<allocation>` | what all its projects have | each change of one of its accounts |
//! | `accounts/<allocation>/<namespace>` | what one project has, and what was promised to it | each promise, and what becomes of it |
//!
//! A total is the sum of the accounts of its epoch. What is of another epoch counts for nothing: so an allocation that
//! begins to select, or to count, something else is counted anew without touching the rows there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_api::quota::{Account, Allocation, Amounts};
use bailiwick_storage::cache::{Object, Snapshot};
use bailiwick_storage::{Expected, Key, KeyError, Ledger, Prefix};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::virtual_kind::Touched;

/// Where the rows are.
#[derive(Clone, Debug)]
pub(crate) struct Rows(Ledger);

/// What counts of an allocation, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SpecRow {
    /// Another one where other projects or other quotas count than before.
    pub(super) epoch: String,
    pub(super) spec: Value,
}

/// What counts of an allocation.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) epoch: String,
    pub(crate) allocation: Allocation,
}

/// What all projects of an allocation have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Total {
    pub(crate) epoch: String,
    /// Whether all projects have been counted: before, nothing more can be promised.
    pub(crate) counted: bool,
    pub(crate) charge: Amounts,
}

/// What one project has of an allocation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct AccountRow {
    pub(crate) epoch: String,
    #[serde(flatten)]
    pub(crate) account: Account,
}

/// The specs of all allocations, read again when one of them has changed.
#[derive(Debug, Default)]
pub(crate) struct Book {
    /// What the row was like that changes with all of them; none before they were read.
    version: Option<Expected>,
    specs: BTreeMap<String, Arc<Spec>>,
}

// === impl Rows ===

impl Rows {
    pub(crate) fn new() -> Result<Self> {
        Ledger::new("allocations").map(Self).map_err(bad_key)
    }

    pub(crate) fn all(&self) -> &Prefix {
        self.0.all()
    }

    pub(super) fn specs(&self) -> Result<Prefix> {
        self.0.below(&["specs"]).map_err(bad_key)
    }

    pub(crate) fn spec(&self, allocation: &str) -> Result<Key> {
        self.0.row(&["specs"], allocation).map_err(bad_key)
    }

    /// The row that changes with each spec.
    pub(super) fn book(&self) -> Result<Key> {
        self.0.row(&["book"], "specs").map_err(bad_key)
    }

    pub(crate) fn total(&self, allocation: &str) -> Result<Key> {
        self.0.row(&["totals"], allocation).map_err(bad_key)
    }

    pub(crate) fn accounts(&self, allocation: &str) -> Result<Prefix> {
        self.0.below(&["accounts", allocation]).map_err(bad_key)
    }

    pub(crate) fn account(&self, allocation: &str, namespace: &str) -> Result<Key> {
        self.0.row(&["accounts", allocation], namespace).map_err(bad_key)
    }

    /// The allocation and the namespace of an account's row; nothing for other rows.
    pub(super) fn place<'k>(&self, key: &'k Key) -> Option<(&'k str, &'k str)> {
        let rest = self.0.all().relative(key)?.strip_prefix("accounts/")?;
        rest.split_once('/')
    }

    /// The allocation of a total's row; nothing for other rows.
    pub(super) fn totalled<'k>(&self, key: &'k Key) -> Option<&'k str> {
        self.0.all().relative(key)?.strip_prefix("totals/")
    }

    /// What projects are told of that may be something else when a row has changed.
    pub(crate) fn touched<'k>(&self, key: &'k Key) -> Touched<'k> {
        if let Some((name, namespace)) = self.place(key) {
            return Touched::One { namespace, name };
        }
        // Without an account nobody is told anything, so nothing comes by these.
        let spec = || self.0.all().relative(key)?.strip_prefix("specs/");
        self.totalled(key).or_else(spec).map_or(Touched::Nothing, Touched::Named)
    }

    /// The names of all allocations in a state, in order.
    pub(crate) fn names(&self, state: &Snapshot) -> Result<Vec<String>> {
        Ok(state.range(&self.specs()?, None).map(|row| row.key().name().to_owned()).collect())
    }

    /// The names of all allocations, of those that are no more too, of which there are accounts or a total in a state.
    pub(super) fn left(&self, state: &Snapshot) -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for part in ["totals", "accounts"] {
            for row in state.range(&self.0.below(&[part]).map_err(bad_key)?, None) {
                let name = self.totalled(row.key()).or_else(|| self.place(row.key()).map(|(allocation, _)| allocation));
                if let Some(name) = name.filter(|name| !found.contains(*name)) {
                    found.insert(name.to_owned());
                }
            }
        }
        Ok(found)
    }

    /// The specs in a state, in the order of their allocations' names.
    pub(crate) fn read_specs(&self, state: &Snapshot) -> Result<Vec<Spec>> {
        state.range(&self.specs()?, None).map(|row| Spec::read(row)).collect()
    }

    /// The spec of one allocation in a state.
    pub(crate) fn read_spec(&self, state: &Snapshot, allocation: &str) -> Result<Option<Spec>> {
        state.get(&self.spec(allocation)?).map(|row| Spec::read(row)).transpose()
    }

    /// The total of an allocation in a state; nothing has been counted yet if it is of another epoch.
    pub(crate) fn read_total(&self, state: &Snapshot, spec: &Spec) -> Result<Total> {
        let found: Option<Total> = read(state.get(&self.total(&spec.allocation.name)?))?;
        Ok(spec.current_total(found))
    }

    /// What a project has of an allocation in a state.
    pub(crate) fn read_account(&self, state: &Snapshot, spec: &Spec, namespace: &str) -> Result<Option<Account>> {
        let found: Option<AccountRow> = read(state.get(&self.account(&spec.allocation.name, namespace)?))?;
        Ok(spec.current_account(found))
    }
}

// === impl Spec ===

impl Spec {
    pub(super) fn read(row: &Object) -> Result<Self> {
        let name = row.key().name();
        let SpecRow { epoch, spec } = parse(row)?;
        let allocation =
            Allocation::from_json(name, &spec).map_err(|error| unreadable(row.key(), error.to_string()))?;
        Ok(Self { epoch, allocation })
    }

    pub(super) fn current_total(&self, found: Option<Total>) -> Total {
        let fresh = || Total { epoch: self.epoch.clone(), ..Total::default() };
        found.filter(|total| total.epoch == self.epoch).unwrap_or_else(fresh)
    }

    /// What a project has, by its row.
    pub(crate) fn account(&self, row: &Object) -> Result<Option<Account>> {
        Ok(self.current_account(Some(parse(row)?)))
    }

    pub(super) fn current_account(&self, found: Option<AccountRow>) -> Option<Account> {
        found.filter(|row| row.epoch == self.epoch).map(|row| row.account)
    }
}

// === impl Book ===

impl Book {
    /// Reads them if one has changed. What cannot be read stops whoever relies on it: nothing is allowed on the ground of a part.
    pub(super) fn refresh(&mut self, rows: &Rows, state: &Snapshot) -> Result<()> {
        let version = expected(state, &rows.book()?);
        if self.version == Some(version) {
            return Ok(());
        }
        let specs = rows.read_specs(state)?.into_iter();
        self.specs = specs.map(|spec| (spec.allocation.name.clone(), Arc::new(spec))).collect();
        self.version = Some(version);
        Ok(())
    }

    /// What the row must be like that changes with all specs, so that these are still the specs there are.
    pub(super) fn version(&self) -> Expected {
        self.version.unwrap_or(Expected::Absent)
    }

    /// Whether these are just the specs in a state.
    pub(super) fn is_of(&self, rows: &Rows, state: &Snapshot) -> Result<bool> {
        Ok(self.version == Some(expected(state, &rows.book()?)))
    }

    /// In the order of their allocations' names.
    pub(super) fn specs(&self) -> impl Iterator<Item = &Arc<Spec>> {
        self.specs.values()
    }

    pub(super) fn spec(&self, allocation: &str) -> Option<&Arc<Spec>> {
        self.specs.get(allocation)
    }
}

/// What an allocation without projects comes to.
pub(super) fn nothing_of(spec: &Spec) -> Amounts {
    spec.allocation.hard.resources().map(|name| (name.to_owned(), Default::default())).collect()
}

/// What a row is like in a state.
pub(super) fn expected(state: &Snapshot, key: &Key) -> Expected {
    state.get(key).map_or(Expected::Absent, |row| Expected::At(row.revision()))
}

/// The row, if there is one.
pub(super) fn read<T: DeserializeOwned>(row: Option<&Arc<Object>>) -> Result<Option<T>> {
    row.map(|row| parse(row)).transpose()
}

fn parse<T: DeserializeOwned>(row: &Object) -> Result<T> {
    let body = row.body().map_err(|error| unreadable(row.key(), error.to_string()))?;
    serde_json::from_slice(body).map_err(|error| unreadable(row.key(), error.to_string()))
}

pub(super) fn unreadable(key: &Key, why: String) -> Error {
    Error::Failed { what: "a decision about quotas", why: format!("{}: {why}", key.as_str()) }
}

pub(super) fn bad_key(error: KeyError) -> Error {
    Error::Failed { what: "a row of a quota allocation", why: error.to_string() }
}
