//! What came with who asked for an object, in a private row beside it: written when the object says anew who asks, removed with
//! the object, and never part of anything that is shown.
//!
//! A row stays as long as its object. So one that has not been written since a version of the object is what that version was
//! asked for with, and where there is none, nothing came.

use bailiwick_storage::{self as storage, At, Key, KeyError, Ledger, Revision, Txn};

use super::Extra;
use crate::admission::{OwnWrite, Proposal};
use crate::error::{Error, Result};
use crate::read::{failed, not_found};
use crate::registry::Registry;
use crate::served_kind::ServedKind;

// === impl Registry ===

impl Registry {
    /// Adds to a write of an object what is to be kept of who asks.
    pub(crate) async fn keep_extra(&self, proposal: &Proposal<'_>, own: &OwnWrite<'_, '_>, txn: Txn) -> Result<Txn> {
        let kind = proposal.kind;
        let is_gone = proposal.new.is_none();
        if !kind.kind().stamps_requester() || (own.extra.is_none() && !is_gone) {
            return Ok(txn);
        }
        let row = row(own.key).map_err(bad_key)?;
        let found = self.cache().get_object(&row, proposal.at).await.map_err(|error| failed("update", kind, error))?.1;
        let Some(extra) = own.extra.filter(|_| !is_gone) else {
            return Ok(match found {
                Some(found) => txn.delete(row, found.revision()),
                None => txn,
            });
        };
        let unfit = |error: serde_json::Error| unreadable(error.to_string());
        let value = serde_json::to_vec(extra).map_err(unfit)?;
        Ok(match found {
            None if extra.is_empty() => txn,
            None => txn.create(row, value),
            Some(found) if found.body().is_ok_and(|body| **body == *value) => txn,
            Some(found) => txn.update(row, value, found.revision()),
        })
    }

    /// What came with who asked for an object as it is in a version, beyond what its status says. Refused if it has been
    /// asked for anew since.
    pub async fn requester_extra(&self, kind: &ServedKind, namespace: &str, name: &str, version: u64) -> Result<Extra> {
        let fault = |error: storage::Error| failed("get", kind, error);
        let state = self.cache().snapshot(At::NotOlderThan(Revision::new(version))).await.map_err(fault)?;
        let key = kind.key(namespace, name).map_err(bad_key)?;
        if state.get(&key).is_none() {
            return Err(not_found(kind, name));
        }
        let Some(found) = state.get(&row(&key).map_err(bad_key)?) else { return Ok(Extra::new()) };
        if found.revision().get() > version {
            let why = "someone has asked for it anew".to_owned();
            return Err(Error::Conflict { resource: kind.resource(), name: name.to_owned(), why });
        }
        serde_json::from_slice(found.body().map_err(fault)?).map_err(|error| unreadable(error.to_string()))
    }
}

/// The row beside an object: its key, in another table.
fn row(key: &Key) -> Result<Key, KeyError> {
    let parts: Vec<&str> = key.as_str().split('/').skip(1).collect();
    let (name, place) = parts.split_last().unwrap_or((&"", &[]));
    Ledger::new("requesters")?.row(place, name)
}

fn unreadable(why: String) -> Error {
    Error::Failed { what: "who asked for an object", why }
}

fn bad_key(error: KeyError) -> Error {
    unreadable(error.to_string())
}
