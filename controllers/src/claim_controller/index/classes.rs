//! Classes, in each version in which a definition names their kind: the paths of its rules mean fields of that version. Which class
//! is held or used, does not depend on versions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bailiwick_api::KindReference;
use bailiwick_api::claims::KindFacts;
use serde_json::Value;

use super::{Followed, Key};
use crate::place::Place;
use crate::served_kinds::GroupKind;

/// The classes of a kind in one version.
type Places = HashMap<Place, Arc<Value>>;

/// Classes that were seen, by their kind and its version.
#[derive(Default)]
pub(in crate::claim_controller) struct Classes(HashMap<GroupKind, BTreeMap<String, Places>>);

// === impl Classes ===

impl Classes {
    /// Notes what there is by now, and returns what there was.
    pub(super) fn see(&mut self, kind: &Followed, place: &Place, new: Option<Arc<Value>>) -> Option<Arc<Value>> {
        let versions = self.0.entry(kind.kind.clone()).or_default();
        let places = versions.entry(kind.version.clone()).or_default();
        match new {
            Some(class) => places.insert(place.clone(), class),
            None => places.remove(place),
        }
    }

    /// Forgets what is not followed any more.
    pub(super) fn forget(&mut self, kind: &Followed) {
        if let Some(versions) = self.0.get_mut(&kind.kind) {
            versions.remove(&kind.version);
            if versions.is_empty() {
                self.0.remove(&kind.kind);
            }
        }
    }

    /// A class, in whichever version it was seen.
    pub(in crate::claim_controller) fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.0.get(&key.kind).into_iter().flat_map(BTreeMap::values).find_map(|places| places.get(&key.place))
    }

    /// A class in the version in which its kind is named.
    pub(in crate::claim_controller) fn get_as(&self, kind: &KindReference, place: &Place) -> Option<&Arc<Value>> {
        let named = Followed::named(kind);
        self.0.get(&named.kind)?.get(&named.version)?.get(place)
    }

    /// The classes of a kind in a version.
    pub(in crate::claim_controller) fn of(&self, facts: &KindFacts) -> impl Iterator<Item = (&Place, &Arc<Value>)> {
        let followed = Followed::of(facts);
        let places = self.0.get(&followed.kind).and_then(|versions| versions.get(&followed.version));
        places.into_iter().flatten()
    }

    /// The classes of a kind, each once, in whichever version it was seen.
    pub(in crate::claim_controller) fn each(&self, kind: &GroupKind) -> BTreeMap<&Place, &Arc<Value>> {
        self.0.get(kind).into_iter().flat_map(BTreeMap::values).flatten().collect()
    }
}
