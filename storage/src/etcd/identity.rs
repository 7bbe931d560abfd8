//! Which store this is, and whether it still is the one that was opened.
//!
//! Below its root a store has a record with an id that is made once. Every read and every write checks it in the same
//! transaction, because an etcd that was re-created at the same address answers politely that nothing exists, and
//! "does not exist" makes garbage collectors delete what depends on it. Once another store is found the engine is
//! fenced: everything fails until someone looks at it.
//!
//! The record also holds the base, which is added to etcd's revisions to make the public ones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use etcd_client::{Compare, CompareOp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::revision::Revision;

/// The form in which data is laid out below the root.
pub(super) const FORMAT: u32 = 1;

/// etcd's revisions are never negative, and the base is no larger than this, so their sum fits.
pub(super) const MAX_BASE: u64 = i64::MAX as u64;

/// What stands in a store's identity record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    /// The form of the layout.
    pub(super) format: u32,
    /// Made once, when the store was.
    pub(super) id: Uuid,
    /// What is added to etcd's revisions.
    pub(super) base: u64,
}

/// The store that was opened.
pub(super) struct Identity {
    meta: Meta,
    /// The record as it is stored.
    record: Vec<u8>,
    /// etcd's own id of the cluster.
    cluster: u64,
    /// The newest revision of etcd that any answer has told.
    seen: AtomicU64,
    /// Set once another store was found, with how that showed.
    fenced: OnceLock<Arc<str>>,
}

/// A revision that was seen before a question was asked. The answer must not be older.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floor(u64);

// === impl Meta ===

impl Meta {
    /// A new store's.
    pub(super) fn fresh(base: u64) -> Self {
        Self { format: FORMAT, id: Uuid::new_v4(), base }
    }
}

// === impl Identity ===

impl Identity {
    pub(super) fn new(meta: Meta, record: Vec<u8>, cluster: u64, revision: i64) -> Self {
        Self { meta, record, cluster, seen: AtomicU64::new(unsigned(revision)), fenced: OnceLock::new() }
    }

    /// Fails if another store was found.
    pub(super) fn check(&self) -> Result<()> {
        match self.fenced.get() {
            None => Ok(()),
            Some(reason) => Err(Error::Replaced { reason: reason.clone() }),
        }
    }

    /// The condition that etcd still holds this store, for a transaction.
    pub(super) fn guard(&self, place: &str) -> Compare {
        Compare::value(place, CompareOp::Equal, self.record.clone())
    }

    /// To be taken before asking.
    pub(super) fn floor(&self) -> Floor {
        Floor(self.seen.load(Ordering::SeqCst))
    }

    /// The newest revision of etcd seen so far.
    pub(super) fn seen(&self) -> i64 {
        i64::try_from(self.seen.load(Ordering::SeqCst)).unwrap_or(i64::MAX)
    }

    /// Checks and remembers what any answer's header says.
    pub(super) fn observe(&self, cluster: u64, revision: i64) -> Result<()> {
        self.check()?;
        if cluster != self.cluster {
            return Err(self
                .fence(format!("the cluster {:x} was opened, and now the cluster {cluster:x} answers", self.cluster)));
        }
        self.seen.fetch_max(unsigned(revision), Ordering::SeqCst);
        Ok(())
    }

    /// Checks the revision of an answer that no member may give from a state older than the question.
    pub(super) fn observe_newest(&self, floor: Floor, revision: i64) -> Result<()> {
        if unsigned(revision) < floor.0 {
            return Err(self.fence(format!("revision {} had been reached, and now the newest is {revision}", floor.0)));
        }
        Ok(())
    }

    /// Checks the identity record, as found in the newest state.
    pub(super) fn verify(&self, found: Option<&[u8]>) -> Result<()> {
        match found {
            Some(record) if record == self.record => Ok(()),
            None => Err(self.fence(format!("the store {} was opened, and now there is none", self.meta.id))),
            Some(record) => {
                let found = match serde_json::from_slice::<Meta>(record) {
                    Ok(meta) => format!("{} with base {}", meta.id, meta.base),
                    Err(_) => "one that cannot be read".to_owned(),
                };
                Err(self.fence(format!(
                    "the store {} with base {} was opened, and now there is {found}",
                    self.meta.id, self.meta.base
                )))
            }
        }
    }

    /// Whether the identity record is as it was, without drawing a conclusion: a member that lags may not have it yet.
    pub(super) fn matches(&self, found: Option<&[u8]>) -> bool {
        found == Some(&self.record)
    }

    /// The public revision for one of etcd's.
    pub(super) fn public(&self, revision: i64) -> Revision {
        Revision::new(self.meta.base.saturating_add(unsigned(revision)))
    }

    /// etcd's revision for a public one: none if it is older than the store or newer than etcd can ever become.
    pub(super) fn physical(&self, revision: Revision) -> Physical {
        match revision.get().checked_sub(self.meta.base) {
            None => Physical::BeforeBase,
            Some(number) => i64::try_from(number).map_or(Physical::Unreachable, Physical::Of),
        }
    }

    fn fence(&self, how: String) -> Error {
        let reason = self.fenced.get_or_init(|| {
            let reason = format!(
                "etcd was re-created or restored: {how}. If it was restored from a snapshot, restore it again with \
                 `etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted`; or restart Bailiwick to accept \
                 what is there now"
            );
            tracing::error!(reason, "the store was replaced by another");
            reason.into()
        });
        Error::Replaced { reason: reason.clone() }
    }
}

/// Where a public revision lies in etcd's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Physical {
    /// Before this store began.
    BeforeBase,
    /// At this revision of etcd.
    Of(i64),
    /// Beyond what etcd can count to.
    Unreachable,
}

fn unsigned(revision: i64) -> u64 {
    u64::try_from(revision).unwrap_or(0)
}

#[cfg(test)]
mod tests;
