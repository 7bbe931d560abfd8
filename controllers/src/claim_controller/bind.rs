//! Binding a resource that was there before: it becomes the claim's if it is nobody's, which only one claim can find true.

use bailiwick_api::ResourceRefPolicy;
use bailiwick_api::claims::{
    BOUND_FINALIZER, CLAIM_ANNOTATION, CLAIM_UID_ANNOTATION, ClaimRef, ClaimRefPlace, PHASE_ANNOTATION, Phase,
    RECLAIM_ANNOTATION, ReclaimPolicy, claim_ref, phase, set_claim_ref,
};
use serde_json::{Value, json};

use super::WorkError;
use super::claim::Claim;
use super::claim_status::{Binding, Obstacle};
use super::index::Resource;
use super::objects::{Objects, is_going, metadata_patch, text, with_finalizer};
use super::provision::{Means, is_refusal};

// === impl Claim ===

impl Claim<'_> {
    /// Binds a resource that exists and says that it is nobody's, or offers itself to this claim.
    pub(super) async fn bind(
        &self,
        found: &Value,
        binding: &Binding,
        means: &Means<'_>,
        resources: &Objects,
    ) -> Result<Result<Resource, Obstacle>, WorkError> {
        if let Some(obstacle) = self.refusal(found, binding, means) {
            return Ok(Err(obstacle));
        }
        let policy = text(found, &format!("/metadata/annotations/{}", RECLAIM_ANNOTATION.replace('/', "~1")));
        // What was not made for a claim is not deleted with one, unless someone has said so.
        let policy = if policy.is_empty() { ReclaimPolicy::Retain } else { ReclaimPolicy::read(Some(policy)) };
        let mut bound = found.clone();
        set_claim_ref(&mut bound, means.facts.claim_ref, &self.reference());
        let mut annotations = json!({ RECLAIM_ANNOTATION: policy.as_str(), PHASE_ANNOTATION: Value::Null });
        if means.facts.claim_ref == ClaimRefPlace::Annotations {
            for key in [CLAIM_UID_ANNOTATION, CLAIM_ANNOTATION] {
                annotations[key] = bound["metadata"]["annotations"][key].clone();
            }
        }
        let finalizers = with_finalizer(found, BOUND_FINALIZER);
        // The state that was looked at is named: whoever comes second is refused.
        let mut patch = metadata_patch(found, json!({ "finalizers": finalizers, "annotations": annotations }));
        if means.facts.claim_ref == ClaimRefPlace::Field {
            patch["spec"] = json!({ "claimRef": bound["spec"]["claimRef"] });
        }
        match resources.patch(text(found, "/metadata/name"), &patch).await {
            Err(WorkError::Host(kube::Error::Api(status))) if is_refusal(&status) => {
                let message = format!("the resource cannot be bound: {}", status.message);
                Ok(Err(Obstacle::new("Synced", "Forbidden", message)))
            }
            bound => Ok(Ok(Resource::of(bound?, means.facts))),
        }
    }

    /// Why a resource cannot become this claim's.
    fn refusal(&self, found: &Value, binding: &Binding, means: &Means<'_>) -> Option<Obstacle> {
        let obstacle = |reason, message: String| Some(Obstacle::new("Bound", reason, message));
        if means.rules.is_none() {
            let message = "the definition by which it was to be bound is gone, or not for this claim".to_owned();
            return obstacle("DefinitionGone", message);
        }
        let what = format!("the {} {}", means.facts.kind, text(found, "/metadata/name"));
        if is_going(found) {
            return obstacle("ResourceTerminating", format!("{what} is being deleted"));
        }
        let offered = claim_ref(found, means.facts.claim_ref);
        if offered.as_ref().is_some_and(|other| !self.is_meant_by(other)) {
            let released = phase(found) == Some(Phase::Released);
            let how =
                if released { "was bound to another claim, and has not been recycled" } else { "is another claim's" };
            // Whose it is, is not for everyone to know.
            return obstacle("ResourceTaken", format!("{what} {how}"));
        }
        if offered.is_none() && phase(found) == Some(Phase::Unbindable) {
            return obstacle("ResourceUnbindable", format!("{what} cannot be bound yet"));
        }
        let spec = means.definition.map(|definition| &definition.object.spec);
        let policy = spec.and_then(|spec| spec.resource_ref_policy).unwrap_or_default();
        // Asked here again: what the claim says may be something else by now than when this was chosen.
        let entry = spec.and_then(|spec| spec.resources.get(binding.index));
        let is_preferred = entry.is_some_and(|entry| entry.prefer_existing)
            && means.rules.is_some_and(|rules| rules.matches_resource(&self.object, found));
        let is_consented =
            offered.is_some() || policy == ResourceRefPolicy::Any || (is_preferred && !self.asks_for(binding));
        if !is_consented {
            let message = format!(
                "{what} does not name this claim: whoever looks after it can do so in its {}, or the definition can allow it \
                 by spec.resourceRefPolicy",
                match means.facts.claim_ref {
                    ClaimRefPlace::Field => "spec.claimRef".to_owned(),
                    ClaimRefPlace::Annotations => format!("annotation {CLAIM_ANNOTATION}"),
                }
            );
            return obstacle("NotConsented", message);
        }
        None
    }

    /// Whether a resource means this claim. A UID that is there must be the claim's; a name alone is an offer.
    fn is_meant_by(&self, named: &ClaimRef) -> bool {
        let own = self.reference();
        match named.uid.is_empty() {
            false => named.uid == own.uid,
            true => {
                let kind = named.kind.is_empty() || (named.kind == own.kind && named.group() == own.group());
                kind && named.namespace == own.namespace && named.name == own.name
            }
        }
    }
}
