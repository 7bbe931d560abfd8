//! Resources that are held for a claim which is gone, or has got something else: whoever made or bound one had not heard yet that
//! its claim went, or that another controller had replaced it, or was stopped before it could. They go or are released, as they
//! would have with the claim.

use bailiwick_api::claims::{BOUND_FINALIZER, claim_ref};

use super::claim_status::ClaimStatus;
use super::index::{Key, Served};
use super::objects::{Objects, finalizers, is_name, is_namespace, text};
use super::release::release_one;
use super::{Shared, WorkError};

// === impl Shared ===

impl Shared {
    pub(super) async fn look_at_resource(&self, key: &Key) -> Result<(), WorkError> {
        let (claim, served, facts) = {
            let index = self.index();
            let Some(claim) = index.orphan(key) else { return Ok(()) };
            let served = index.served(&claim.api_version, &claim.kind);
            (claim, served, index.resource_facts(&key.kind))
        };
        let (Served::As(claim_facts), Some(facts)) = (served, facts) else { return Ok(()) };
        if !claim_facts.namespaced || !is_namespace(&claim.namespace) || !is_name(&claim.name) {
            return Ok(());
        }
        // What was not seen may be there all the same.
        let found = Objects::new(&self.deputy, &claim_facts, &claim.namespace).get(&claim.name).await?;
        let found = found.filter(|found| text(found, "/metadata/uid") == claim.uid);
        if found.is_some_and(|found| !ClaimStatus::of(&found).is_whole_without(key)) {
            return Ok(());
        }
        let resources = Objects::new(&self.deputy, &facts, &key.place.namespace);
        let Some(found) = resources.get(&key.place.name).await? else { return Ok(()) };
        let is_held = finalizers(&found).contains(&BOUND_FINALIZER)
            && claim_ref(&found, facts.claim_ref).is_some_and(|named| named.uid == claim.uid);
        if is_held { release_one(found, &facts, &resources).await } else { Ok(()) }
    }
}
