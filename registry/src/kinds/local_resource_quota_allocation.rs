//! LocalResourceQuotaAllocation: what a project is told of the allocations that apply to it. Made of the ledger, which has a
//! row for each project of each allocation.

use async_trait::async_trait;
use bailiwick_api::LocalResourceQuotaAllocation;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{NameRule, Object, Scope};
use bailiwick_storage::cache::{Object as Stored, Snapshot};
use bailiwick_storage::{Key, Prefix, Revision};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::resource_quota_allocation::amounts;
use crate::allocations::{Rows, Spec, Total};
use crate::error::Result;
use crate::kind::{Kind, KindError};
use crate::typed::object_of;
use crate::virtual_kind::{FromStored, Touched, Virtual, VirtualVerb};

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
        match namespace {
            "" => {
                for spec in rows.read_specs(state)? {
                    let (accounts, total) = (rows.accounts(&spec.allocation.name)?, Told::of(&rows, state, spec)?);
                    for row in state.range(&accounts, None) {
                        found.extend(total.local(row)?);
                    }
                }
            }
            namespace => {
                // Most allocations have nothing to do with one project, and are not read for it.
                for allocation in rows.names(state)? {
                    found.extend(self.object(state, namespace, &allocation)?);
                }
            }
        }
        found.sort_by(|a, b| place(a).cmp(&place(b)));
        Ok(found)
    }

    fn object(&self, state: &Snapshot, namespace: &str, name: &str) -> Result<Option<Object>> {
        let rows = Rows::new()?;
        // What a client asks for may be a name that no row can have.
        let Ok(key) = rows.account(name, namespace) else { return Ok(None) };
        let Some(row) = state.get(&key) else { return Ok(None) };
        let Some(spec) = rows.read_spec(state, name)? else { return Ok(None) };
        Told::of(&rows, state, spec)?.local(row)
    }

    fn touched<'k>(&self, key: &'k Key) -> Touched<'k> {
        Rows::new().map_or(Touched::Nothing, |rows| rows.touched(key))
    }
}

/// What all projects of an allocation are told of it.
struct Told {
    spec: Spec,
    total: Total,
    /// When that was written.
    revision: Revision,
}

// === impl Told ===

impl Told {
    fn of(rows: &Rows, state: &Snapshot, spec: Spec) -> Result<Self> {
        let total = rows.read_total(state, &spec)?;
        let revision = |key: &Key| state.get(key).map_or(Revision::ZERO, |row| row.revision());
        let name = &spec.allocation.name;
        let revision = revision(&rows.total(name)?).max(revision(&rows.spec(name)?));
        Ok(Self { spec, total, revision })
    }

    /// What a project is told, by the row in which it stands what it has; nothing if it is none of its projects any more.
    fn local(&self, row: &Stored) -> Result<Option<Object>> {
        let Some(account) = self.spec.account(row)? else { return Ok(None) };
        let (allocation, total) = (&self.spec.allocation, &self.total);
        let metadata = ObjectMeta {
            name: Some(allocation.name.clone()),
            namespace: Some(row.key().name().to_owned()),
            resource_version: Some(self.revision.max(row.revision()).to_string()),
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
