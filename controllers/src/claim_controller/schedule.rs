//! What there is for a claim, and what it gets of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_api::claims::{
    Candidate, Choice, Class, Entry, KindFacts, Offer, Phase, Pick, Wish, allows, complete, schedule,
};
use kube::ResourceExt;
use serde_json::Value;

use super::claim_status::DefinitionRef;
use super::index::{Definition, EntryFacts, Index, Key, of_facts};
use crate::served_kinds::GroupKind;

/// What a claim gets.
pub(super) struct Decision {
    pub(super) definition: Arc<Definition>,
    pub(super) entries: Vec<EntryFacts>,
    pub(super) choice: Choice,
}

/// What came of looking for something that satisfies a claim.
pub(super) struct Scheduled {
    pub(super) decision: Option<Decision>,
    pub(super) candidates: Vec<Candidate>,
    /// How many definitions there are for claims of this kind, ready to be used.
    pub(super) definitions: usize,
    /// The kinds of the classes and resources that these and those name that are left out, if they are for the claim's namespace.
    pub(super) class_kinds: BTreeSet<String>,
    pub(super) resource_kinds: BTreeSet<String>,
    /// Those that are left out, by name: objects of these kinds that they name cannot be listed.
    pub(super) left_out: BTreeMap<String, BTreeSet<GroupKind>>,
}

// === impl Decision ===

impl Decision {
    /// The definition, as the claim's status names it.
    pub(super) fn definition_ref(&self) -> DefinitionRef {
        DefinitionRef {
            name: self.definition.object.metadata.name.clone().unwrap_or_default(),
            uid: self.definition.uid(),
            generation: self.definition.generation(),
        }
    }
}

// === impl Index ===

impl Index {
    pub(super) fn schedule(&self, key: &Key, claim: &Value, namespace_labels: &BTreeMap<String, String>) -> Scheduled {
        let ready: Vec<(&Arc<Definition>, &Vec<EntryFacts>)> =
            self.definitions.keys().filter_map(|name| self.in_use(name, &key.kind)).collect();
        let namespace = key.place.namespace.as_str();
        let offers: Vec<Offer<'_>> =
            ready.iter().map(|(definition, entries)| self.offer(definition, entries, namespace)).collect();
        let (choice, candidates) = schedule(Wish { claim, namespace_labels }, &offers);
        let decision = choice.and_then(|choice| {
            let (definition, entries) = ready.get(choice.offer)?;
            Some(Decision { definition: (*definition).clone(), entries: (*entries).clone(), choice })
        });
        // What is for others is not told of, nor is anything to who needs no advice.
        let is_offered = |definition: &Definition| {
            let selector = definition.object.spec.claimable_from.as_ref();
            allows(selector.and_then(|selector| serde_json::to_value(selector).ok()).as_ref(), namespace_labels)
        };
        let mut left_out = self.left_out_for(&key.kind);
        left_out.retain(|name, _| self.definitions.get(name).is_some_and(|definition| is_offered(definition)));
        let offered = self
            .definitions
            .iter()
            .filter(|(_, definition)| decision.is_none() && !definition.is_going() && is_offered(definition));
        let offered = offered.filter_map(|(name, _)| self.standings.get(name).filter(|found| found.is_for(&key.kind)));
        let named: Vec<&EntryFacts> = offered.flat_map(|standing| standing.entries.iter().flatten()).collect();
        Scheduled {
            decision,
            candidates,
            definitions: ready.len(),
            class_kinds: named.iter().map(|entry| entry.class.kind.clone()).collect(),
            resource_kinds: named.iter().map(|entry| entry.resource.kind.clone()).collect(),
            left_out,
        }
    }

    /// What a claim gets for one of the resources of its definition in the place of what has gone, beside what it keeps for the
    /// others.
    pub(super) fn schedule_again(
        &self,
        key: &Key,
        wish: Wish<'_>,
        definition: &Definition,
        (kept, index, gone): (&[Option<Pick>], usize, &str),
    ) -> Option<(Pick, EntryFacts)> {
        // Who does not know all classes yet would choose another than later.
        if !self.has_seen_all_for(&key.kind) {
            return None;
        }
        let (found, entries) = self.in_use(&definition.object.name_any(), &key.kind)?;
        let is_it = found.state() == definition.state() && entries.len() == kept.len();
        let mut offer = self.offer(found, entries.as_slice(), &key.place.namespace);
        offer.entries.get_mut(index)?.existing.retain(|object| Class(object).name() != gone);
        let picks = complete(wish, &offer, kept).filter(|_| is_it)?;
        Some((picks.get(index)?.clone(), entries.get(index)?.clone()))
    }

    /// A definition by which claims of a kind can be satisfied at present, and the kinds that it names. One that is another by now
    /// than when it was looked at may name others.
    fn in_use(&self, name: &str, claim: &GroupKind) -> Option<(&Arc<Definition>, &Vec<EntryFacts>)> {
        let definition = self.definitions.get(name).filter(|definition| !definition.is_going())?;
        let standing = self.standings.get(name).filter(|_| self.was_looked_at(name))?;
        let is_in_use = standing.is_for(claim) && standing.unlistable.is_empty();
        Some((definition, standing.entries.as_ref().filter(|_| is_in_use)?))
    }

    /// What there is to satisfy a claim of a namespace with, by a definition.
    fn offer<'o>(&'o self, definition: &'o Definition, entries: &'o [EntryFacts], namespace: &str) -> Offer<'o> {
        let specs = definition.object.spec.resources.iter();
        let all = entries.iter().zip(specs).zip(&definition.rules);
        let entries = all.map(|((facts, spec), rules)| Entry {
            rules,
            classes: self.visible_classes(&facts.class, namespace),
            existing: match spec.prefer_existing {
                true => self.free_resources(&facts.resource, namespace),
                false => Vec::new(),
            },
        });
        Offer { definition: &definition.object, entries: entries.collect() }
    }

    /// Classes that claims of a namespace can use: those of the cluster, and those of the same namespace. Nobody can offer a
    /// class to others by making one at home.
    fn visible_classes(&self, facts: &KindFacts, namespace: &str) -> Vec<&Value> {
        let visible = self.classes.of(facts).filter(|(place, _)| !facts.namespaced || place.namespace == namespace);
        visible.map(|(_, class)| &**class).collect()
    }

    /// Resources that are nobody's, and can be bound.
    fn free_resources(&self, facts: &KindFacts, namespace: &str) -> Vec<&Value> {
        let resources = self.resources.get(&of_facts(facts)).into_iter().flatten();
        let near = resources.filter(|(place, _)| !facts.namespaced || place.namespace == namespace);
        let free = near.filter(|(_, resource)| resource.phase != Some(Phase::Unbindable));
        free.filter_map(|(_, resource)| resource.whole.as_deref()).collect()
    }
}
