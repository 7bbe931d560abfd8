//! The rules of quota allocations over writes of our own: a ResourceQuota must fit, and what counts of an allocation is
//! written down with it.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_api::quota::Allocation;
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_storage::{Store, Txn};
use serde_json::{Value, json};

use super::judge::QuotaChange;
use super::ledger::{Rows, SpecRow, bad_key, expected};
use super::{Allocations, GROUP, desk, seconds};
use crate::admission::{Admission, Proposal};
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::registry::Registry;
use crate::update::Part;

/// Holds writes to the allocations there are.
pub(crate) struct AllocationRules {
    allocations: Arc<Allocations>,
    rows: Rows,
}

// === impl AllocationRules ===

impl AllocationRules {
    /// Holds writes to these. Whatever else can refuse a write should come before: what is reserved for a write that does
    /// not happen is missing to others for some seconds.
    pub(crate) fn new(allocations: Arc<Allocations>) -> Result<Self> {
        Ok(Self { allocations, rows: Rows::new()? })
    }

    async fn quota(&self, ctx: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let Some(new) = proposal.new.filter(|_| proposal.part == Part::Main) else { return Ok(txn) };
        if proposal.old.is_some_and(|old| old.fields().get("spec") == new.fields().get("spec")) {
            return Ok(txn);
        }
        let txn = self.bind_to_selection(registry, proposal, txn).await?;
        let asked = QuotaChange {
            user: ctx.user,
            namespace: proposal.namespace(),
            old: proposal.old.map(Object::as_value),
            new: new.as_value(),
            // Not when the request came: this may be asked again, and what is reserved is for the write that comes now.
            at: seconds(),
            is_trial: proposal.dry_run,
        };
        match self.allocations.promise(&asked).await? {
            Ok(promise) => Ok(promise.bind(txn)),
            Err(denial) => Err(Error::Forbidden {
                resource: proposal.kind.resource(),
                name: proposal.name().to_owned(),
                why: denial.why,
                causes: denial.causes,
            }),
        }
    }

    /// Lets a write happen only while the same allocations apply to its project: who is held to none may sleep until one does.
    /// What is looked at here is no newer than what is decided by, so whatever changes between the two is noticed as well.
    async fn bind_to_selection(&self, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let state = registry.cache().snapshot(proposal.at).await.map_err(desk::failed)?;
        let book = self.rows.book()?;
        let specs = expected(&state, &book);
        let txn = txn.require(book, specs);
        let namespaces = registry.find(&GroupVersion::new("", "v1"), "namespaces");
        // What is made is bound to its namespace already, and a key can be named once only.
        let Some(namespaces) = namespaces.filter(|_| proposal.old.is_some()) else { return Ok(txn) };
        let namespace = namespaces.key("", proposal.namespace()).map_err(bad_key)?;
        let labels = expected(&state, &namespace);
        Ok(txn.require(namespace, labels))
    }

    /// Writes what counts of an allocation.
    async fn allocation(&self, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        if proposal.part != Part::Main {
            return Ok(txn);
        }
        let key = self.rows.spec(proposal.name())?;
        let found = registry.cache().get(&key, proposal.at).await.map_err(desk::failed)?.record;
        let Some(new) = proposal.new else {
            return match found {
                Some(found) => self.note_change(registry, proposal, txn.delete(key, found.revision)).await,
                None => Ok(txn),
            };
        };
        let before: Option<SpecRow> = found.as_ref().and_then(|found| serde_json::from_slice(&found.value).ok());
        let row = spec_row(new, before.as_ref())?;
        if before.as_ref() == Some(&row) {
            return Ok(txn);
        }
        let value = serde_json::to_vec(&row).map_err(|error| unfit(new, &error.to_string()))?;
        let txn = match found {
            Some(found) => txn.update(key, value, found.revision),
            None => txn.create(key, value),
        };
        self.note_change(registry, proposal, txn).await
    }

    /// Lets nobody decide any more on the ground of what was before.
    async fn note_change(&self, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        let key = self.rows.book()?;
        let found = registry.cache().get(&key, proposal.at).await.map_err(desk::failed)?.record;
        let value = json!({ "changed": proposal.name() }).to_string();
        Ok(match found {
            Some(found) => txn.update(key, value, found.revision),
            None => txn.create(key, value),
        })
    }
}

#[async_trait]
impl Admission for AllocationRules {
    async fn admit(&self, ctx: &Ctx<'_>, registry: &Registry, proposal: &Proposal<'_>, txn: Txn) -> Result<Txn> {
        match proposal.kind.kind().home() {
            Some((GROUP, "ResourceQuotaAllocation")) => self.allocation(registry, proposal, txn).await,
            Some(("", "ResourceQuota")) => self.quota(ctx, registry, proposal, txn).await,
            _ => Ok(txn),
        }
    }
}

/// The row of an allocation: of the same epoch as before if it selects and counts the same.
fn spec_row(object: &Object, before: Option<&SpecRow>) -> Result<SpecRow> {
    let (name, metadata) = (object.metadata().name(), object.metadata());
    let spec = object.fields().get("spec").cloned().unwrap_or(Value::Null);
    let now = Allocation::from_json(name, &spec).map_err(|error| unfit(object, &error.to_string()))?;
    let is_same = |row: &&SpecRow| {
        Allocation::from_json(name, &row.spec).is_ok_and(|then| then.counts_like(&now))
            && row.epoch.starts_with(metadata.uid())
    };
    let epoch = match before.filter(is_same) {
        Some(row) => row.epoch.clone(),
        None => format!("{}.{}", metadata.uid(), metadata.generation()),
    };
    Ok(SpecRow { epoch, spec })
}

fn unfit(object: &Object, why: &str) -> Error {
    Error::Failed { what: "a quota allocation", why: format!("{}: {why}", object.metadata().name()) }
}
