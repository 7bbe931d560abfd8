//! Says in the status of catalogs and entries how they belong together. Nothing is written that is said already.

use std::time::SystemTime;

use bailiwick_api::{
    ConditionStatus, EntryError, ResourceCatalog, ResourceCatalogEntry, ResourceCatalogEntryStatus,
    ResourceCatalogStatus,
};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::FIELD_MANAGER;
use super::accept::Acceptance;
use super::index::CatalogState;
use crate::conditions::{self, Verdict};
use crate::status::{StatusError, listed, write};

/// Says which catalogs an entry is in, and why it is not in others that select it.
pub(super) async fn write_entry(
    client: &Client,
    entry: &ResourceCatalogEntry,
    answers: Vec<(String, Acceptance)>,
    now: SystemTime,
) -> Result<(), StatusError> {
    let old = entry.status.clone().unwrap_or_default();
    let new = entry_status(entry, old.clone(), answers, now);
    if new == old {
        return Ok(());
    }
    let status = json!({
        "catalogs": listed(&new.catalogs), "errors": listed(&new.errors), "generation": new.generation,
        "conditions": new.conditions,
    });
    let entries = Api::<ResourceCatalogEntry>::namespaced(client.clone(), &entry.namespace().unwrap_or_default());
    write(&entries, entry, status, FIELD_MANAGER).await
}

fn entry_status(
    entry: &ResourceCatalogEntry,
    mut status: ResourceCatalogEntryStatus,
    answers: Vec<(String, Acceptance)>,
    now: SystemTime,
) -> ResourceCatalogEntryStatus {
    status.catalogs.clear();
    status.errors.clear();
    for (catalog, answer) in answers {
        match answer {
            Acceptance::Accepted => status.catalogs.push(catalog),
            Acceptance::Refused { reason, message } => status.errors.push(EntryError { catalog, reason, message }),
        }
    }
    status.generation = entry.metadata.generation.filter(|_| !status.catalogs.is_empty());
    let refusals: Vec<&str> = status.errors.iter().map(|error| error.message.as_str()).collect();
    let refusals = refusals.join("; ");
    let (so, reason, message) = match (status.catalogs.is_empty(), status.errors.is_empty()) {
        (true, true) => (
            ConditionStatus::False,
            ResourceCatalogEntry::NOT_SELECTED,
            ResourceCatalogEntry::NOT_SELECTED_MESSAGE.to_owned(),
        ),
        (true, false) => (ConditionStatus::False, "Refused", refusals),
        (false, true) => (ConditionStatus::True, "Accepted", String::new()),
        (false, false) => (ConditionStatus::True, "PartlyAccepted", refusals),
    };
    let verdict = Verdict { condition: ResourceCatalogEntry::ACCEPTED, status: so, reason, message: &message };
    // An entry that nothing selects is told so when it is written, before it is known which generation that is.
    let generation = entry.metadata.generation.filter(|_| reason != ResourceCatalogEntry::NOT_SELECTED);
    conditions::set(&mut status.conditions, verdict, generation, now);
    status
}

/// Says what is in a catalog.
pub(super) async fn write_catalog(client: &Client, state: &CatalogState, now: SystemTime) -> Result<(), StatusError> {
    let CatalogState { catalog, infos, count } = state;
    let old = catalog.status.clone().unwrap_or_default();
    let mut new = ResourceCatalogStatus {
        conditions: old.conditions.clone(),
        entries: infos.clone(),
        entry_count: i64::try_from(*count).ok(),
        observed_generation: catalog.metadata.generation,
    };
    let (so, reason, message) = match catalog.spec.selector {
        Some(_) => (ConditionStatus::True, "Selecting", ""),
        None => (ConditionStatus::False, "NoSelector", "nothing is selected: give spec.selector labels of entries"),
    };
    let verdict = Verdict { condition: ResourceCatalog::READY, status: so, reason, message };
    conditions::set(&mut new.conditions, verdict, catalog.metadata.generation, now);
    if new == old {
        return Ok(());
    }
    let status = json!({
        "conditions": new.conditions, "entries": listed(&new.entries), "entryCount": new.entry_count,
        "observedGeneration": new.observed_generation,
    });
    write(&Api::<ResourceCatalog>::all(client.clone()), catalog, status, FIELD_MANAGER).await
}
