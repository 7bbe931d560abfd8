//! A workload whose every prefix can be recognised: whatever a store holds after a crash is either the state after some
//! number of steps, or wrong.
//!
//! Step `n` creates the widget `n`, counts itself in a ledger row, and creates or deletes a gadget every other time, all
//! in one transaction. A torn transaction therefore fits no number of steps.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::fixtures::{gadget, key, row};
use crate::error::Result;
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::store::{At, ListOptions, Store};
use crate::txn::Txn;

/// The workload, at some step.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    done: usize,
    counter: Option<Revision>,
    gadget: Option<Revision>,
}

impl Sequence {
    /// Goes on where a store stands. Fails if what it holds is not the state after some number of steps.
    pub async fn resume(store: &dyn Store) -> Result<Self, String> {
        let page = store.list(&Prefix::everything(), ListOptions::latest()).await.map_err(|error| error.to_string())?;
        let found: BTreeMap<Key, Bytes> =
            page.records.iter().map(|record| (record.key.clone(), record.value.clone())).collect();
        let done = found.keys().filter(|key| key.as_str().contains("/widgets/")).count();
        let expected = expected(done);
        if let Some(difference) = difference(&expected, &found) {
            return Err(format!("after {done} steps: {difference}"));
        }
        let newest = page.records.iter().map(|record| record.revision).max().unwrap_or_default();
        if newest > page.revision {
            return Err(format!("a record of revision {newest} in a list of revision {}", page.revision));
        }
        let revision = |wanted: &Key| page.records.iter().find(|record| record.key == *wanted).map(|r| r.revision);
        Ok(Self { done, counter: revision(&row(0)), gadget: revision(&gadget(&gadget_name(done))) })
    }

    /// How many steps were done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Does the next step.
    pub async fn step(&mut self, store: &dyn Store) -> Result<Revision> {
        let n = self.done;
        let mut txn = Txn::new().create(widget(n), payload(n));
        txn = match self.counter {
            None => txn.create(row(0), count(n)),
            Some(seen) => txn.update(row(0), count(n), seen),
        };
        let gadget_key = gadget(&gadget_name(n));
        txn = match (n % 4, self.gadget) {
            (1, _) => txn.create(gadget_key, payload(n)),
            (3, Some(seen)) => txn.delete(gadget_key, seen),
            _ => txn,
        };
        let revision = store.commit(txn).await?;
        self.done += 1;
        self.counter = Some(revision);
        self.gadget = match n % 4 {
            1 => Some(revision),
            3 => None,
            _ => self.gadget,
        };
        Ok(revision)
    }

    /// Whether a read of the past still shows it: the newest state read exactly is the newest state.
    pub async fn check_exact(&self, store: &dyn Store) -> Result<(), String> {
        let read = async {
            let revision = store.revision().await?;
            let latest = store.list(&Prefix::everything(), ListOptions::latest()).await?;
            let exact = store.list(&Prefix::everything(), ListOptions::at(At::Exact(revision))).await?;
            Ok::<_, crate::Error>((latest, exact))
        };
        let (latest, exact) = read.await.map_err(|error| error.to_string())?;
        if latest != exact {
            return Err(format!("the exact list differs from the latest: {exact:?}, {latest:?}"));
        }
        Ok(())
    }
}

fn widget(n: usize) -> Key {
    key("sequence", &format!("{n:06}"))
}

/// The gadget that is there between steps `4k + 1` and `4k + 3`.
fn gadget_name(n: usize) -> String {
    format!("{:06}", n / 4)
}

fn payload(n: usize) -> Bytes {
    // Sizes from a few bytes to several pages.
    let size = 16 + (n * 977) % 6_000;
    format!("{n:08}").into_bytes().into_iter().cycle().take(size).collect::<Vec<_>>().into()
}

fn count(n: usize) -> Bytes {
    format!("{n:08}").into_bytes().into()
}

fn expected(done: usize) -> BTreeMap<Key, Bytes> {
    let mut state: BTreeMap<Key, Bytes> = (0..done).map(|n| (widget(n), payload(n))).collect();
    if let Some(last) = done.checked_sub(1) {
        state.insert(row(0), count(last));
        if matches!(last % 4, 1 | 2) {
            let created = last - (last % 4) + 1;
            state.insert(gadget(&gadget_name(last)), payload(created));
        }
    }
    state
}

fn difference(expected: &BTreeMap<Key, Bytes>, found: &BTreeMap<Key, Bytes>) -> Option<String> {
    let missing = expected.keys().find(|key| !found.contains_key(*key)).map(|key| format!("{key} is missing"));
    let extra = found.keys().find(|key| !expected.contains_key(*key)).map(|key| format!("{key} should not be there"));
    let wrong = expected.iter().find(|(key, value)| found.get(*key).is_some_and(|found| found != *value));
    missing.or(extra).or(wrong.map(|(key, _)| format!("{key} has a wrong value")))
}
