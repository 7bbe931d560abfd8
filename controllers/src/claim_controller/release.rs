//! A claim that goes: its secret goes first, then each of its resources goes or is released, then the claim.
//!
//! What there is to look after stands in the claim's status; what the claim may decide about is only what says by its UID that
//! it is the claim's. Neither classes nor definitions are needed.

use bailiwick_api::CLAIM_FINALIZER;
use bailiwick_api::claims::{BOUND_FINALIZER, KindFacts, PHASE_ANNOTATION, Phase, RECLAIM_ANNOTATION, ReclaimPolicy};
use serde_json::{Value, json};

use super::WorkError;
use super::claim::Claim;
use super::objects::{Objects, finalizers, metadata_patch, text, without_finalizer};

// === impl Claim ===

impl Claim<'_> {
    pub(super) async fn release(&mut self) -> Result<(), WorkError> {
        if !finalizers(&self.object).contains(&CLAIM_FINALIZER) {
            return Ok(());
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
        self.take_back_secret().await?;
        for binding in self.status.bindings.iter().rev() {
            let (Some(facts), Some(named)) = (self.facts_of(binding), &binding.resource_ref) else { continue };
            let resources = Objects::new(&self.shared.deputy, &facts, &self.key.place.namespace);
            let Some(found) = resources.get(&named.name).await? else { continue };
            // Whatever the status says: what is not the claim's is left alone.
            if self.is_its(&found, &facts) {
                self.release_one(&found, &facts, &resources).await?;
            }
        }
        Ok(())
    }

    async fn release_one(&self, found: &Value, facts: &KindFacts, resources: &Objects) -> Result<(), WorkError> {
        let name = text(found, "/metadata/name");
        let policy = found.pointer("/metadata/annotations").and_then(|annotations| annotations.get(RECLAIM_ANNOTATION));
        let policy =
            policy.and_then(Value::as_str).map_or(ReclaimPolicy::Retain, |word| ReclaimPolicy::read(Some(word)));
        let is_retained = policy == ReclaimPolicy::Retain;
        if is_retained && facts.has_phase {
            let patch = json!({
                "metadata": { "uid": found["metadata"]["uid"] },
                "status": { "bindingPhase": Phase::Released.as_str() },
            });
            resources.patch_status(name, &patch).await?;
        }
        if finalizers(found).contains(&BOUND_FINALIZER) {
            // The version may be another by now; the UID is not, and nobody else takes this finalizer away.
            let mut metadata = json!({
                "uid": found["metadata"]["uid"],
                "finalizers": without_finalizer(found, BOUND_FINALIZER),
            });
            if is_retained && !facts.has_phase {
                metadata["annotations"] = json!({ PHASE_ANNOTATION: Phase::Released.as_str() });
            }
            if !(is_retained && facts.has_phase) {
                metadata["resourceVersion"] = found["metadata"]["resourceVersion"].clone();
            }
            resources.patch(name, &json!({ "metadata": metadata })).await?;
        }
        if is_retained { Ok(()) } else { resources.delete(found).await }
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
