//! What makes counting exact: two kinds of private rows. They hold nothing; it matters when they were written.
//!
//! * `rules/<namespace>` is there as long as the namespace has quotas, and is written with each change of one. Whoever makes
//!   an object requires that it is as it was when they looked: so none slips past a quota that is being made.
//! * `turns/<namespace>/<resource>` is written with each object that some quota of its namespace counts. What was counted in
//!   a state in which the row is as old as in the next transaction is still the count then, or too high: who removes an
//!   object writes no row, and is never held up by one.
//!
//! So there is no second count that could disagree with the objects there are:
//!
//! ```text
//! state at 41: turns/a/configmaps written at 40, two config maps, quota of three
//! create ──▶ { config map, turns/a/configmaps if still of 40 } ──▶ 42: three config maps
//! create ──▶ { config map, turns/a/configmaps if still of 40 } ──▶ refused by the store; asked again at 42: three of three
//! ```

use bailiwick_storage::cache::Snapshot;
use bailiwick_storage::{Expected, Key, KeyError, Ledger, Prefix, Revision, Txn};
use bytes::Bytes;

use crate::kind::Kind;

/// How many rows are removed with the last quota of a namespace. A namespace has one for each kind that was counted; what
/// is left of more does no harm.
const MAX_FORGOTTEN: usize = 64;

/// The rows of quotas.
#[derive(Debug)]
pub(super) struct Rows(Ledger);

// === impl Rows ===

impl Rows {
    pub(super) fn new() -> Result<Self, KeyError> {
        Ledger::new("quotas").map(Self)
    }

    pub(super) fn rules(&self, namespace: &str) -> Result<Key, KeyError> {
        self.0.row(&["rules"], namespace)
    }

    /// The row of a kind in a namespace. Kinds that are served in several groups have one: that of their storage.
    pub(super) fn turn(&self, namespace: &str, kind: &Kind) -> Result<Key, KeyError> {
        let stored = kind.keys().all().as_str().trim_end_matches('/');
        let resource = stored.rsplit('/').take(2).collect::<Vec<_>>().join(".");
        self.0.row(&["turns", namespace], &resource)
    }

    fn turns(&self, namespace: &str) -> Result<Prefix, KeyError> {
        self.0.below(&["turns", namespace])
    }

    /// Writes the rules of a namespace.
    pub(super) fn change_rules(&self, namespace: &str, state: &Snapshot, txn: Txn) -> Result<Txn, KeyError> {
        Ok(written(self.rules(namespace)?, state, txn))
    }

    /// Removes all rows of a namespace that has no quota any more.
    pub(super) fn forget(&self, namespace: &str, state: &Snapshot, txn: Txn) -> Result<Txn, KeyError> {
        let (rules, turns) = (self.rules(namespace)?, self.turns(namespace)?);
        let rules = state.get(&rules).into_iter();
        let rows = rules.chain(state.range(&turns, None).take(MAX_FORGOTTEN));
        Ok(rows.fold(txn, |txn, row| txn.delete(row.key().clone(), row.revision())))
    }
}

/// Writes a row that is as it is in a state.
pub(super) fn written(row: Key, state: &Snapshot, txn: Txn) -> Txn {
    match revision(&row, state) {
        Some(seen) => txn.update(row, Bytes::new(), seen),
        None => txn.create(row, Bytes::new()),
    }
}

/// Requires that a row is as it is in a state.
pub(super) fn required(row: Key, state: &Snapshot, txn: Txn) -> Txn {
    let expected = revision(&row, state).map_or(Expected::Absent, Expected::At);
    txn.require(row, expected)
}

fn revision(row: &Key, state: &Snapshot) -> Option<Revision> {
    state.get(row).map(|row| row.revision())
}
