//! Says in the status of claims what has become of them. Nothing is written that is said already.

use std::time::SystemTime;

use bailiwick_api::{
    ClaimError, ConditionStatus, CreatedResource, ListedResource, PinnedAccount, ResourceCatalogClaim,
    ResourceCatalogClaimStatus, ResourceCatalogEntry, counted,
};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

use super::FIELD_MANAGER;
use super::copies::Realized;
use super::due::Obstacle;
use super::orphans::NotLetGo;
use super::repairs::{self, Fight};
use crate::announce::Announcer;
use crate::conditions::{self, Verdict};
use crate::status::{StatusError, listed, write, written};

/// How many errors a message has at most.
const NAMED: usize = 5;
/// Why a claim is not synchronized whose copies somebody else keeps changing.
const UPDATE_LOOP: &str = "UpdateLoop";

/// Who says something of which claim, and when.
#[derive(Clone, Copy)]
pub(super) struct Reporter<'r> {
    pub(super) own: &'r Client,
    pub(super) announcer: &'r Announcer,
    pub(super) claim: &'r ResourceCatalogClaim,
    /// The UID of the service account that the claim names.
    pub(super) account_uid: Option<&'r str>,
    pub(super) now: SystemTime,
}

// === impl Reporter ===

impl Reporter<'_> {
    /// Says that the claim was looked at, and nothing is due: it does not follow.
    pub(super) async fn observed(self) -> Result<(), StatusError> {
        let mut status = self.begin();
        status.conditions.retain(|condition| condition.condition_type != ResourceCatalogClaim::SYNCED);
        self.write(status).await
    }

    /// Says that someone else realizes it, who is found by this.
    pub(super) async fn hand_over(self, realizer: &str) -> Result<(), StatusError> {
        let mut status = self.begin();
        status.realizer = Some(realizer.to_owned());
        // What was in the way is not any more. All else has been said by who realizes it.
        status.conditions.retain(|condition| {
            let is_ours =
                [ResourceCatalogClaim::READY, ResourceCatalogClaim::SYNCED].contains(&&*condition.condition_type);
            !is_ours || !Obstacle::is_reason(&condition.reason)
        });
        if conditions::find(&status.conditions, ResourceCatalogClaim::READY).is_none() {
            let message =
                format!("no controller has realized this claim yet; whoever does so for {realizer} says it here");
            self.say(&mut status, ResourceCatalogClaim::READY, ConditionStatus::False, "NoController", &message);
        }
        self.write(status).await
    }

    /// Says why nothing is done for it.
    pub(super) async fn blocked(self, obstacle: &Obstacle) -> Result<(), StatusError> {
        let mut status = self.begin();
        let Obstacle { reason, message, .. } = obstacle;
        // What is there stays, and is not followed any more.
        let condition = match status.entry_generation {
            Some(_) => ResourceCatalogClaim::SYNCED,
            None => ResourceCatalogClaim::READY,
        };
        self.say(&mut status, condition, ConditionStatus::False, reason, message);
        self.write_and_announce(status, condition).await
    }

    /// Says why it stays, though it is to go. Whoever deletes a claim names no account, so the one that was named counts.
    pub(super) async fn stays(self, why: &NotLetGo) -> Result<(), StatusError> {
        let mut status = self.claim.status.clone().unwrap_or_default();
        let message = format!(
            "what the claim made is to stay, but cannot be let go: {why}. With spec.deletionPolicy Delete it goes with the claim"
        );
        self.say(&mut status, ResourceCatalogClaim::READY, ConditionStatus::False, why.reason(), &message);
        self.write_and_announce(status, ResourceCatalogClaim::READY).await
    }

    /// Writes down what is about to be made for it. Gives the claim that says so, if it is still there: what is made from now on
    /// is found, whatever becomes of who makes it and of the claim.
    pub(super) async fn about_to_make(
        self,
        more: Vec<ListedResource>,
    ) -> Result<Option<ResourceCatalogClaim>, StatusError> {
        let before = self.claim.status.iter().flat_map(|status| status.pending_resources.iter().cloned());
        let pending: Vec<ListedResource> = before.chain(more).collect();
        written(&self.claims(), self.claim, json!({ "pendingResources": pending }), FIELD_MANAGER).await
    }

    /// Says what has become of it, and who keeps changing that.
    pub(super) async fn realized(
        self,
        entry: &ResourceCatalogEntry,
        realized: Realized,
        fights: &[Fight],
    ) -> Result<(), StatusError> {
        let mut status = self.begin();
        let Realized { created, pending, errors, is_whole } = realized;
        // What was to be done for this number, and was not, stands in the errors.
        status.generation = self.claim.spec.generation;
        status.entry_generation = entry.metadata.generation;
        status.realizer = None;
        status.created_resources = created
            .into_iter()
            .map(|made| CreatedResource {
                api_version: made.api_version,
                kind: made.kind,
                name: made.name,
                uid: made.uid,
            })
            .collect();
        status.pending_resources = pending;
        status.errors = errors;
        let count = status.created_resources.len();
        let told = summary(&status.errors);
        let (ready, reason, message) = match is_whole {
            true => (ConditionStatus::True, "Realized".to_owned(), counted(count, "resource")),
            false => (ConditionStatus::False, first_reason(&status.errors), told.clone()),
        };
        self.say(&mut status, ResourceCatalogClaim::READY, ready, &reason, &message);
        if self.claim.spec.keep_synchronized {
            let (synced, reason, told) = match (status.errors.is_empty(), fights) {
                (true, []) => (ConditionStatus::True, "InSync".to_owned(), told),
                (true, fights) => (ConditionStatus::False, UPDATE_LOOP.to_owned(), repairs::told(fights)),
                (false, _) => (ConditionStatus::False, synced_reason(&status.errors), told),
            };
            self.say(&mut status, ResourceCatalogClaim::SYNCED, synced, &reason, &told);
        } else {
            status.conditions.retain(|condition| condition.condition_type != ResourceCatalogClaim::SYNCED);
        }
        // What keeps it from being ready is told of as that.
        let has_lost_touch = is_whole && self.claim.spec.keep_synchronized && !status.errors.is_empty();
        self.write(status.clone()).await?;
        self.announce(&status, ResourceCatalogClaim::READY).await;
        if has_lost_touch || !fights.is_empty() {
            self.announce(&status, ResourceCatalogClaim::SYNCED).await;
        }
        Ok(())
    }

    /// What is said already, with what is always so.
    fn begin(self) -> ResourceCatalogClaimStatus {
        let mut status = self.claim.status.clone().unwrap_or_default();
        let generation = self.claim.metadata.generation;
        // Whoever writes a claim means the account that there is then.
        if status.observed_generation != generation || status.service_account.is_none() {
            let name = self.claim.spec.account().to_owned();
            status.service_account = self.account_uid.map(|uid| PinnedAccount { name, uid: uid.to_owned() });
        }
        status.observed_generation = generation;
        status
    }

    fn old(self, condition: &str) -> Option<bailiwick_api::Condition> {
        conditions::find(&self.claim.status.as_ref()?.conditions, condition).cloned()
    }

    fn say(
        self,
        status: &mut ResourceCatalogClaimStatus,
        condition: &str,
        so: ConditionStatus,
        reason: &str,
        message: &str,
    ) {
        let verdict = Verdict { condition, status: so, reason, message };
        conditions::set(&mut status.conditions, verdict, self.claim.metadata.generation, self.now);
    }

    /// Says it, and then tells of it: what could not be said is tried again, and would be told again each time.
    async fn write_and_announce(self, status: ResourceCatalogClaimStatus, condition: &str) -> Result<(), StatusError> {
        self.write(status.clone()).await?;
        self.announce(&status, condition).await;
        Ok(())
    }

    /// Tells of what is said otherwise than before.
    async fn announce(self, status: &ResourceCatalogClaimStatus, condition: &str) {
        let Some(new) = conditions::find(&status.conditions, condition) else { return };
        let is_known = self.old(condition).is_some_and(|old| old.status == new.status && old.reason == new.reason);
        if is_known {
            return;
        }
        let about = self.claim.object_ref(&());
        match new.status {
            ConditionStatus::True => self.announcer.tell(&about, "Realize", &new.reason, &new.message).await,
            _ => self.announcer.warn(&about, "Realize", &new.reason, &new.message).await,
        }
    }

    async fn write(self, new: ResourceCatalogClaimStatus) -> Result<(), StatusError> {
        if self.claim.status.as_ref() == Some(&new) {
            return Ok(());
        }
        let status = json!({
            "conditions": listed(&new.conditions), "errors": listed(&new.errors),
            "createdResources": listed(&new.created_resources), "pendingResources": listed(&new.pending_resources),
            "entryGeneration": new.entry_generation,
            "generation": new.generation, "observedGeneration": new.observed_generation, "realizer": new.realizer,
            "serviceAccount": new.service_account,
        });
        write(&self.claims(), self.claim, status, FIELD_MANAGER).await
    }

    fn claims(self) -> Api<ResourceCatalogClaim> {
        Api::namespaced(self.own.clone(), &self.claim.namespace().unwrap_or_default())
    }
}

fn summary(errors: &[ClaimError]) -> String {
    let told = errors.iter().take(NAMED).map(|error| format!("{} \"{}\": {}", error.kind, error.name, error.message));
    let told = told.collect::<Vec<_>>().join("; ");
    match errors.len().saturating_sub(NAMED) {
        0 => told,
        more => format!("{told}; and {more} more"),
    }
}

/// The reason of all errors, if they have one in common.
fn first_reason(errors: &[ClaimError]) -> String {
    let first = errors.first().map_or("Incomplete", |error| error.reason.as_str());
    if errors.iter().all(|error| error.reason == first) { first.to_owned() } else { "Incomplete".to_owned() }
}

/// What has happened to the source counts more than what else is wrong.
fn synced_reason(errors: &[ClaimError]) -> String {
    let of_source = errors.iter().find(|error| error.reason.starts_with("Source"));
    of_source.map_or_else(|| first_reason(errors), |error| error.reason.clone())
}
