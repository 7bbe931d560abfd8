//! Which Secrets matter to which claims, which are claims' own, and from which versions a claim's own was made.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Index, Key};
use crate::claim_controller::Work;
use crate::place::Place;

/// Secrets, as far as claims are told their content, or have it in them.
#[derive(Default)]
pub(in crate::claim_controller) struct Secrets {
    /// Those in namespaces that are followed.
    seen: BTreeMap<Place, SeenSecret>,
    /// By the UID of a claim, those among them that say that they are its own.
    own: HashMap<String, BTreeSet<Place>>,
    users: BTreeMap<Place, BTreeSet<Key>>,
    /// For each claim, the Secrets whose users it is among.
    used: HashMap<Key, BTreeSet<Place>>,
    /// For each claim, from which versions of which Secrets its own was made, and which version that is.
    handed_on: HashMap<Key, Versions>,
    /// For each claim, the Secrets from which it had something and that are not there any more.
    lost: HashMap<Key, BTreeSet<Place>>,
}

/// What is known of a Secret.
pub(in crate::claim_controller) struct SeenSecret {
    pub(in crate::claim_controller) version: String,
    /// The UID of the claim whose own it says it is, if any.
    pub(in crate::claim_controller) claim: Option<String>,
}

/// Secrets, with their versions as far as these are known.
pub(in crate::claim_controller) type Versions = Vec<(Place, Option<String>)>;

// === impl Index ===

impl Index {
    /// Tells of a Secret in a namespace that is followed: those are looked at to whom it matters, and whose own it says it is.
    pub(in crate::claim_controller) fn see_secret(&mut self, place: &Place, secret: Option<SeenSecret>) -> Vec<Work> {
        let owner = secret.as_ref().and_then(|secret| secret.claim.as_ref());
        let owner = owner.and_then(|uid| self.claims_by_uid.get(uid)).cloned();
        let users = self.secrets.users.get(place).into_iter().flatten().cloned();
        let concerned: BTreeSet<Key> = users.chain(owner).collect();
        self.secrets.see(place, secret);
        concerned.into_iter().map(Work::Claim).collect()
    }
}

// === impl Secrets ===

impl Secrets {
    fn see(&mut self, place: &Place, secret: Option<SeenSecret>) {
        let claim = secret.as_ref().and_then(|secret| secret.claim.clone());
        let old = match secret {
            Some(secret) => self.seen.insert(place.clone(), secret),
            None => self.seen.remove(place),
        };
        if let Some(uid) = old.and_then(|old| old.claim) {
            remove(&mut self.own, &uid, place);
        }
        if let Some(uid) = claim {
            self.own.entry(uid).or_default().insert(place.clone());
        }
    }

    /// Notes that these Secrets matter to a claim, and no others. In some namespaces that is another number of claims then.
    pub(super) fn follow(&mut self, key: &Key, places: &[Place]) -> BTreeSet<String> {
        let new: BTreeSet<Place> = places.iter().cloned().collect();
        let old = match new.is_empty() {
            true => {
                self.lost.remove(key);
                self.used.remove(key)
            }
            false => self.used.insert(key.clone(), new.clone()),
        };
        let old = old.unwrap_or_default();
        for place in old.difference(&new) {
            if let Some(users) = self.users.get_mut(place) {
                users.remove(key);
                if users.is_empty() {
                    self.users.remove(place);
                }
            }
        }
        for place in new.difference(&old) {
            self.users.entry(place.clone()).or_default().insert(key.clone());
        }
        old.symmetric_difference(&new).map(|place| place.namespace.clone()).collect()
    }

    /// Whether a Secret in a namespace matters to a claim.
    pub(in crate::claim_controller) fn matter_in(&self, namespace: &str) -> bool {
        self.users.range(first_in(namespace)..).next().is_some_and(|(place, _)| place.namespace == namespace)
    }

    /// The claims to which Secrets matter in namespaces of which this is so.
    pub(in crate::claim_controller) fn users_in(&self, is_meant: impl Fn(&str) -> bool) -> BTreeMap<String, Vec<Work>> {
        let mut users: BTreeMap<String, Vec<Work>> = BTreeMap::new();
        for (place, keys) in self.users.iter().filter(|(place, _)| is_meant(&place.namespace)) {
            let work = keys.iter().cloned().map(Work::Claim);
            users.entry(place.namespace.clone()).or_default().extend(work);
        }
        users
    }

    /// Forgets what was seen in a namespace that is not followed any more.
    pub(in crate::claim_controller) fn forget_namespace(&mut self, namespace: &str) {
        let places = self.seen.range(first_in(namespace)..).map(|(place, _)| place);
        let gone: Vec<Place> = places.take_while(|place| place.namespace == namespace).cloned().collect();
        gone.iter().for_each(|place| self.see(place, None));
    }

    /// Which versions of Secrets are there.
    pub(in crate::claim_controller) fn versions(&self, places: &[Place]) -> Versions {
        let version = |place: &Place| self.seen.get(place).map(|secret| secret.version.clone());
        places.iter().map(|place| (place.clone(), version(place))).collect()
    }

    /// Whether a claim has, as far as was seen, a Secret of its own beside this one.
    pub(in crate::claim_controller) fn has_others(&self, uid: &str, one: &Place) -> bool {
        let mut own = self.own.get(uid).into_iter().flatten();
        own.any(|place| place.namespace == one.namespace && place.name != one.name)
    }

    /// Whether a claim has been told of these versions. Where they are not known, that is never so.
    pub(in crate::claim_controller) fn has_handed_on(&self, key: &Key, versions: &Versions) -> bool {
        versions.iter().all(|(_, version)| version.is_some())
            && self.handed_on.get(key).is_some_and(|known| known == versions)
    }

    /// Notes which Secrets of its resources a claim lacks. Whether it had one of them, as was seen or is known otherwise.
    pub(in crate::claim_controller) fn note_missing(&mut self, key: &Key, missing: &[Place], had_all: bool) -> bool {
        let known = self.handed_on.get(key);
        let was_told =
            |place: &Place| known.into_iter().flatten().any(|(known, version)| known == place && version.is_some());
        let was_lost = |place: &Place| self.lost.get(key).is_some_and(|lost| lost.contains(place));
        let is_lost = |place: &&Place| had_all || was_told(place) || was_lost(place);
        let lost: BTreeSet<Place> = missing.iter().filter(is_lost).cloned().collect();
        let has_lost_some = !lost.is_empty() && self.used.contains_key(key);
        match has_lost_some {
            true => drop(self.lost.insert(key.clone(), lost)),
            false => drop(self.lost.remove(key)),
        }
        if !missing.is_empty() {
            // It is looked for each time, until it is there.
            self.handed_on.remove(key);
        }
        has_lost_some
    }

    /// Notes of which versions a claim has been told, if it is still there.
    pub(in crate::claim_controller) fn note_handed_on(&mut self, key: &Key, versions: Versions) {
        if self.used.contains_key(key) {
            self.handed_on.insert(key.clone(), versions);
        }
    }

    /// Forgets a claim, to which Secrets in these namespaces have mattered.
    pub(super) fn forget(&mut self, key: &Key) -> BTreeSet<String> {
        self.handed_on.remove(key);
        self.lost.remove(key);
        self.follow(key, &[])
    }
}

/// Before every Secret in a namespace.
fn first_in(namespace: &str) -> Place {
    Place { namespace: namespace.to_owned(), name: String::new() }
}

fn remove(places: &mut HashMap<String, BTreeSet<Place>>, uid: &str, place: &Place) {
    if let Some(found) = places.get_mut(uid) {
        found.remove(place);
        if found.is_empty() {
            places.remove(uid);
        }
    }
}
