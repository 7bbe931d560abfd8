//! Decisions about quotas, on the ground of one state.

use std::sync::Arc;

use bailiwick_api::quota::{Account, Amounts, Change, QuotaFacts, Refusal, decide};
use bailiwick_storage::Key;

use super::draft::{Draft, MAX_ROWS};
use super::ledger::{AccountRow, Book, Rows, Spec, Total, read};
use super::source::{Labels, Project};
use crate::error::Result;

/// By how many allocations one project can be selected: all of them must be written together.
pub(super) const MAX_ALLOCATIONS: usize = MAX_ROWS / 2;

/// What was decided about a change.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It fits, and what it needs is reserved.
    Fits,
    /// It does not fit.
    Refused(Vec<Refused>),
    /// The projects of these allocations have not been counted yet.
    Counting(Vec<String>),
    /// So many allocations select the project that they cannot be written together.
    TooMany(usize),
    /// There is no room for it in this transaction.
    Postponed,
}

/// Why a change does not fit into an allocation.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) spec: Arc<Spec>,
    pub(super) refusal: Refusal,
}

/// What became of bringing accounts in line.
pub(super) struct Settled {
    /// Whether nothing is left to do.
    pub(super) finished: bool,
    /// How many reservations have come to nothing.
    pub(super) released: usize,
}

/// What decisions are made with.
pub(super) struct Evaluation<'e, 's> {
    pub(super) rows: &'e Rows,
    pub(super) book: &'e Book,
    pub(super) draft: &'e mut Draft<'s>,
}

/// What a project has of an allocation, and what all have.
struct Holding {
    spec: Arc<Spec>,
    total: Total,
    /// What stands in the ledger.
    known: Option<Account>,
}

// === impl Evaluation ===

impl Evaluation<'_, '_> {
    /// Decides about a change of a ResourceQuota, and reserves what it needs. In a trial nothing is reserved.
    pub(super) fn reserve(
        &mut self,
        namespace: &str,
        labels: &Labels,
        quotas: &[QuotaFacts],
        change: &Change,
        is_trial: bool,
    ) -> Result<Verdict> {
        let selecting: Vec<Arc<Spec>> = self.selecting(namespace, labels).cloned().collect();
        if selecting.len() > MAX_ALLOCATIONS {
            return Ok(Verdict::TooMany(selecting.len()));
        }
        if self.draft.is_too_full_for(2 * selecting.len()) {
            return Ok(Verdict::Postponed);
        }
        let (mut refused, mut counting, mut promised) = (Vec::new(), Vec::new(), Vec::new());
        for spec in selecting {
            let holding = self.holding(&spec, namespace)?;
            let counted = holding.counted();
            let account = match &holding.known {
                Some(account) => account.clone(),
                None => Account::of(quotas.iter().cloned(), &spec.allocation),
            };
            match decide(&spec.allocation, &holding.total.charge, &counted, &account, change) {
                Err(refusal) => refused.push(Refused { spec, refusal }),
                Ok(after) if holding.known.is_some() && after.charge == counted => {}
                Ok(_) if !holding.total.counted => counting.push(spec.allocation.name.clone()),
                Ok(after) => promised.push((holding, after)),
            }
        }
        if !refused.is_empty() {
            return Ok(Verdict::Refused(refused));
        }
        if !counting.is_empty() {
            return Ok(Verdict::Counting(counting));
        }
        if !is_trial {
            for (holding, after) in promised {
                self.set(namespace, holding, Some(after))?;
            }
        }
        Ok(Verdict::Fits)
    }

    /// Brings the accounts of a project in line with its ResourceQuotas. Reservations that were made before
    /// `released_before` and have come to nothing end. There may be more to do than fits.
    pub(super) fn settle(&mut self, namespace: &str, project: &Project, released_before: i64) -> Result<Settled> {
        let mut released = 0;
        let specs: Vec<Arc<Spec>> = self.book.specs().cloned().collect();
        for spec in specs {
            if self.draft.is_too_full_for(2) {
                return Ok(Settled { finished: false, released });
            }
            let selected = project.labels.as_ref().is_some_and(|labels| selects(&spec, namespace, labels));
            let key = self.rows.account(&spec.allocation.name, namespace)?;
            let row: Option<AccountRow> = self.draft.read(&key)?;
            match (selected, row) {
                (false, None) => {}
                (false, Some(row)) if row.epoch != spec.epoch => self.draft.remove(key),
                (false, Some(_)) => {
                    let holding = self.holding(&spec, namespace)?;
                    self.set(namespace, holding, None)?;
                }
                (true, _) => {
                    let holding = self.holding(&spec, namespace)?;
                    let mut account = holding.known.clone().unwrap_or_default();
                    let allocation = &spec.allocation;
                    account.settle(with_unseen(&account, project), allocation);
                    let reserved = account.reserved.len();
                    account.release(|reserved| reserved.since < released_before, allocation);
                    released += reserved - account.reserved.len();
                    if holding.known.as_ref().is_none_or(|known| differs(known, &account)) {
                        self.set(namespace, holding, Some(account))?;
                    }
                }
            }
        }
        Ok(Settled { finished: true, released })
    }

    /// Adds up what the projects of an allocation have, now that each of them has an account; what was added up before is
    /// replaced if it was wrong.
    pub(super) fn count(&mut self, allocation: &str) -> Result<bool> {
        let Some(spec) = self.book.specs().find(|spec| spec.allocation.name == allocation).cloned() else {
            return Ok(true);
        };
        if self.draft.is_too_full_for(1) {
            return Ok(false);
        }
        let accounts = self.rows.accounts(allocation)?;
        let mut charge: Amounts =
            spec.allocation.hard.resources().map(|name| (name.to_owned(), Default::default())).collect();
        let mut add = |row: Option<AccountRow>| {
            if let Some(account) = spec.current_account(row) {
                charge.add(&account.charge);
            }
        };
        for row in self.draft.state.range(&accounts, None) {
            if !self.draft.changed().contains_key(row.key()) {
                add(read(Some(row))?);
            }
        }
        let changed: Vec<Key> = self.draft.changed().keys().filter(|key| accounts.contains(key)).cloned().collect();
        for key in changed {
            add(self.draft.read(&key)?);
        }
        let key = self.rows.total(allocation)?;
        let total = Total { epoch: spec.epoch.clone(), counted: true, charge };
        if self.draft.read::<Total>(&key)?.as_ref() != Some(&total) {
            self.draft.write(key, &total)?;
        }
        Ok(true)
    }

    /// Removes rows of an allocation that is no more. False if there is more to do.
    pub(super) fn forget(&mut self, allocation: &str) -> Result<bool> {
        if self.book.specs().any(|spec| spec.allocation.name == allocation) {
            return Ok(true);
        }
        let total = self.rows.total(allocation)?;
        let accounts = self.rows.accounts(allocation)?;
        let found = self.draft.state.range(&accounts, None).map(|row| row.key().clone());
        let found: Vec<Key> = found.chain(self.draft.state.get(&total).map(|_| total.clone())).collect();
        for key in found {
            if self.draft.is_too_full_for(1) {
                return Ok(false);
            }
            self.draft.remove(key);
        }
        Ok(true)
    }

    fn selecting<'a>(&'a self, namespace: &'a str, labels: &'a Labels) -> impl Iterator<Item = &'a Arc<Spec>> {
        self.book.specs().filter(move |spec| selects(spec, namespace, labels))
    }

    fn holding(&self, spec: &Arc<Spec>, namespace: &str) -> Result<Holding> {
        let name = &spec.allocation.name;
        let total = spec.current_total(self.draft.read(&self.rows.total(name)?)?);
        let known = spec.current_account(self.draft.read(&self.rows.account(name, namespace)?)?);
        Ok(Holding { spec: spec.clone(), total, known })
    }

    /// Writes what a project has from now on, and the total with it.
    fn set(&mut self, namespace: &str, holding: Holding, account: Option<Account>) -> Result<()> {
        let counted = holding.counted();
        let Holding { spec, mut total, .. } = holding;
        let name = &spec.allocation.name;
        let charge = account.as_ref().map(|account| account.charge.clone()).unwrap_or_default();
        if charge != counted {
            total.charge.subtract(&counted);
            total.charge.add(&charge);
            self.draft.write(self.rows.total(name)?, &total)?;
        }
        let key = self.rows.account(name, namespace)?;
        match account {
            Some(account) => self.draft.write(key, &AccountRow { epoch: spec.epoch.clone(), account }),
            None => {
                self.draft.remove(key);
                Ok(())
            }
        }
    }
}

// === impl Holding ===

impl Holding {
    /// What the total has of this project.
    fn counted(&self) -> Amounts {
        self.known.as_ref().map(|known| known.charge.clone()).unwrap_or_default()
    }
}

fn selects(spec: &Spec, namespace: &str, labels: &Labels) -> bool {
    spec.allocation.selects(namespace, |key| labels.get(key).map(String::as_str))
}

/// The ResourceQuotas of a project, and those that are known from elsewhere and too new to have been seen.
fn with_unseen(account: &Account, project: &Project) -> Vec<QuotaFacts> {
    let is_unseen = |known: &&QuotaFacts| {
        known.version > project.horizon && !project.quotas.iter().any(|quota| quota.name == known.name)
    };
    project.quotas.iter().chain(account.quotas.iter().filter(is_unseen)).cloned().collect()
}

/// Whether an account must be written anew: what is used of a quota, and its version, matter only if something follows.
fn differs(known: &Account, now: &Account) -> bool {
    let quotas = |account: &Account| -> Vec<_> {
        let facts = |quota: &QuotaFacts| (quota.name.clone(), quota.uid.clone(), quota.spec_hash.clone());
        account.quotas.iter().map(facts).collect()
    };
    known.charge != now.charge || known.reserved != now.reserved || quotas(known) != quotas(now)
}
