//! Of which kinds everything has been seen, and what claims wait for that.
//!
//! A claim for which nothing has been made is decided when everything is known that may satisfy it, and each definition has been
//! looked at as it is by now: who knows less would choose another class than later. Definitions that name what cannot be listed are
//! left out meanwhile, as those are that are not ready for other reasons, or cannot be judged for some time. What a claim has is
//! looked after when the kinds of that are known.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bailiwick_api::KindReference;
use bailiwick_api::claims::KindFacts;
use kube::ResourceExt;

use super::{Followed, Index, Served, Standing, of_facts, of_reference};
use crate::claim_controller::claim_status::ClaimStatus;
use crate::claim_controller::group_kind;
use crate::served_kinds::GroupKind;

/// Kinds of which everything has been seen, with the versions in which that is so.
#[derive(Default)]
pub(super) struct Seen(HashMap<GroupKind, BTreeSet<String>>);

/// Whether enough is known to look after a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::claim_controller) enum Sight {
    /// Everything that it may depend on has been seen.
    Clear,
    /// Something has not been seen yet.
    Awaited,
    /// It depends on these kinds, which cannot be listed.
    Blocked(BTreeSet<GroupKind>),
}

// === impl Seen ===

impl Seen {
    pub(super) fn insert(&mut self, kind: &Followed) {
        self.0.entry(kind.kind.clone()).or_default().insert(kind.version.clone());
    }

    pub(super) fn remove(&mut self, kind: &Followed) {
        if let Some(versions) = self.0.get_mut(&kind.kind) {
            versions.remove(&kind.version);
            if versions.is_empty() {
                self.0.remove(&kind.kind);
            }
        }
    }

    /// In whichever version.
    pub(super) fn contains(&self, kind: &GroupKind) -> bool {
        self.0.contains_key(kind)
    }

    fn contains_version(&self, kind: &Followed) -> bool {
        self.0.get(&kind.kind).is_some_and(|versions| versions.contains(&kind.version))
    }
}

// === impl Index ===

impl Index {
    /// Whether all claims have been seen that may use classes of a kind: who uses one of them is not known before.
    pub(in crate::claim_controller) fn sees_users_of(&self, class: &GroupKind) -> bool {
        let mut naming =
            self.definitions.values().filter(|definition| super::class_kinds(&definition.object).contains(class));
        naming.all(|definition| self.sees_claims(&definition.object.spec.claim))
    }

    /// Whether all claims of a kind have been seen, or there can be none.
    pub(in crate::claim_controller) fn sees_claims(&self, claim: &KindReference) -> bool {
        self.seen.contains(&group_kind(claim)) || self.served(&claim.api_version, &claim.kind) == Served::Gone
    }

    /// Whether everything of a kind has been seen.
    pub(in crate::claim_controller) fn has_seen_all_of(&self, kind: &GroupKind) -> bool {
        self.seen.contains(kind)
    }

    /// Whether everything of a kind has been seen in the version in which it is followed.
    pub(in crate::claim_controller) fn has_seen(&self, kind: &Followed) -> bool {
        self.seen.contains_version(kind)
    }

    /// Whether everything has been seen that a claim of this kind may depend on.
    pub(in crate::claim_controller) fn has_seen_all_for(&self, claim: &GroupKind) -> bool {
        self.unseen_for(claim).is_empty()
    }

    /// Whether a definition still is what it was when it was looked at: what it names, and whether it may, is not known before.
    pub(in crate::claim_controller) fn was_looked_at(&self, name: &str) -> bool {
        let state = self.definitions.get(name).map(|definition| definition.state());
        state.is_some() && self.looked_at.get(name) == state.as_ref()
    }

    /// Whether all definitions have been looked at, as they are, that claims of this kind may be satisfied by. Nobody waits for ever
    /// for what cannot be judged.
    fn has_looked_at_all_for(&self, claim: &GroupKind) -> bool {
        let mut of_kind =
            self.definitions.iter().filter(|(_, definition)| group_kind(&definition.object.spec.claim) == *claim);
        of_kind.all(|(name, definition)| {
            let given_up = self.unjudged.get(name).filter(|unjudged| !unjudged.is_waited_for);
            self.was_looked_at(name) || given_up.is_some_and(|unjudged| unjudged.state == definition.state())
        })
    }

    /// The kinds that claims of this kind wait for.
    pub(in crate::claim_controller) fn unseen_for(&self, claim: &GroupKind) -> BTreeSet<GroupKind> {
        let in_use = self.standings_for(claim).filter(|standing| standing.unlistable.is_empty());
        let mut unseen: BTreeSet<GroupKind> = in_use.flat_map(|standing| self.unseen_of(standing)).collect();
        if !self.seen.contains(claim) {
            unseen.insert(claim.clone());
        }
        unseen
    }

    /// Whether enough is known to look after a claim that says this of itself.
    pub(in crate::claim_controller) fn sight_for(&self, claim: &GroupKind, status: &ClaimStatus) -> Sight {
        let chosen = status.definition.as_ref().and_then(|chosen| self.standings.get(&chosen.name));
        let is_provided = status.bindings.iter().any(|binding| !binding.uid().is_empty());
        if !is_provided {
            return match chosen.map(|standing| &standing.unlistable) {
                Some(unlistable) if !unlistable.is_empty() => Sight::Blocked(unlistable.clone()),
                _ if self.has_seen_all_for(claim) && self.has_looked_at_all_for(claim) => Sight::Clear,
                _ => Sight::Awaited,
            };
        }
        if !self.seen.contains(claim) {
            return Sight::Awaited;
        }
        let named = status.bindings.iter().flat_map(|binding| binding.class_ref.iter().chain(&binding.resource_ref));
        let own: BTreeSet<GroupKind> = named.map(of_reference).collect();
        let unlistable: BTreeSet<GroupKind> = chosen
            .into_iter()
            .flat_map(|standing| &standing.unlistable)
            .filter(|kind| own.contains(kind))
            .cloned()
            .collect();
        if !unlistable.is_empty() {
            return Sight::Blocked(unlistable);
        }
        let is_unseen = chosen.is_some_and(|standing| self.unseen_of(standing).iter().any(|kind| own.contains(kind)));
        if is_unseen { Sight::Awaited } else { Sight::Clear }
    }

    /// The definitions that claims of a kind would be satisfied by if everything that they name could be listed, with what cannot.
    pub(in crate::claim_controller) fn left_out_for(&self, claim: &GroupKind) -> BTreeMap<String, BTreeSet<GroupKind>> {
        let going = |name: &String| self.definitions.get(name).is_none_or(|definition| definition.is_going());
        let left_out = self
            .standings
            .iter()
            .filter(|(name, standing)| !standing.unlistable.is_empty() && standing.is_for(claim) && !going(name));
        left_out.map(|(name, standing)| (name.clone(), standing.unlistable.clone())).collect()
    }

    /// The definitions that name a kind, or named it before.
    pub(in crate::claim_controller) fn definitions_naming(&self, kind: &GroupKind) -> Vec<String> {
        let naming = self.definitions.values().map(|definition| &definition.object);
        let naming = naming.filter(|object| super::kinds_of(object).iter().any(|named| group_kind(named) == *kind));
        naming.map(ResourceExt::name_any).collect()
    }

    /// The kinds that a definition names and of which not everything has been seen.
    fn unseen_of(&self, standing: &Standing) -> BTreeSet<GroupKind> {
        let mut unseen = BTreeSet::new();
        for entry in standing.entries.iter().flatten() {
            if !self.seen.contains_version(&Followed::of(&entry.class)) {
                unseen.insert(of_facts(&entry.class));
            }
            // One version of it tells of all that there are.
            if !self.seen.contains(&of_facts(&entry.resource)) {
                unseen.insert(of_facts(&entry.resource));
            }
        }
        unseen
    }

    fn standings_for(&self, claim: &GroupKind) -> impl Iterator<Item = &Standing> {
        self.standings.values().map(|standing| &**standing).filter(move |standing| standing.is_for(claim))
    }
}

// === impl Followed ===

impl Followed {
    /// The kind that these are facts of.
    pub(in crate::claim_controller) fn of(facts: &KindFacts) -> Self {
        Self { kind: of_facts(facts), version: facts.version.clone() }
    }

    /// The kind that someone names.
    pub(super) fn named(kind: &KindReference) -> Self {
        let version = kind.api_version.rsplit_once('/').map_or(kind.api_version.as_str(), |(_, version)| version);
        Self { kind: group_kind(kind), version: version.to_owned() }
    }
}
