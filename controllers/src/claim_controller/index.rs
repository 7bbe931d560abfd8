//! What was seen last, and what a change of it touches.

mod classes;
mod held;
mod known;
mod secrets;
mod sight;
mod uses;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use bailiwick_api::claims::{ClaimRef, KindFacts, ObjectRef};
use bailiwick_api::{FormerResource, KindReference, ResourceBindingDefinition};
use serde_json::Value;

use super::claim_status::ClaimStatus;
use super::objects::{is_going, text};
use super::{Work, group_kind};
use crate::place::Place;
use crate::served_kinds::GroupKind;

pub(super) use known::{Definition, DefinitionState, EntryFacts, Resource, Served, Standing, Unjudged, Wanted};
pub(super) use secrets::SeenSecret;
pub(super) use sight::Sight;

use classes::Classes;
use held::Held;
use secrets::Secrets;
use sight::Seen;
use uses::Uses;

/// An object of a kind that is data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) kind: GroupKind,
    pub(super) place: Place,
}

/// A kind, in a version in which it is followed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Followed {
    pub(super) kind: GroupKind,
    pub(super) version: String,
}

/// What a change touches.
#[derive(Default)]
pub(super) struct Touched {
    pub(super) work: Vec<Work>,
    /// Definitions whose claims are others now.
    pub(super) counted: BTreeSet<String>,
    /// Namespaces whose Secrets matter to fewer claims now.
    pub(super) namespaces: BTreeSet<String>,
}

/// What was seen last.
#[derive(Default)]
pub(super) struct Index {
    pub(super) definitions: BTreeMap<String, Arc<Definition>>,
    pub(super) standings: HashMap<String, Arc<Standing>>,
    /// The state of a definition that its standing is about.
    pub(super) looked_at: HashMap<String, DefinitionState>,
    /// Definitions that could not be judged.
    pub(super) unjudged: HashMap<String, Unjudged>,
    /// Of each CustomResourceDefinition that is established, its kind, and what it says of it in each version that is served.
    kinds: HashMap<String, (GroupKind, Vec<Arc<KindFacts>>)>,
    namespaces: HashMap<String, BTreeMap<String, String>>,
    pub(super) claims: HashMap<GroupKind, HashMap<Place, Arc<Value>>>,
    claims_by_uid: HashMap<String, Key>,
    /// Claims that wait for something to appear or to change.
    waiting: HashMap<GroupKind, HashSet<Place>>,
    pub(super) classes: Classes,
    pub(super) resources: HashMap<GroupKind, HashMap<Place, Resource>>,
    seen: Seen,
    /// Who follows a kind: one that is stopped may still be about to tell what it has seen.
    followed_by: HashMap<Followed, u64>,
    uses: Uses,
    held: Held,
    pub(super) secrets: Secrets,
}

// === impl Index ===

impl Index {
    pub(super) fn see_definition(&mut self, name: &str, object: Option<ResourceBindingDefinition>) -> Vec<Work> {
        let mut work = vec![Work::Definition(name.to_owned())];
        let new = object.map(|object| Arc::new(Definition::of(object)));
        let old = match new.clone() {
            Some(new) => self.definitions.insert(name.to_owned(), new),
            None => self.definitions.remove(name),
        };
        if new.is_none() {
            // Claims of it that were not seen do not keep the classes any more that it named.
            work.extend(old.iter().flat_map(|gone| self.going_classes_of(&gone.object)));
        }
        // Claims that waited until it is looked at do so no longer if it is not for them any more.
        let claim = |definition: &Arc<Definition>| group_kind(&definition.object.spec.claim);
        if let Some(old) = old.as_ref().map(claim).filter(|old| Some(old) != new.as_ref().map(claim).as_ref()) {
            work.extend(self.waiting_of(&old));
        }
        work
    }

    /// Definitions are looked at again that name a kind which came, changed or went.
    pub(super) fn see_kind(&mut self, name: &str, definition: Option<&Value>) -> Vec<Work> {
        let new = definition.and_then(|definition| {
            let (group, kind) = KindFacts::established(definition)?;
            let versions = KindFacts::of(definition).into_iter().map(Arc::new).collect();
            Some((GroupKind { group: group.to_owned(), kind: kind.to_owned() }, versions))
        });
        let old = match new.clone() {
            Some(new) => self.kinds.insert(name.to_owned(), new),
            None => self.kinds.remove(name),
        };
        if old == new {
            return Vec::new();
        }
        let touched: HashSet<&GroupKind> = old.iter().chain(&new).map(|(kind, _)| kind).collect();
        let concerned = self.definitions.iter().filter(|(_, definition)| {
            kinds_of(&definition.object).iter().any(|kind| touched.contains(&group_kind(kind)))
        });
        concerned.map(|(name, _)| Work::Definition(name.clone())).collect()
    }

    pub(super) fn see_namespace(&mut self, name: &str, labels: Option<BTreeMap<String, String>>) -> Vec<Work> {
        let old = match labels.clone() {
            Some(labels) => self.namespaces.insert(name.to_owned(), labels),
            None => self.namespaces.remove(name),
        };
        if old == labels {
            return Vec::new();
        }
        let here = |(kind, places): (&GroupKind, &HashSet<Place>)| {
            let in_it = places.iter().filter(|place| place.namespace == name);
            in_it.map(|place| Work::Claim(Key { kind: kind.clone(), place: place.clone() })).collect::<Vec<_>>()
        };
        self.waiting.iter().flat_map(here).collect()
    }

    /// What is known of a kind, if it is served.
    pub(super) fn facts(&self, kind: &KindReference) -> Option<Arc<KindFacts>> {
        self.facts_of(&kind.api_version, &kind.kind)
    }

    pub(super) fn facts_of(&self, api_version: &str, kind: &str) -> Option<Arc<KindFacts>> {
        let is_meant = |facts: &&Arc<KindFacts>| facts.kind == kind && facts.api_version() == api_version;
        self.kinds.values().flat_map(|(_, versions)| versions).find(is_meant).cloned()
    }

    /// How one comes to the objects of a kind, if there may be some: whoever looks after them does not depend on the version in
    /// which they were named.
    pub(super) fn served(&self, api_version: &str, kind: &str) -> Served {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let mut defined = self.kinds.values();
        let Some((_, versions)) = defined.find(|(found, _)| found.group == group && found.kind == kind) else {
            return Served::Gone;
        };
        let named = versions.iter().find(|facts| facts.api_version() == api_version);
        named.or(versions.first()).cloned().map_or(Served::Not, Served::As)
    }

    /// The kind of claims, in the version in which they are handled.
    pub(super) fn claim_facts(&self, kind: &GroupKind) -> Option<Arc<KindFacts>> {
        let mut facts = self.standings.values().filter_map(|standing| standing.claim.as_ref());
        facts.find(|facts| of_facts(facts) == *kind).cloned()
    }

    /// The labels of a namespace, if it was seen.
    pub(super) fn labels_of(&self, namespace: &str) -> Option<BTreeMap<String, String>> {
        self.namespaces.get(namespace).cloned()
    }

    /// The kinds to be followed: classes in each version that is named, everything else in one.
    pub(super) fn wanted(&self) -> HashMap<Followed, Wanted> {
        let mut wanted: HashMap<Followed, Wanted> = HashMap::new();
        let mut want = |facts: &Arc<KindFacts>, mark: fn(&mut Wanted)| {
            let fresh = || Wanted { facts: facts.clone(), claims: false, classes: false, resources: false };
            mark(wanted.entry(Followed::of(facts)).or_insert_with(fresh));
        };
        let mut resources: HashMap<GroupKind, Arc<KindFacts>> = HashMap::new();
        let mut claims: HashMap<GroupKind, Arc<KindFacts>> = HashMap::new();
        let mut standings: Vec<(&String, &Arc<Standing>)> = self.standings.iter().collect();
        standings.sort_by_key(|(name, _)| name.as_str());
        for (_, standing) in standings {
            if let Some(claim) = &standing.claim {
                claims.entry(of_facts(claim)).or_insert_with(|| claim.clone());
            }
            let named = standing.entries.iter().flatten().map(|entry| &entry.resource);
            for resource in named.chain(&standing.resources) {
                resources.entry(of_facts(resource)).or_insert_with(|| resource.clone());
            }
            let named = standing.entries.iter().flatten().map(|entry| &entry.class);
            named.chain(&standing.classes).for_each(|class| want(class, |wanted| wanted.classes = true));
        }
        claims.values().for_each(|claim| want(claim, |wanted| wanted.claims = true));
        resources.values().for_each(|resource| want(resource, |wanted| wanted.resources = true));
        wanted
    }

    /// Notes who follows a kind from now on.
    pub(super) fn begin_to_follow(&mut self, followed: &Followed, follower: u64) {
        self.followed_by.insert(followed.clone(), follower);
    }

    /// Whether what someone has seen of a kind counts.
    pub(super) fn is_followed_by(&self, followed: &Followed, follower: u64) -> bool {
        self.followed_by.get(followed) == Some(&follower)
    }

    /// Forgets what is not followed any more. In some namespaces Secrets matter to fewer claims then.
    pub(super) fn forget(&mut self, followed: &Followed, wanted: &Wanted) -> BTreeSet<String> {
        let kind = &followed.kind;
        self.seen.remove(followed);
        self.followed_by.remove(followed);
        let mut namespaces = BTreeSet::new();
        if wanted.claims {
            let places = self.claims.get(kind).map(|claims| claims.keys().cloned().collect::<Vec<_>>());
            for place in places.unwrap_or_default() {
                namespaces.extend(self.see_claim(kind, &place, None).namespaces);
            }
            self.claims.remove(kind);
            self.waiting.remove(kind);
        }
        if wanted.classes {
            self.classes.forget(followed);
        }
        if wanted.resources {
            self.resources.remove(kind);
            self.held.forget_kind(kind);
        }
        namespaces
    }

    /// Everything of a kind has been seen: what waited for that is looked at.
    pub(super) fn see_all(&mut self, followed: &Followed) -> Vec<Work> {
        self.seen.insert(followed);
        let kind = &followed.kind;
        let concerned = self.claim_kinds_that_use(kind);
        let mut work: Vec<Work> = concerned.iter().flat_map(|kind| self.claims_of(kind)).collect();
        // Definitions of the same claims wait for each other's kinds: to be ready, and to go.
        let complete = concerned.iter().filter(|kind| self.has_seen_all_for(kind));
        work.extend(complete.flat_map(|kind| self.definitions_for(kind)));
        // What is to go, or is named no more, waits until all of that was seen; and what could not be listed now was.
        let is_left_out =
            |name: &String| self.standings.get(name).is_some_and(|standing| !standing.unlistable.is_empty());
        let concerned = self.definitions.iter().filter(|(name, definition)| {
            (definition.is_going() || !definition.former().is_empty() || is_left_out(name))
                && kinds_of(&definition.object).iter().any(|named| group_kind(named) == *kind)
        });
        work.extend(concerned.map(|(name, _)| Work::Definition(name.clone())));
        // What is held for claims that are not among them may be nobody's.
        let held = self.held.for_claims_of(kind).filter(|(uid, _)| !self.claims_by_uid.contains_key(*uid));
        work.extend(held.flat_map(|(_, resources)| resources.iter().cloned().map(Work::Resource)));
        // Classes that are about to go wait for the same as definitions.
        let of_kind = self.definitions.values().filter(|other| group_kind(&other.object.spec.claim) == *kind);
        work.extend(of_kind.flat_map(|definition| self.going_classes_of(&definition.object)));
        work
    }

    /// The classes of a definition's kinds that are about to go.
    fn going_classes_of(&self, definition: &ResourceBindingDefinition) -> Vec<Work> {
        let of_kind = |kind: GroupKind| {
            let going = self.classes.each(&kind).into_iter().filter(|(_, class)| is_going(class));
            going.map(|(place, _)| Work::Class(Key { kind: kind.clone(), place: place.clone() })).collect::<Vec<_>>()
        };
        class_kinds(definition).into_iter().flat_map(of_kind).collect()
    }

    pub(super) fn see_claim(&mut self, kind: &GroupKind, place: &Place, object: Option<Value>) -> Touched {
        let key = Key { kind: kind.clone(), place: place.clone() };
        let claims = self.claims.entry(kind.clone()).or_default();
        let new = object.map(Arc::new);
        let old = match new.clone() {
            Some(object) => claims.insert(place.clone(), object),
            None => claims.remove(place),
        };
        let mut touched = Touched::default();
        if let Some(old) = &old {
            self.uses.forget(&key, old, &mut touched);
        }
        match &new {
            Some(new) => {
                self.claims_by_uid.insert(text(new, "/metadata/uid").to_owned(), key.clone());
                self.uses.note(&key, new, &mut touched);
                let left = self.held.for_claim(uid(new)).filter(|held| self.orphan(held).is_some());
                touched.work.extend(left.cloned().map(Work::Resource));
                touched.work.push(Work::Claim(key));
            }
            None => {
                self.set_waiting(&key, false);
                touched.namespaces = self.secrets.forget(&key);
            }
        }
        if let Some(old) = old.filter(|old| new.as_ref().is_none_or(|new| uid(new) != uid(old))) {
            self.claims_by_uid.remove(uid(&old));
            touched.work.extend(self.held.for_claim(uid(&old)).cloned().map(Work::Resource));
        }
        // One that goes waits for its last claim, and no longer.
        let is_free = |name: &&String| {
            let found = self.definitions.get(*name).filter(|definition| definition.is_going());
            found.is_some_and(|definition| self.uses.of_definition(&definition.uid()).is_empty())
        };
        touched.work.extend(touched.counted.iter().filter(is_free).cloned().map(Work::Definition));
        touched
    }

    pub(super) fn see_class(&mut self, followed: &Followed, place: &Place, object: Option<Value>) -> Vec<Work> {
        let kind = &followed.kind;
        let new = object.map(Arc::new);
        let old = self.classes.see(followed, place, new.clone());
        let mut work = vec![Work::Class(Key { kind: kind.clone(), place: place.clone() })];
        if old.as_deref().map(what_counts) != new.as_deref().map(what_counts) {
            work.extend(self.claim_kinds_that_use(kind).iter().flat_map(|kind| self.waiting_of(kind)));
        }
        work
    }

    pub(super) fn see_resource(&mut self, facts: &KindFacts, place: &Place, object: Option<Value>) -> Vec<Work> {
        let kind = of_facts(facts);
        let new = object.map(|object| Resource::of(object, facts));
        // One that states a name only offers itself.
        let is_free = new.as_ref().is_none_or(|new| new.claim.as_ref().is_none_or(|claim| claim.uid.is_empty()));
        let resources = self.resources.entry(kind.clone()).or_default();
        let old = match new.clone() {
            Some(resource) => resources.insert(place.clone(), resource),
            None => resources.remove(place),
        };
        let owners = old.iter().chain(&new).filter_map(|resource| resource.claim.as_ref());
        let known = |claim: &ClaimRef| self.claims_by_uid.get(&claim.uid).cloned().map(Work::Claim);
        let mut work: Vec<Work> = owners.filter_map(known).collect();
        let key = Key { kind: kind.clone(), place: place.clone() };
        self.held.see(&key, old.as_ref(), new.as_ref());
        if self.orphan(&key).is_some() {
            work.push(Work::Resource(key));
        }
        if is_free {
            work.extend(self.claim_kinds_that_use(&kind).iter().flat_map(|kind| self.waiting_of(kind)));
        }
        work
    }

    /// A resource that is held for a claim which is not there, or has all that it gets without it, as far as was seen; and whose
    /// that is.
    pub(super) fn orphan(&self, key: &Key) -> Option<ClaimRef> {
        let resource = self.resources.get(&key.kind).and_then(|resources| resources.get(&key.place))?;
        let is_left = |named: &&ClaimRef| {
            let Some(claim) = self.claims_by_uid.get(&named.uid) else {
                return self.seen.contains(&of_reference(named));
            };
            let found = self.claims.get(&claim.kind).and_then(|claims| claims.get(&claim.place));
            *claim == key_of(named) && found.is_some_and(|found| ClaimStatus::of(found).is_whole_without(key))
        };
        resource.holder().filter(is_left).cloned()
    }

    /// The kind of resources, in the version in which they are handled.
    pub(super) fn resource_facts(&self, kind: &GroupKind) -> Option<Arc<KindFacts>> {
        let of = |standing: &Arc<Standing>| {
            let named = standing.entries.iter().flatten().map(|entry| &entry.resource);
            named.chain(&standing.resources).find(|facts| of_facts(facts) == *kind).cloned()
        };
        self.standings.values().find_map(of)
    }

    pub(super) fn set_waiting(&mut self, key: &Key, waits: bool) {
        let is_there = self.claims.get(&key.kind).is_some_and(|claims| claims.contains_key(&key.place));
        let waits = waits && is_there;
        let places = self.waiting.entry(key.kind.clone()).or_default();
        match waits {
            true => places.insert(key.place.clone()),
            false => places.remove(&key.place),
        };
    }

    /// Notes which Secrets matter to a claim, if it is still there. In some namespaces that is another number of claims then.
    pub(super) fn follow_secrets(&mut self, key: &Key, places: &[Place]) -> BTreeSet<String> {
        let is_there = self.claims.get(&key.kind).is_some_and(|claims| claims.contains_key(&key.place));
        self.secrets.follow(key, if is_there { places } else { &[] })
    }

    pub(super) fn waiting_of(&self, kind: &GroupKind) -> Vec<Work> {
        let claim = |place: &Place| Work::Claim(Key { kind: kind.clone(), place: place.clone() });
        self.waiting.get(kind).into_iter().flatten().map(claim).collect()
    }

    pub(super) fn claims_of(&self, kind: &GroupKind) -> Vec<Work> {
        let claim = |place: &Place| Work::Claim(Key { kind: kind.clone(), place: place.clone() });
        self.claims.get(kind).into_iter().flat_map(HashMap::keys).map(claim).collect()
    }

    /// The definitions by which claims of a kind are satisfied.
    pub(super) fn definitions_for(&self, claim: &GroupKind) -> Vec<Work> {
        let of_kind =
            self.definitions.iter().filter(|(_, definition)| group_kind(&definition.object.spec.claim) == *claim);
        of_kind.map(|(name, _)| Work::Definition(name.clone())).collect()
    }

    pub(super) fn definition_users(&self, uid: &str) -> Vec<Key> {
        self.uses.of_definition(uid)
    }

    pub(super) fn class_users(&self, class: &Key) -> Vec<Key> {
        self.uses.of_class(class)
    }

    /// The kinds of claims that are satisfied by this kind, or from it.
    fn claim_kinds_that_use(&self, kind: &GroupKind) -> Vec<GroupKind> {
        let uses = |standing: &&Arc<Standing>| {
            let entries = standing.entries.iter().flatten();
            let claims = standing.claim.as_ref().is_some_and(|facts| of_facts(facts) == *kind);
            claims
                || entries
                    .into_iter()
                    .any(|entry| of_facts(&entry.class) == *kind || of_facts(&entry.resource) == *kind)
        };
        let standings = self.standings.values().filter(uses);
        let kinds: BTreeSet<GroupKind> =
            standings.filter_map(|standing| standing.claim.as_deref().map(of_facts)).collect();
        kinds.into_iter().collect()
    }
}

/// The kinds that a definition names, or named before.
pub(super) fn kinds_of(definition: &ResourceBindingDefinition) -> Vec<KindReference> {
    let named = definition.spec.resources.iter().flat_map(|entry| [entry.resource.clone(), entry.class.reference()]);
    let former = former(definition).iter().flat_map(|entry| [entry.resource.clone(), entry.class.clone()]);
    std::iter::once(definition.spec.claim.clone()).chain(named).chain(former).collect()
}

/// The kinds of classes that a definition names, or named before.
pub(super) fn class_kinds(definition: &ResourceBindingDefinition) -> BTreeSet<GroupKind> {
    let named = definition.spec.resources.iter().map(|entry| group_kind(&entry.class.reference()));
    named.chain(former(definition).iter().map(|entry| group_kind(&entry.class))).collect()
}

/// What a definition named before, and may still look after.
pub(super) fn former(definition: &ResourceBindingDefinition) -> &[FormerResource] {
    definition.status.as_ref().map(|status| status.former_resources.as_slice()).unwrap_or_default()
}

pub(super) fn of_facts(facts: &KindFacts) -> GroupKind {
    GroupKind { group: facts.group.clone(), kind: facts.kind.clone() }
}

/// The kind that a reference names, whatever the version.
pub(super) fn of_reference(named: &ObjectRef) -> GroupKind {
    GroupKind { group: named.group().to_owned(), kind: named.kind.clone() }
}

/// What a reference names: a class in the status of a claim, or the claim that a resource is held for.
pub(super) fn key_of(named: &ObjectRef) -> Key {
    Key { kind: of_reference(named), place: Place { namespace: named.namespace.clone(), name: named.name.clone() } }
}

fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

/// A class without what does not decide whether it is chosen.
fn what_counts(class: &Value) -> Value {
    let mut class = class.clone();
    if let Some(metadata) = class.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| !matches!(field.as_str(), "resourceVersion" | "finalizers" | "generation"));
    }
    class
}

#[cfg(test)]
mod tests;
