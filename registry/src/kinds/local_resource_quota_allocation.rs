//! LocalResourceQuotaAllocation: what a project is told of the allocations that apply to it. Made of the ledger, which has a
//! row for each project of each allocation.

use async_trait::async_trait;
use bailiwick_api::LocalResourceQuotaAllocation;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{NameRule, Object, Scope};
use bailiwick_storage::cache::Snapshot;
use bailiwick_storage::{Key, Prefix};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::resource_quota_allocation::amounts;
use crate::allocations::{Rows, Spec};
use crate::error::Result;
use crate::kind::{Kind, KindError};
use crate::typed::object_of;
use crate::virtual_kind::{FromStored, Virtual, VirtualVerb};

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<LocalResourceQuotaAllocation>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    Ok(kind.short_names(&["lrqa"]).columns(columns).made_by(Projection))
}

struct Projection;

// === impl Projection ===

#[async_trait]
impl Virtual for Projection {
    fn verbs(&self) -> &'static [VirtualVerb] {
        &[VirtualVerb::Get, VirtualVerb::List, VirtualVerb::Watch]
    }

    fn follows_stored(&self) -> Option<&dyn FromStored> {
        Some(self)
    }
}

impl FromStored for Projection {
    fn made_of(&self) -> Result<Prefix> {
        Ok(Rows::new()?.all().clone())
    }

    fn objects(&self, state: &Snapshot, namespace: &str) -> Result<Vec<Object>> {
        let rows = Rows::new()?;
        let mut found = Vec::new();
        for spec in rows.read_specs(state)? {
            match namespace {
                "" => {
                    let accounts = rows.accounts(&spec.allocation.name)?;
                    for row in state.range(&accounts, None) {
                        found.extend(local(&rows, state, &spec, row.key().name())?);
                    }
                }
                namespace => found.extend(local(&rows, state, &spec, namespace)?),
            }
        }
        found.sort_by(|a, b| place(a).cmp(&place(b)));
        Ok(found)
    }
}

/// What a project is told of an allocation, if it is one of its projects.
fn local(rows: &Rows, state: &Snapshot, spec: &Spec, namespace: &str) -> Result<Option<Object>> {
    let Some(account) = rows.read_account(state, spec, namespace)? else { return Ok(None) };
    let total = rows.read_total(state, spec)?;
    let allocation = &spec.allocation;
    let revision = |key: &Key| state.get(key).map_or(0, |row| row.revision().get());
    let revision = revision(&rows.total(&allocation.name)?)
        .max(revision(&rows.account(&allocation.name, namespace)?))
        .max(revision(&rows.spec(&allocation.name)?));
    let metadata = ObjectMeta {
        name: Some(allocation.name.clone()),
        namespace: Some(namespace.to_owned()),
        resource_version: Some(revision.to_string()),
        ..ObjectMeta::default()
    };
    let told = LocalResourceQuotaAllocation {
        metadata,
        allocation_name: allocation.name.clone(),
        scopes: allocation.scopes.texts().map(str::to_owned).collect(),
        hard: allocation.shown(&allocation.hard),
        used: allocation.shown(&total.charge),
        used_here: allocation.shown(&account.charge),
        remaining: allocation.shown(&allocation.remaining(&total.charge, &account.charge)),
        ..LocalResourceQuotaAllocation::default()
    };
    object_of(&told).map(Some)
}

fn place(object: &Object) -> (&str, &str) {
    (object.metadata().namespace(), object.metadata().name())
}

fn columns() -> Columns {
    let text = |name: &'static str, description: &'static str| Column::new(name, ColumnType::String, description);
    let shown =
        |field: &'static str| move |object: &Object, _| -> Value { json!(amounts(object.as_value().get(field))) };
    Columns::named()
        .with(text("Used Here", "What this project has."), shown("usedHere"))
        .with(text("Remaining", "The most that this project can have."), shown("remaining"))
        .with(text("Used", "What all projects have."), shown("used"))
        .with(text("Hard", "The most that all projects may have."), shown("hard"))
}
