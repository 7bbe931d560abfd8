//! A claim that goes: its secret goes first, then each of its resources goes or is released, then the claim.
//!
//! What there is to look after stands in the claim's status; what the claim may decide about is only what says by its UID that
//! it is the claim's. Neither classes nor definitions are needed; and as long as there may be such a resource, and it cannot be
//! reached, the claim stays.

use bailiwick_api::CLAIM_FINALIZER;
use bailiwick_api::claims::{BOUND_FINALIZER, KindFacts, PHASE_ANNOTATION, Phase, RECLAIM_ANNOTATION, ReclaimPolicy};
use serde_json::{Value, json};

use super::claim::Claim;
use super::index::Served;
use super::objects::{Objects, finalizers, metadata_patch, text, without_finalizer};
use super::{WorkError, about};

/// The field of a claim without which nobody knows what it has.
const BINDINGS: &str = ".status.bindings";

// === impl Claim ===

impl Claim<'_> {
    pub(super) async fn release(&mut self) -> Result<(), WorkError> {
        if !finalizers(&self.object).contains(&CLAIM_FINALIZER) {
            return Ok(());
        }
        if self.facts.missing.iter().any(|field| field == BINDINGS) {
            let message = format!("it cannot go: its kind has lost {BINDINGS}, which says what the claim has");
            // By an event, as a write of the claim would lose it too.
            self.shared.announcer.warn(&about(&self.object), "Release", "FieldsMissing", &message).await;
            return Err(WorkError::Told(message));
        }
        let released = self.release_all().await;
        if let Err(error) = &released {
            self.tell_trouble(error).await;
        }
        released?;
        let finalizers = without_finalizer(&self.object, CLAIM_FINALIZER);
        let patch = metadata_patch(&self.object, json!({ "finalizers": finalizers }));
        match self.objects().patch(&self.key.place.name, &patch).await {
            Err(WorkError::Host(kube::Error::Api(status))) if status.is_not_found() => Ok(()),
            result => result.map(drop),
        }
    }

    async fn release_all(&self) -> Result<(), WorkError> {
        self.take_back_secrets(None).await?;
        for binding in self.status.bindings.iter().rev() {
            let Some(named) = &binding.resource_ref else { continue };
            let facts = match self.shared.index().served(&named.api_version, &named.kind) {
                Served::As(facts) => facts,
                // All its objects went with it.
                Served::Gone => continue,
                Served::Not => {
                    let message = format!("the kind {} of {} is served in no version", named.kind, named.group());
                    return Err(WorkError::Told(message));
                }
            };
            let resources = Objects::new(&self.shared.deputy, &facts, &self.key.place.namespace);
            let Some(found) = resources.get(&named.name).await? else { continue };
            // Whatever the status says: what is not the claim's is left alone.
            if self.is_its(&found, &facts) {
                release_one(found, &facts, &resources).await?;
            }
        }
        Ok(())
    }

    /// Says why a claim cannot go. That it cannot be said is no further trouble.
    async fn tell_trouble(&mut self, error: &WorkError) {
        let before = self.status.clone();
        let at = (self.generation(), (self.shared.now)());
        let message = format!("it cannot go yet: {error}");
        self.status.binding_phase = Some(Phase::Released.as_str().to_owned());
        let no = bailiwick_api::ConditionStatus::False;
        self.status.set("Synced", no, ("ReleaseFailed", &message), at);
        let _ = self.write_status(&before).await;
    }
}

/// Lets go of what is held of a resource: it goes, or is released, as it says itself.
pub(super) async fn release_one(mut found: Value, facts: &KindFacts, resources: &Objects) -> Result<(), WorkError> {
    let name = text(&found, "/metadata/name").to_owned();
    let policy = found.pointer("/metadata/annotations").and_then(|annotations| annotations.get(RECLAIM_ANNOTATION));
    let policy = policy.and_then(Value::as_str).map_or(ReclaimPolicy::Retain, |word| ReclaimPolicy::read(Some(word)));
    let is_retained = policy == ReclaimPolicy::Retain;
    if is_retained && facts.has_phase {
        let patch = json!({
            "metadata": { "uid": found["metadata"]["uid"] },
            "status": { "bindingPhase": Phase::Released.as_str() },
        });
        found = resources.patch_status(&name, &patch).await?;
    }
    if finalizers(&found).contains(&BOUND_FINALIZER) {
        let mut change = json!({ "finalizers": without_finalizer(&found, BOUND_FINALIZER) });
        if is_retained && !facts.has_phase {
            change["annotations"] = json!({ PHASE_ANNOTATION: Phase::Released.as_str() });
        }
        // The list is written whole, so that it must be the one that was read: others may hold the resource too.
        resources.patch(&name, &metadata_patch(&found, change)).await?;
    }
    if is_retained { Ok(()) } else { resources.delete(&found).await }
}
