//! Which resources are held for which claims, as the resources say.

use std::collections::{BTreeSet, HashMap};

use super::{Key, Resource, of_reference};
use crate::served_kinds::GroupKind;

/// Resources that are held, by the UID of the claim that they are held for.
#[derive(Default)]
pub(super) struct Held(HashMap<String, (GroupKind, BTreeSet<Key>)>);

// === impl Held ===

impl Held {
    /// Notes for whom a resource is held now.
    pub(super) fn see(&mut self, key: &Key, old: Option<&Resource>, new: Option<&Resource>) {
        if let Some(claim) = old.and_then(Resource::holder)
            && let Some((_, resources)) = self.0.get_mut(&claim.uid)
        {
            resources.remove(key);
            if resources.is_empty() {
                self.0.remove(&claim.uid);
            }
        }
        if let Some(claim) = new.and_then(Resource::holder) {
            let (_, resources) =
                self.0.entry(claim.uid.clone()).or_insert_with(|| (of_reference(claim), BTreeSet::new()));
            resources.insert(key.clone());
        }
    }

    /// Forgets resources of a kind that is not followed any more.
    pub(super) fn forget_kind(&mut self, kind: &GroupKind) {
        self.0.retain(|_, (_, resources)| {
            resources.retain(|key| key.kind != *kind);
            !resources.is_empty()
        });
    }

    /// What is held for a claim.
    pub(super) fn for_claim(&self, uid: &str) -> impl Iterator<Item = &Key> {
        self.0.get(uid).into_iter().flat_map(|(_, resources)| resources)
    }

    /// What is held for claims of a kind, by their UIDs.
    pub(super) fn for_claims_of(&self, kind: &GroupKind) -> impl Iterator<Item = (&String, &BTreeSet<Key>)> {
        self.0.iter().filter(move |(_, (claim, _))| claim == kind).map(|(uid, (_, resources))| (uid, resources))
    }
}
