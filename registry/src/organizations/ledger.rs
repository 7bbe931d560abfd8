//! What keeps an organization from going while it has groups or projects, and from having a double.
//!
//! There is one row for each organization, under its name in small letters. Whoever gives an organization a group or a
//! project writes the row anew, and whoever removes the organization demands that nobody has written it since they found
//! that there are none.

use bailiwick_machinery::GroupResource;
use bailiwick_storage::{self as storage, At, Expected, Key, Ledger, Record, Store, Txn};

use super::GROUP;
use crate::error::{Error, Result};
use crate::registry::Registry;

const LEDGER: &str = "organizations";

/// The row of an organization, as it is.
pub(super) struct Row {
    key: Key,
    found: Option<Record>,
}

// === impl Row ===

impl Row {
    pub(super) async fn of(registry: &Registry, organization: &str, at: At) -> Result<Self> {
        let refused = |error: String| Error::Failed { what: "an organization's ledger", why: error };
        let ledger = Ledger::new(LEDGER).map_err(|error| refused(error.to_string()))?;
        let key = ledger.row(&[], &organization.to_lowercase()).map_err(|error| refused(error.to_string()))?;
        let found = registry.cache().get(&key, at).await.map_err(failed)?;
        Ok(Self { key, found: found.record })
    }

    /// The organization that has this name, or one that differs from it in its capitals only.
    pub(super) fn holder(&self) -> Option<String> {
        self.found.as_ref().map(|record| String::from_utf8_lossy(&record.value).into_owned())
    }

    /// Writes it anew.
    pub(super) fn write(self, txn: Txn, organization: &str) -> Txn {
        let value = organization.as_bytes().to_vec();
        match self.found {
            None => txn.create(self.key, value),
            Some(record) => txn.update(self.key, value, record.revision),
        }
    }

    /// Removes it, if it is still as it was found.
    pub(super) fn remove(self, txn: Txn) -> Txn {
        match self.found {
            None => txn.require(self.key, Expected::Absent),
            Some(record) => txn.delete(self.key, record.revision),
        }
    }
}

fn failed(source: storage::Error) -> Error {
    Error::Storage { operation: "get", resource: GroupResource::new(GROUP, "organizations"), source }
}
