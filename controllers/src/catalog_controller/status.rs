//! Says in the status of catalogs and entries how they belong together. Nothing is written that is said already.

use std::time::SystemTime;

use bailiwick_api::{
    ConditionStatus, EntryError, ResourceCatalog, ResourceCatalogEntry, ResourceCatalogEntryStatus,
    ResourceCatalogStatus,
};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::FIELD_MANAGER;
use super::accept::Acceptance;
use super::index::CatalogState;
use crate::conditions::{self, Verdict};
use crate::shortened::shortened;
use crate::status::{StatusError, listed, write};

/// How many refusals a status tells of at most. Whoever writes an entry decides how many catalogs select it, so that it would not
/// fit otherwise, and then no refusal would count.
const MAX_ERRORS: usize = 100;
/// How many of them the condition tells of.
const NAMED: usize = 5;
/// How long each is at most.
const MAX_REFUSAL: usize = 1_024;

/// Says which catalogs an entry is in, and why it is not in others that select it.
pub(super) async fn write_entry(
    client: &Client,
    entry: &ResourceCatalogEntry,
    answers: Vec<(String, Acceptance)>,
    now: SystemTime,
) -> Result<(), StatusError> {
    let old = entry.status.clone().unwrap_or_default();
    let new = entry_status(entry, old.clone(), &answers, now);
    if new == old {
        return Ok(());
    }
    let entries = Api::<ResourceCatalogEntry>::namespaced(client.clone(), &entry.namespace().unwrap_or_default());
    match write(&entries, entry, patch(&new), FIELD_MANAGER).await {
        // Whoever publishes decides how large an entry is, and would stay in a catalog that there is no room to refuse them.
        Err(error) if error.is_too_large() => {
            let left = unexplained(entry, &old, &answers, now);
            if left == old {
                return Ok(());
            }
            write(&entries, entry, patch(&left), FIELD_MANAGER).await
        }
        written => written,
    }
}

fn patch(status: &ResourceCatalogEntryStatus) -> Value {
    json!({
        "catalogs": listed(&status.catalogs), "errors": listed(&status.errors), "generation": status.generation,
        "conditions": status.conditions,
    })
}

/// What there is room for in any case: of the catalogs those that the entry is in already, and no reasons. But for the digits of
/// generations, that is no larger than what was said before. An entry comes into no other catalog while there is no room to say so.
fn unexplained(
    entry: &ResourceCatalogEntry,
    old: &ResourceCatalogEntryStatus,
    answers: &[(String, Acceptance)],
    now: SystemTime,
) -> ResourceCatalogEntryStatus {
    let left = answers.iter().map(|(catalog, answer)| match answer {
        Acceptance::Accepted if old.catalogs.contains(catalog) => (catalog.clone(), Acceptance::Accepted),
        _ => (catalog.clone(), Acceptance::Refused { reason: String::new(), message: String::new() }),
    });
    let left: Vec<(String, Acceptance)> = left.collect();
    let mut status = entry_status(entry, old.clone(), &left, now);
    status.errors.clear();
    let mut accepted = status.conditions.iter_mut();
    if let Some(accepted) = accepted.find(|condition| condition.condition_type == ResourceCatalogEntry::ACCEPTED) {
        accepted.message.clear();
        let before = conditions::find(&old.conditions, ResourceCatalogEntry::ACCEPTED);
        if let Some(before) = before.filter(|_| !status.catalogs.is_empty()) {
            accepted.reason.clone_from(&before.reason);
        }
    }
    status
}

fn entry_status(
    entry: &ResourceCatalogEntry,
    mut status: ResourceCatalogEntryStatus,
    answers: &[(String, Acceptance)],
    now: SystemTime,
) -> ResourceCatalogEntryStatus {
    status.catalogs.clear();
    status.errors.clear();
    let mut refused = 0_usize;
    for (catalog, answer) in answers {
        match answer {
            Acceptance::Accepted => status.catalogs.push(catalog.clone()),
            Acceptance::Refused { reason, message } => {
                refused += 1;
                if status.errors.len() < MAX_ERRORS {
                    let (reason, message) = (shortened(reason, MAX_REFUSAL), shortened(message, MAX_REFUSAL));
                    status.errors.push(EntryError { catalog: catalog.clone(), reason, message });
                }
            }
        }
    }
    status.generation = entry.metadata.generation.filter(|_| !status.catalogs.is_empty());
    let refusals = summary(&status.errors, refused);
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

/// The first of so many refusals.
fn summary(errors: &[EntryError], refused: usize) -> String {
    let told: Vec<&str> = errors.iter().take(NAMED).map(|error| error.message.as_str()).collect();
    let told = told.join("; ");
    match refused.saturating_sub(NAMED) {
        0 => told,
        more => format!("{told}; and {more} more"),
    }
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
        Some(_) if infos.len() < *count => {
            let message =
                format!("{} of {count} entries are shown: all are below the catalog, at entries", infos.len());
            (ConditionStatus::True, "Selecting", message)
        }
        Some(_) => (ConditionStatus::True, "Selecting", String::new()),
        None => {
            let message = "nothing is selected: give spec.selector labels of entries".to_owned();
            (ConditionStatus::False, "NoSelector", message)
        }
    };
    let verdict = Verdict { condition: ResourceCatalog::READY, status: so, reason, message: &message };
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

#[cfg(test)]
mod tests;
