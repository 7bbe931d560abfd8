//! What was seen last, and what a change of it touches.

mod known;
mod secrets;
mod uses;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use bailiwick_api::claims::{ClaimRef, KindFacts, ObjectRef, Rules};
use bailiwick_api::{KindReference, ResourceBindingDefinition};
use serde_json::Value;

use super::objects::text;
use super::{Work, group_kind};
use crate::place::Place;
use crate::served_kinds::GroupKind;

pub(super) use known::{Definition, EntryFacts, Resource, Standing, Wanted};

use secrets::Secrets;
use uses::Uses;

/// An object of a kind that is data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) kind: GroupKind,
    pub(super) place: Place,
}

/// What a change touches.
#[derive(Default)]
pub(super) struct Touched {
    pub(super) work: Vec<Work>,
    /// Definitions whose claims are others now.
    pub(super) counted: BTreeSet<String>,
}

/// What was seen last.
#[derive(Default)]
pub(super) struct Index {
    pub(super) definitions: BTreeMap<String, Arc<Definition>>,
    pub(super) standings: HashMap<String, Arc<Standing>>,
    /// The generation in which a definition was last looked at, and whether it was about to go then.
    pub(super) looked_at: HashMap<String, (i64, bool)>,
    /// Of each CustomResourceDefinition, what it says of its kind in each version.
    kinds: HashMap<String, Vec<Arc<KindFacts>>>,
    namespaces: HashMap<String, BTreeMap<String, String>>,
    pub(super) claims: HashMap<GroupKind, HashMap<Place, Arc<Value>>>,
    claims_by_uid: HashMap<String, Key>,
    /// Claims that wait for something to appear or to change.
    waiting: HashMap<GroupKind, HashSet<Place>>,
    pub(super) classes: HashMap<GroupKind, HashMap<Place, Arc<Value>>>,
    pub(super) resources: HashMap<GroupKind, HashMap<Place, Resource>>,
    /// Kinds of which everything has been seen.
    seen: HashSet<GroupKind>,
    uses: Uses,
    pub(super) secrets: Secrets,
}

// === impl Index ===

impl Index {
    pub(super) fn see_definition(&mut self, name: &str, object: Option<ResourceBindingDefinition>) -> Vec<Work> {
        match object {
            Some(object) => {
                let rules = |entry: &bailiwick_api::BoundResource| Rules::read(entry.class.strategies.as_ref()).ok();
                let rules = object.spec.resources.iter().filter_map(rules).collect();
                self.definitions.insert(name.to_owned(), Arc::new(Definition { object, rules }));
            }
            None => {
                self.definitions.remove(name);
            }
        }
        vec![Work::Definition(name.to_owned())]
    }

    /// Definitions are looked at again that name a kind which came, changed or went.
    pub(super) fn see_kind(&mut self, name: &str, object: Option<&Value>) -> Vec<Work> {
        let new: Vec<Arc<KindFacts>> =
            object.map(KindFacts::of).unwrap_or_default().into_iter().map(Arc::new).collect();
        let old = match new.is_empty() {
            true => self.kinds.remove(name).unwrap_or_default(),
            false => self.kinds.insert(name.to_owned(), new.clone()).unwrap_or_default(),
        };
        if old == new {
            return Vec::new();
        }
        let touched: HashSet<GroupKind> = old.iter().chain(&new).map(|facts| of_facts(facts)).collect();
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
        self.kinds.values().flatten().find(is_meant).cloned()
    }

    /// The kind of claims, in the version in which they are handled.
    pub(super) fn claim_facts(&self, kind: &GroupKind) -> Option<Arc<KindFacts>> {
        let mut facts = self.standings.values().filter_map(|standing| standing.claim.as_ref());
        facts.find(|facts| of_facts(facts) == *kind).cloned()
    }

    pub(super) fn labels_of(&self, namespace: &str) -> BTreeMap<String, String> {
        self.namespaces.get(namespace).cloned().unwrap_or_default()
    }

    /// The kinds to be followed.
    pub(super) fn wanted(&self) -> HashMap<GroupKind, Wanted> {
        let mut wanted: HashMap<GroupKind, Wanted> = HashMap::new();
        let mut want = |facts: &Arc<KindFacts>, mark: fn(&mut Wanted)| {
            let fresh = || Wanted { facts: facts.clone(), claims: false, classes: false, resources: false };
            mark(wanted.entry(of_facts(facts)).or_insert_with(fresh));
        };
        let mut standings: Vec<(&String, &Arc<Standing>)> = self.standings.iter().collect();
        standings.sort_by_key(|(name, _)| name.as_str());
        for (_, standing) in standings {
            if let Some(claim) = &standing.claim {
                want(claim, |wanted| wanted.claims = true);
            }
            for entry in standing.entries.iter().flatten() {
                want(&entry.class, |wanted| wanted.classes = true);
                want(&entry.resource, |wanted| wanted.resources = true);
            }
        }
        wanted
    }

    /// Forgets what is not followed any more.
    pub(super) fn forget(&mut self, kind: &GroupKind) {
        self.seen.remove(kind);
        for place in self.claims.get(kind).map(|claims| claims.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
        {
            self.see_claim(kind, &place, None);
        }
        self.claims.remove(kind);
        self.waiting.remove(kind);
        self.classes.remove(kind);
        self.resources.remove(kind);
    }

    /// Everything of a kind has been seen: what waited for that is looked at.
    pub(super) fn see_all(&mut self, kind: &GroupKind) -> Vec<Work> {
        self.seen.insert(kind.clone());
        let concerned = self.claim_kinds_that_use(kind);
        let mut work: Vec<Work> = concerned.iter().flat_map(|kind| self.claims_of(kind)).collect();
        // Those that are about to go wait until they have seen all claims.
        let concerned = self
            .definitions
            .iter()
            .filter(|(_, definition)| definition.is_going() && group_kind(&definition.object.spec.claim) == *kind);
        work.extend(concerned.map(|(name, _)| Work::Definition(name.clone())));
        work
    }

    /// Whether everything has been seen that a claim of this kind may depend on.
    pub(super) fn has_seen_all_for(&self, claim: &GroupKind) -> bool {
        let standings = self
            .standings
            .values()
            .filter(|standing| standing.claim.as_ref().is_some_and(|facts| of_facts(facts) == *claim));
        self.seen.contains(claim)
            && standings.flat_map(|standing| standing.entries.iter().flatten()).all(|entry| {
                self.seen.contains(&of_facts(&entry.class)) && self.seen.contains(&of_facts(&entry.resource))
            })
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
                touched.work.push(Work::Claim(key));
            }
            None => {
                self.set_waiting(&key, false);
                self.secrets.forget(&key);
            }
        }
        if let Some(old) = old.filter(|old| new.as_ref().is_none_or(|new| uid(new) != uid(old))) {
            self.claims_by_uid.remove(uid(&old));
        }
        touched
    }

    pub(super) fn see_class(&mut self, kind: &GroupKind, place: &Place, object: Option<Value>) -> Vec<Work> {
        let classes = self.classes.entry(kind.clone()).or_default();
        let new = object.map(Arc::new);
        let old = match new.clone() {
            Some(object) => classes.insert(place.clone(), object),
            None => classes.remove(place),
        };
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
        if is_free {
            work.extend(self.claim_kinds_that_use(&kind).iter().flat_map(|kind| self.waiting_of(kind)));
        }
        work
    }

    pub(super) fn set_waiting(&mut self, key: &Key, waits: bool) {
        let places = self.waiting.entry(key.kind.clone()).or_default();
        match waits {
            true => places.insert(key.place.clone()),
            false => places.remove(&key.place),
        };
    }

    pub(super) fn waiting_of(&self, kind: &GroupKind) -> Vec<Work> {
        let claim = |place: &Place| Work::Claim(Key { kind: kind.clone(), place: place.clone() });
        self.waiting.get(kind).into_iter().flatten().map(claim).collect()
    }

    pub(super) fn claims_of(&self, kind: &GroupKind) -> Vec<Work> {
        let claim = |place: &Place| Work::Claim(Key { kind: kind.clone(), place: place.clone() });
        self.claims.get(kind).into_iter().flat_map(HashMap::keys).map(claim).collect()
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

/// The kinds that a definition names.
pub(super) fn kinds_of(definition: &ResourceBindingDefinition) -> Vec<KindReference> {
    let entries = definition.spec.resources.iter();
    let named = entries.flat_map(|entry| [entry.resource.clone(), entry.class.reference()]);
    std::iter::once(definition.spec.claim.clone()).chain(named).collect()
}

pub(super) fn of_facts(facts: &KindFacts) -> GroupKind {
    GroupKind { group: facts.group.clone(), kind: facts.kind.clone() }
}

/// The class that a claim names in its status.
pub(super) fn class_key(class: &ObjectRef) -> Key {
    let kind = GroupKind { group: class.group().to_owned(), kind: class.kind.clone() };
    Key { kind, place: Place { namespace: class.namespace.clone(), name: class.name.clone() } }
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
