//! Decisions about quotas, on the ground of one state.

use std::sync::Arc;

use bailiwick_api::quota::{Account, Amounts, Change, QuotaFacts, Refusal, Reservation, decide};
use bailiwick_storage::cache::Object;
use bailiwick_storage::{Key, Revision};

use super::draft::{Draft, MAX_ROWS};
use super::ledger::{AccountRow, Book, Rows, Spec, Total, nothing_of, read};
use super::source::{Labels, Project};
use crate::error::Result;

/// How many rows of an allocation that is no more are removed at once: whoever wants a decision waits for that, too.
const FORGOTTEN_AT_ONCE: usize = 16;
/// By how many allocations one project can be selected: all of them must be written together.
pub(super) const MAX_ALLOCATIONS: usize = MAX_ROWS / 2;

/// What was decided about a change.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It fits, and what it needs is reserved in these accounts; with the revision of those that are not written with it.
    Fits(Vec<(Key, Option<Revision>)>),
    /// It does not fit.
    Refused(Vec<Refused>),
    /// The projects of these allocations have not been counted yet.
    Counting(Vec<String>),
    /// So many allocations select the project that they cannot be written together.
    TooMany(usize),
    /// The ResourceQuota, or what else is under way in the project, is too large to be written down.
    TooLarge,
}

/// A project in which something is to change.
pub(super) struct Place<'p> {
    pub(super) namespace: &'p str,
    pub(super) labels: &'p Labels,
    /// Its ResourceQuotas, and up to which version they are known, which matter only where it has no account yet.
    pub(super) quotas: &'p dyn Fn() -> (Vec<QuotaFacts>, u64),
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
    /// Whether there is an account that is given up only once the project's labels were asked for.
    pub(super) needs_labels: bool,
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
    /// The same of an allocation that selected or counted something else: nothing of it is in the total.
    before: Option<Account>,
}

// === impl Evaluation ===

impl Evaluation<'_, '_> {
    /// Decides about a change of a ResourceQuota, and reserves what it needs. In a trial nothing is reserved. None if there is
    /// no room for it in this transaction.
    pub(super) fn reserve(&mut self, place: &Place<'_>, change: &Change, is_trial: bool) -> Result<Option<Verdict>> {
        let namespace = place.namespace;
        let selecting: Vec<Arc<Spec>> = self.selecting(namespace, place.labels).cloned().collect();
        if selecting.len() > MAX_ALLOCATIONS {
            return self.hold_without_writing(&selecting, place, change).map(Some);
        }
        if self.draft.is_too_full_for(2 * selecting.len()) {
            return Ok(None);
        }
        let (mut refused, mut counting, mut promised) = (Vec::new(), Vec::new(), Vec::new());
        let (mut accounts, mut is_too_large) = (Vec::new(), false);
        for spec in selecting {
            self.rely_on(&spec, namespace)?;
            let holding = self.holding(&spec, namespace)?;
            let counted = holding.counted();
            let account = holding.account(place);
            match decide(&spec.allocation, &holding.total.charge, &counted, &account, change) {
                Err(refusal) => refused.push(Refused { spec, refusal }),
                // While projects are being counted nobody knows how much there is; but less can be allowed without that.
                Ok(after)
                    if (!holding.total.counted || holding.known.is_some() && after.charge == counted)
                        && after.holds(change, &spec.allocation) => {}
                // Who asks again, as something else has changed, changes nothing for those who ask beside: all of them would
                // have to ask again for ever.
                Ok(after) if holding.known.is_some() && after.charge == counted && account.has_reserved(change) => {
                    accounts.push((self.rows.account(&spec.allocation.name, namespace)?, None));
                }
                Ok(_) if !holding.total.counted => counting.push(spec.allocation.name.clone()),
                Ok(after) if after.is_too_large() => is_too_large = true,
                Ok(after) => promised.push((holding, after)),
            }
        }
        if !refused.is_empty() {
            return Ok(Some(Verdict::Refused(refused)));
        }
        if !counting.is_empty() {
            return Ok(Some(Verdict::Counting(counting)));
        }
        if is_too_large {
            return Ok(Some(Verdict::TooLarge));
        }
        for (holding, after) in promised.into_iter().filter(|_| !is_trial) {
            accounts.push((self.rows.account(&holding.spec.allocation.name, namespace)?, None));
            self.set(namespace, holding, Some(after))?;
        }
        Ok(Some(Verdict::Fits(accounts)))
    }

    /// Decides about a change where more allocations select the project than can be written together: it may happen if
    /// nothing need be written for it.
    fn hold_without_writing(&self, specs: &[Arc<Spec>], place: &Place<'_>, change: &Change) -> Result<Verdict> {
        for spec in specs {
            let holding = self.holding(spec, place.namespace)?;
            let account = holding.account(place);
            let decided = decide(&spec.allocation, &holding.total.charge, &holding.counted(), &account, change);
            if !decided.is_ok_and(|after| after.holds(change, &spec.allocation)) {
                return Ok(Verdict::TooMany(specs.len()));
            }
        }
        Ok(Verdict::Fits(Vec::new()))
    }

    /// Brings the accounts of a project in line with its ResourceQuotas. Reservations that are `over`
    /// and have come to nothing end. There may be more to do than fits.
    ///
    /// Labels that another server told count against what was written down up to a state; our own are those of this state.
    pub(super) fn settle(
        &mut self,
        namespace: &str,
        project: &Project,
        labels_at: Option<Revision>,
        over: &[Reservation],
    ) -> Result<Settled> {
        let (mut released, mut needs_labels) = (0, false);
        let specs: Vec<Arc<Spec>> = self.book.specs().cloned().collect();
        for spec in specs {
            if self.draft.is_too_full_for(2) {
                return Ok(Settled { finished: false, released, needs_labels });
            }
            let selected = project.labels.as_ref().is_some_and(|labels| selects(&spec, namespace, labels));
            let key = self.rows.account(&spec.allocation.name, namespace)?;
            let row: Option<AccountRow> = self.draft.read(&key)?;
            match (selected, row) {
                (false, None) => {}
                (false, Some(_)) if labels_at.is_some_and(|at| self.is_newer(&key, at)) => needs_labels = true,
                (false, Some(row)) if row.epoch != spec.epoch => self.draft.remove(key),
                (false, Some(_)) => {
                    let holding = self.holding(&spec, namespace)?;
                    self.set(namespace, holding, None)?;
                }
                (true, _) => {
                    let holding = self.holding(&spec, namespace)?;
                    let mut account = holding.last_known();
                    let allocation = &spec.allocation;
                    account.settle(project.quotas.iter().cloned(), project.horizon, allocation);
                    let reserved = account.reserved.len();
                    account.release(|reserved| over.contains(reserved), allocation);
                    released += reserved - account.reserved.len();
                    if holding.known.as_ref().is_none_or(|known| differs(known, &account)) {
                        self.set(namespace, holding, Some(account))?;
                    }
                }
            }
        }
        Ok(Settled { finished: true, released, needs_labels })
    }

    /// Adds up what the projects of an allocation have, now that each of them has an account; what was added up before is
    /// replaced if it was wrong. Not if it is of another epoch by now: then not all of them have one.
    pub(super) fn count(&mut self, allocation: &str, epoch: &str) -> Result<bool> {
        let Some(spec) = self.book.spec(allocation).filter(|spec| spec.epoch == epoch).cloned() else {
            return Ok(true);
        };
        if self.draft.is_too_full_for(1) {
            return Ok(false);
        }
        let accounts = self.rows.accounts(allocation)?;
        let mut charge = nothing_of(&spec);
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
        if self.book.spec(allocation).is_some() {
            return Ok(true);
        }
        let total = self.rows.total(allocation)?;
        let accounts = self.rows.accounts(allocation)?;
        let state = self.draft.state;
        let found = state.range(&accounts, None).map(|row| row.key().clone());
        let mut found = found.chain(state.get(&total).map(|_| total.clone()));
        for key in found.by_ref().take(FORGOTTEN_AT_ONCE) {
            if self.draft.is_too_full_for(1) {
                return Ok(false);
            }
            self.draft.remove(key);
        }
        Ok(found.next().is_none())
    }

    fn selecting<'a>(&'a self, namespace: &'a str, labels: &'a Labels) -> impl Iterator<Item = &'a Arc<Spec>> {
        self.book.specs().filter(move |spec| selects(spec, namespace, labels))
    }

    /// Whether a row was written after a state.
    fn is_newer(&self, key: &Key, at: Revision) -> bool {
        let is_newer = |row: &Arc<Object>| row.revision() > at;
        self.draft.changed().contains_key(key) || self.draft.state.get(key).is_some_and(is_newer)
    }

    /// Nothing is written if what a project has of an allocation, or what all have, is something else by then.
    fn rely_on(&mut self, spec: &Spec, namespace: &str) -> Result<()> {
        let name = &spec.allocation.name;
        self.draft.rely_on(self.rows.total(name)?);
        self.draft.rely_on(self.rows.account(name, namespace)?);
        Ok(())
    }

    fn holding(&self, spec: &Arc<Spec>, namespace: &str) -> Result<Holding> {
        let name = &spec.allocation.name;
        let total = spec.current_total(self.draft.read(&self.rows.total(name)?)?);
        let row: Option<AccountRow> = self.draft.read(&self.rows.account(name, namespace)?)?;
        let is_current = row.as_ref().is_some_and(|row| row.epoch == spec.epoch);
        let account = row.map(|row| row.account);
        let (known, before) = if is_current { (account, None) } else { (None, account) };
        Ok(Holding { spec: spec.clone(), total, known, before })
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
    /// What was known of the project when something was last written. What was promised before the allocation began to count
    /// something else may still be written.
    fn last_known(&self) -> Account {
        let before = || self.before.clone().map(|before| before.carried_over(&self.spec.allocation));
        self.known.clone().or_else(before).unwrap_or_default()
    }

    /// What the project has.
    fn account(&self, place: &Place<'_>) -> Account {
        let mut account = self.last_known();
        if self.known.is_none() {
            let (quotas, horizon) = (place.quotas)();
            account.settle(quotas, horizon, &self.spec.allocation);
        }
        account
    }

    /// What the total has of this project.
    fn counted(&self) -> Amounts {
        self.known.as_ref().map(|known| known.charge.clone()).unwrap_or_default()
    }
}

/// Whether an allocation applies to a project.
pub(super) fn selects(spec: &Spec, namespace: &str, labels: &Labels) -> bool {
    spec.allocation.selects(namespace, |key| labels.get(key).map(String::as_str))
}

/// Whether an account must be written anew: what is used of a quota, and its version, matter only if something follows.
fn differs(known: &Account, now: &Account) -> bool {
    let quotas = |account: &Account| -> Vec<_> {
        let facts = |quota: &QuotaFacts| (quota.name.clone(), quota.uid.clone(), quota.spec_hash.clone());
        account.quotas.iter().map(facts).collect()
    };
    known.charge != now.charge || known.reserved != now.reserved || quotas(known) != quotas(now)
}
