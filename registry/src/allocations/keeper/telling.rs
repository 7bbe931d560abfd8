//! Says in the status of allocations what is the case.

use bailiwick_api::ResourceQuotaAllocation;
use bailiwick_api::quota::Allocation;
use bailiwick_machinery::{Object, format_rfc3339};
use bailiwick_storage::cache::Snapshot;
use futures::future::join_all;
use serde::Deserialize;
use tokio::time::Instant;

use super::super::ledger::Spec;
use super::super::picture::Picture;
use super::super::status::{keep_times, status};
use super::super::{PAUSE, seconds};
use super::{Keeper, TELL_EVERY};
use crate::context::{Clock, Ctx, SystemClock};
use crate::error::{Error, Result};
use crate::own_writes::server;
use crate::update::{Part, Update};
use crate::write::{Tracking, WriteOptions};

/// How many of those are told at once that nobody waits for.
const AT_ONCE: usize = 16;

// === impl Keeper ===

impl Keeper<'_> {
    /// Says what is the case, where that has changed: at once where someone may wait for it, and some of the rest now and then.
    /// What cannot be said is said later.
    pub(super) async fn tell(&mut self, state: &Snapshot) {
        self.news.clear();
        let mut names = std::mem::take(&mut self.awaited);
        if self.telling.is_empty() && Instant::now() >= self.tell_at {
            self.telling = std::mem::take(&mut self.untold).into_iter().collect();
            self.tell_at = Instant::now() + TELL_EVERY;
        }
        names.extend(self.telling.split_off(self.telling.len().saturating_sub(AT_ONCE)));
        for name in &names {
            self.untold.remove(name);
        }
        let pictures: Vec<&Picture> = names.iter().filter_map(|name| self.pictures.get(name)).collect();
        let told = join_all(pictures.iter().map(|picture| self.tell_one(picture, state))).await;
        let mut untold = Vec::new();
        for (picture, told) in pictures.iter().zip(told) {
            if let Err(error) = told {
                let (error, allocation) = (&error as &dyn std::error::Error, &picture.spec.allocation.name);
                tracing::warn!(error, %allocation, "the status of a quota allocation cannot be written at present");
                untold.push(allocation.clone());
            }
        }
        if !untold.is_empty() {
            self.untold.extend(untold);
            self.tell_at = Instant::now() + PAUSE;
        }
    }

    async fn tell_one(&self, picture: &Picture, state: &Snapshot) -> Result<()> {
        let status = status(picture, &self.rows, state)?;
        let now = SystemClock.now();
        let timestamp = format_rfc3339(seconds()).unwrap_or_default();
        let options = WriteOptions::default();
        let change = |found: &Object| {
            if !is_of(&picture.spec, found) {
                // What counts of it now has been heard of by the next round.
                return self.kind.accept(found.clone(), &options);
            }
            let mut status = status.clone();
            let before = ResourceQuotaAllocation::deserialize(found.as_value()).ok().and_then(|old| old.status);
            let before = before.map(|before| before.conditions).unwrap_or_default();
            keep_times(&mut status.conditions, &before, found.metadata().generation(), &timestamp);
            let mut object = found.clone();
            let status = serde_json::to_value(&status)
                .map_err(|error| Error::Failed { what: "the status of an allocation", why: error.to_string() })?;
            object.fields_mut().insert("status".to_owned(), status);
            self.kind.accept(object, &options)
        };
        let user = server();
        let ctx = Ctx { user: &user, now, annotations: None };
        let tracking = Tracking::Manager("bailiwick".to_owned());
        let update = Update { part: Part::Status, change: &change, tracking: &tracking, dry_run: false };
        match self.registry.update(&ctx, &self.kind, "", &picture.spec.allocation.name, update).await {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Whether this is what counts of an allocation as it is now.
fn is_of(spec: &Spec, found: &Object) -> bool {
    let metadata = found.metadata();
    let now = found.fields().get("spec").and_then(|now| Allocation::from_json(metadata.name(), now).ok());
    spec.epoch.starts_with(metadata.uid()) && now.is_some_and(|now| now == spec.allocation)
}
