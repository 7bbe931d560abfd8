//! Which Secrets matter to which claims, and from which versions of them a claim's own was made.

use std::collections::{BTreeSet, HashMap};

use super::Key;
use crate::claim_controller::Work;
use crate::place::Place;

/// Secrets, as far as claims are told their content, or have it in them.
#[derive(Default)]
pub(in crate::claim_controller) struct Secrets {
    /// The versions of those in namespaces that are followed.
    versions: HashMap<Place, String>,
    users: HashMap<Place, BTreeSet<Key>>,
    /// For each claim, the Secrets whose users it is among.
    used: HashMap<Key, BTreeSet<Place>>,
    /// For each claim, from which versions of which Secrets its own was made, and which version that is.
    handed_on: HashMap<Key, Versions>,
}

/// Secrets, with their versions as far as these are known.
pub(in crate::claim_controller) type Versions = Vec<(Place, Option<String>)>;

// === impl Secrets ===

impl Secrets {
    /// Tells of a Secret in a namespace that is followed: those are looked at to whom it matters.
    pub(in crate::claim_controller) fn see(&mut self, place: &Place, version: Option<String>) -> Vec<Work> {
        match version {
            Some(version) => self.versions.insert(place.clone(), version),
            None => self.versions.remove(place),
        };
        self.users.get(place).into_iter().flatten().cloned().map(Work::Claim).collect()
    }

    /// Notes that Secrets matter to a claim, and tells which versions of them are there.
    pub(in crate::claim_controller) fn follow(&mut self, key: &Key, places: &[Place]) -> Versions {
        for place in places {
            self.users.entry(place.clone()).or_default().insert(key.clone());
            self.used.entry(key.clone()).or_default().insert(place.clone());
        }
        places.iter().map(|place| (place.clone(), self.versions.get(place).cloned())).collect()
    }

    /// Whether a claim has been told of these versions. Where they are not known, that is never so.
    pub(in crate::claim_controller) fn has_handed_on(&self, key: &Key, versions: &Versions) -> bool {
        versions.iter().all(|(_, version)| version.is_some())
            && self.handed_on.get(key).is_some_and(|known| known == versions)
    }

    pub(in crate::claim_controller) fn note_handed_on(&mut self, key: &Key, versions: Versions) {
        self.handed_on.insert(key.clone(), versions);
    }

    /// Forgets a claim.
    pub(super) fn forget(&mut self, key: &Key) {
        self.handed_on.remove(key);
        for place in self.used.remove(key).unwrap_or_default() {
            if let Some(users) = self.users.get_mut(&place) {
                users.remove(key);
                if users.is_empty() {
                    self.users.remove(&place);
                }
            }
        }
    }
}
