//! Holds a namespace to its quotas, however many write at once.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_machinery::{GroupVersion, Object, Quantity};
use bailiwick_storage::cache::Snapshot;
use bailiwick_storage::{Expected, KeyError, Txn};

use super::super::at;
use super::counted::{self, Limits, amount};
use super::ledger::{Rows, required, written};
use crate::admission::{Admission, Proposal};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::read::{encoded, failed};
use crate::registry::Registry;
use crate::served_kind::ServedKind;
use crate::update::Part;

/// Refuses objects beyond what the quotas of their namespace allow.
///
/// In a namespace that has no quota this costs one look into the cache. Removing an object is not its matter.
#[derive(Debug)]
pub struct QuotaEnforcement {
    rows: Rows,
}

// === impl QuotaEnforcement ===

impl QuotaEnforcement {
    /// One that has counted nothing yet; there is nothing to count before a write.
    pub fn new() -> Result<Self, KeyError> {
        Rows::new().map(|rows| Self { rows })
    }

    /// Charges an object to the quotas of its namespace.
    fn charge(&self, state: &Snapshot, quotas: &ServedKind, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let namespace = proposal.namespace();
        let rules = self.rows.rules(namespace).map_err(bad_key)?;
        let kind = proposal.kind.kind();
        // A quota that is made changes the rules itself.
        let is_quota = is_quota(proposal.kind);
        let guarded = |txn| if is_quota { txn } else { required(rules.clone(), state, txn) };
        if state.get(&rules).is_none() || !counted::is_counted(kind) {
            return Ok(guarded(txn));
        }
        let names = counted::names(kind);
        let mut used = None;
        for quota in quotas_of(state, quotas, namespace)? {
            let limits = Limits::of(&quota);
            let limited: Vec<_> = limits.hard().filter(|(name, _)| names.iter().any(|known| known == name)).collect();
            if limited.is_empty() || !limits.count_objects() {
                continue;
            }
            let count = match used {
                Some(count) => count,
                None => count(state, proposal.kind, namespace)?,
            };
            used = Some(count);
            check(proposal, limits.quota, &limited, count)?;
        }
        match used {
            None => Ok(guarded(txn)),
            Some(_) => Ok(written(self.rows.turn(namespace, kind).map_err(bad_key)?, state, guarded(txn))),
        }
    }

    /// Writes down that the quotas of a namespace are others.
    fn change_rules(&self, state: &Snapshot, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let namespace = proposal.namespace();
        let rows = match (proposal.old, proposal.new) {
            (Some(old), Some(new)) if proposal.part != Part::Main || at(old, "spec") == at(new, "spec") => Ok(txn),
            (_, Some(_)) => self.rows.change_rules(namespace, state, txn),
            (_, None) => {
                let range = proposal.kind.range(Some(namespace)).map_err(bad_key)?;
                let mut others = state.range(&range, None).filter(|quota| quota.key().name() != proposal.name());
                match others.next() {
                    // Of two that go at once, one is the last. Nothing is written: what goes needs no space.
                    Some(other) => Ok(txn.require(other.key().clone(), Expected::At(other.revision()))),
                    None => self.rows.forget(namespace, state, txn),
                }
            }
        };
        rows.map_err(bad_key)
    }
}

#[async_trait]
impl Admission for QuotaEnforcement {
    async fn admit(&self, _: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let (is_quota, is_made) = (is_quota(proposal.kind), proposal.old.is_none() && !proposal.namespace().is_empty());
        if !is_quota && !is_made {
            return Ok(txn);
        }
        let Some(quotas) = registry.find(&GroupVersion::new("", "v1"), "resourcequotas") else { return Ok(txn) };
        let state = registry.cache().snapshot(proposal.at).await;
        let state = state.map_err(|error| failed("create", proposal.kind, error))?;
        let txn = if is_made { self.charge(&state, &quotas, proposal, txn)? } else { txn };
        if is_quota { self.change_rules(&state, proposal, txn) } else { Ok(txn) }
    }
}

pub(super) fn is_quota(kind: &ServedKind) -> bool {
    kind.gvk().group.is_empty() && kind.gvk().kind == "ResourceQuota"
}

/// The quotas of a namespace, by name.
pub(super) fn quotas_of(state: &Snapshot, quotas: &ServedKind, namespace: &str) -> Result<Vec<Object>> {
    let range = quotas.range(Some(namespace)).map_err(bad_key)?;
    let read = |found: &Arc<bailiwick_storage::cache::Object>| {
        let object = quotas.read(&encoded(quotas, found)?);
        object.map_err(|error| error.about(&quotas.resource(), found.key().name()))
    };
    state.range(&range, None).map(read).collect()
}

/// How many objects of a kind there are in a namespace.
fn count(state: &Snapshot, kind: &ServedKind, namespace: &str) -> Result<usize> {
    Ok(state.count(&kind.range(Some(namespace)).map_err(bad_key)?, None))
}

/// Refuses one more than there may be, in the words of Kubernetes.
fn check(proposal: &Proposal<'_>, quota: &str, limited: &[(&str, Quantity)], count: usize) -> Result<()> {
    let next = amount(count.saturating_add(1));
    let exceeds = |hard: &Quantity| hard.checked_sub(&next).is_ok_and(|rest| rest.is_negative());
    let exceeded: Vec<_> = limited.iter().filter(|(_, hard)| exceeds(hard)).collect();
    if exceeded.is_empty() {
        return Ok(());
    }
    let shown = |amount: &dyn Fn(&Quantity) -> String| {
        let parts: Vec<_> = exceeded.iter().map(|(name, hard)| format!("{name}={}", amount(hard))).collect();
        parts.join(",")
    };
    let used = amount(count).canonical();
    let (requested, used, limited) =
        (shown(&|_| "1".to_owned()), shown(&|_| used.clone()), shown(&Quantity::canonical));
    Err(Error::Forbidden {
        resource: proposal.kind.resource(),
        name: proposal.name().to_owned(),
        why: format!("exceeded quota: {quota}, requested: {requested}, used: {used}, limited: {limited}"),
        causes: Vec::new(),
    })
}

pub(super) fn bad_key(error: KeyError) -> Error {
    Error::BadRequest(error.to_string())
}
