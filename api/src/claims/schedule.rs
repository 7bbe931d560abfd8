//! Which definition, and which classes or resources, a claim gets: the same answer whenever the same is asked.
//!
//! A class comes into question if the claim names it, if it has what the claim selects or the definition matches, or if it
//! is a default and the claim asks for nothing. In this order they are preferred, then the oldest, then by name. Classes of one
//! claim are chosen one after the other, each with a view to those chosen before; if one finds none that goes with them, the
//! choice before it is reconsidered. What a claim has already stays, where only the rest is to be chosen anew.

use std::collections::BTreeMap;

use bailiwick_machinery::label::{LabelSelector, Selector};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::class::{Class, allows};
use super::reference::ObjectRef;
use super::rules::{ClassMatch, Rules};
use super::shown::Shown;
use crate::resource_binding_definition::{BoundResource, ResourceBindingDefinition};

/// How many candidates a claim is told of.
pub const MAX_CANDIDATES: usize = 20;
/// How often a choice is reconsidered.
const MAX_STEPS: usize = 10_000;

/// What a claim wants.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'w> {
    /// The claim.
    pub claim: &'w Value,
    /// The labels of its namespace.
    pub namespace_labels: &'w BTreeMap<String, String>,
}

/// A definition, and what there is to satisfy a claim with.
pub struct Offer<'o> {
    /// The definition.
    pub definition: &'o ResourceBindingDefinition,
    /// For each of its resources, in order.
    pub entries: Vec<Entry<'o>>,
}

/// What there is for one of the resources of a definition.
pub struct Entry<'o> {
    /// How a class is matched.
    pub rules: &'o Rules,
    /// The classes of the entry's kind that a claim of this namespace can see.
    pub classes: Vec<&'o Value>,
    /// Resources of the entry's kind that nobody has, where they are preferred.
    pub existing: Vec<&'o Value>,
}

/// What a claim gets for one of the resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The resource that it names.
    Named(ObjectRef),
    /// One that is there.
    Existing(ObjectRef),
    /// One that is made from this class.
    Class(ObjectRef),
}

/// What a claim gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which of the offers.
    pub offer: usize,
    /// For each of its resources.
    pub picks: Vec<Pick>,
}

/// A class, and whether it can satisfy the claim. What the claimant may not know of is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Candidate {
    /// The definition that names its kind.
    pub definition: String,
    /// For which of its resources.
    pub index: usize,
    /// The kind of the class.
    pub kind: String,
    /// The name of the class.
    pub name: String,
    /// Whether it can satisfy the claim.
    pub eligible: bool,
    /// Why, or why not, in a word.
    pub reason: String,
    /// Why not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How far it came.
    #[serde(skip)]
    nearness: usize,
}

/// Why a class comes into question; the first is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Named,
    Existing,
    Selected,
    Default,
}

/// Why a class does not come into question.
struct Miss {
    reason: &'static str,
    message: String,
    nearness: usize,
}

/// By what classes and offers are preferred.
type Rank<'c> = (Tier, &'c str, &'c str);

/// The requests in a claim's spec.
struct Requests {
    class: Option<ObjectRef>,
    resource: Option<ObjectRef>,
    selector: Option<Result<Selector, String>>,
}

/// One search for the classes of an offer.
struct Search<'s, 'o> {
    wish: Wish<'s>,
    requests: &'s Requests,
    offer: &'s Offer<'o>,
    /// For each entry what is not chosen anew. There may be less of it.
    kept: &'s [Option<Pick>],
    /// For each entry the classes that come into question, the preferred ones first.
    eligible: Vec<Vec<(Rank<'o>, &'o Value)>>,
    steps: usize,
}

/// What a claim gets, if anything, and which classes were looked at: those first that can satisfy it, then those that
/// came nearest.
pub fn schedule(wish: Wish<'_>, offers: &[Offer<'_>]) -> (Option<Choice>, Vec<Candidate>) {
    let requests = Requests::of(wish.claim);
    let mut candidates = Vec::new();
    let mut found: Vec<(Rank<'_>, &str, Choice)> = Vec::new();
    for (number, offer) in offers.iter().enumerate() {
        let selector =
            offer.definition.spec.claimable_from.as_ref().and_then(|selector| serde_json::to_value(selector).ok());
        if !allows(selector.as_ref(), wish.namespace_labels) {
            continue;
        }
        let eligible = eligible(wish, &requests, offer, &mut candidates);
        if !requests.concern(offer) {
            continue;
        }
        let mut search = Search { wish, requests: &requests, offer, kept: &[], eligible, steps: 0 };
        let Some((rank, picks)) = search.run(&mut candidates) else { continue };
        let name = offer.definition.metadata.name.as_deref().unwrap_or_default();
        found.push((rank, name, Choice { offer: number, picks }));
    }
    candidates.sort_by(|a, b| {
        let key = |candidate: &Candidate| (!candidate.eligible, std::cmp::Reverse(candidate.nearness));
        key(a).cmp(&key(b)).then_with(|| (&a.definition, a.index, &a.name).cmp(&(&b.definition, b.index, &b.name)))
    });
    // It has served its purpose, and is no part of what is told.
    candidates.iter_mut().for_each(|candidate| candidate.nearness = 0);
    found.sort_by_key(|(rank, definition, _)| (*rank, *definition));
    (found.into_iter().next().map(|(.., choice)| choice), candidates)
}

/// What a claim gets of an offer that it has already, for the entries for which nothing is kept: what goes with what is.
pub fn complete(wish: Wish<'_>, offer: &Offer<'_>, kept: &[Option<Pick>]) -> Option<Vec<Pick>> {
    let requests = Requests::of(wish.claim);
    let mut candidates = Vec::new();
    let eligible = eligible(wish, &requests, offer, &mut candidates);
    let mut search = Search { wish, requests: &requests, offer, kept, eligible, steps: 0 };
    search.run(&mut candidates).map(|(_, picks)| picks)
}

/// The classes that come into question for each entry; all that were looked at become candidates.
fn eligible<'o>(
    wish: Wish<'_>,
    requests: &Requests,
    offer: &Offer<'o>,
    candidates: &mut Vec<Candidate>,
) -> Vec<Vec<(Rank<'o>, &'o Value)>> {
    let definition = offer.definition.metadata.name.clone().unwrap_or_default();
    let mut all = Vec::new();
    for (index, (entry, resource)) in offer.entries.iter().zip(&offer.definition.spec.resources).enumerate() {
        let mut eligible: Vec<(Rank<'o>, &'o Value)> = Vec::new();
        for object in &entry.classes {
            let class = Class(object);
            // What may not be used from here may not be known of either.
            if !class.is_claimable_from(wish.namespace_labels) {
                continue;
            }
            let is_named = requests.class.as_ref().filter(|named| names_class(named, index, resource));
            let judged = requests.judge(wish.claim, class, is_named, entry.rules);
            let mut candidate = Candidate {
                definition: definition.clone(),
                index,
                kind: resource.class.kind.clone(),
                name: class.name().to_owned(),
                ..Candidate::default()
            };
            match judged {
                Ok(tier) => {
                    eligible.push(((tier, class.created(), class.name()), object));
                    (candidate.eligible, candidate.reason) = (true, tier.reason().to_owned());
                }
                Err(miss) => {
                    (candidate.reason, candidate.message) = (miss.reason.to_owned(), miss.message);
                    candidate.nearness = miss.nearness;
                }
            }
            candidates.push(candidate);
        }
        eligible.sort_by_key(|(rank, _)| *rank);
        all.push(eligible);
    }
    all
}

// === impl Requests ===

impl Requests {
    fn of(claim: &Value) -> Self {
        let selector = claim.pointer("/spec/classSelector").filter(|selector| !selector.is_null());
        let read = |selector: &Value| {
            let read = LabelSelector::deserialize(selector).map_err(|error| error.to_string())?;
            read.to_selector().map_err(|error| error.to_string())
        };
        Self {
            class: ObjectRef::read(claim.pointer("/spec/classRef")),
            resource: ObjectRef::read(claim.pointer("/spec/resourceRef")),
            selector: selector.map(read),
        }
    }

    /// Whether an offer has what the claim names.
    fn concern(&self, offer: &Offer<'_>) -> bool {
        let resources = &offer.definition.spec.resources;
        let has_class = |named: &ObjectRef| {
            let mut entries = resources.iter().enumerate();
            entries.any(|(index, entry)| names_class(named, index, entry))
        };
        let has_resource = |named: &ObjectRef| {
            resources.iter().any(|entry| named.means(&entry.resource.api_version, &entry.resource.kind))
        };
        self.class.as_ref().is_none_or(has_class) && self.resource.as_ref().is_none_or(has_resource)
    }

    /// Whether a class comes into question for an entry, for which the claim names one or not.
    fn judge(&self, claim: &Value, class: Class<'_>, named: Option<&ObjectRef>, rules: &Rules) -> Result<Tier, Miss> {
        let miss = |reason, message: String, nearness| Err(Miss { reason, message, nearness });
        if class.is_going() {
            return miss("Terminating", "it is being deleted".to_owned(), 0);
        }
        let tier = match (named, &self.selector) {
            (Some(named), _) => {
                if named.name != class.name() {
                    return miss("NotNamed", format!("the claim names {}", Shown::text(&named.name)), 0);
                }
                Tier::Named
            }
            (None, Some(Err(error))) => {
                let error = Shown::text(error);
                return miss("SelectorInvalid", format!("spec.classSelector cannot be read: {error}"), 0);
            }
            (None, Some(Ok(selector))) => {
                let labels = class.labels();
                if !selector.matches(|key| labels.get(key).map(String::as_str)) {
                    let selector = Shown::text(&selector.to_string());
                    return miss("NotSelected", format!("it does not have the labels {selector}"), 2);
                }
                Tier::Selected
            }
            (None, None) if rules.has_matches() => Tier::Selected,
            (None, None) if class.is_default() => Tier::Default,
            (None, None) => {
                let message = "the claim asks for no class, and this is no default".to_owned();
                return miss("NotDefault", message, 1);
            }
        };
        match rules.matches_class(claim, class.0) {
            ClassMatch::Yes => Ok(tier),
            ClassMatch::Missing { field, fulfilled } => {
                miss("FieldMissing", format!("it has no {field}"), 3 + fulfilled)
            }
            ClassMatch::Differs { field, found, wanted, fulfilled } => {
                let (found, wanted) = (Shown::of(&found), Shown::of(&wanted));
                miss("NoMatch", format!("{field} is {found}, and the claim wants {wanted}"), 3 + fulfilled)
            }
            ClassMatch::Untransformed { field, error } => {
                let error = Shown::text(&error.to_string());
                miss("TransformFailed", format!("{field} of the claim cannot be compared: {error}"), 3)
            }
        }
    }
}

/// Whether a claim's reference to a class is about this entry of a definition. One without a kind is about the first.
fn names_class(named: &ObjectRef, index: usize, entry: &BoundResource) -> bool {
    (index == 0 || !named.kind.is_empty()) && named.means(&entry.class.api_version, &entry.class.kind)
}

// === impl Search ===

impl<'o> Search<'_, 'o> {
    /// What is chosen for each entry, and by what the whole is preferred. Classes that do not go with others become misses.
    fn run(&mut self, candidates: &mut [Candidate]) -> Option<(Rank<'o>, Vec<Pick>)> {
        let mut picks = Vec::new();
        let mut repelled = BTreeMap::new();
        let found = self.choose(0, &mut picks, &mut Vec::new(), &mut repelled);
        if !found {
            let definition = self.offer.definition.metadata.name.as_deref().unwrap_or_default();
            for candidate in candidates.iter_mut().filter(|candidate| candidate.definition == definition) {
                if let Some((reason, message)) = repelled.remove(&(candidate.index, candidate.name.clone())) {
                    *candidate =
                        Candidate { eligible: false, reason, message, nearness: usize::MAX, ..candidate.clone() };
                }
            }
            return None;
        }
        let tier = picks.iter().map(|(rank, _): &(Rank<'o>, Pick)| rank.0).min().unwrap_or(Tier::Default);
        let (_, created, name) = picks.first().map_or((Tier::Default, "", ""), |(rank, _)| *rank);
        Some(((tier, created, name), picks.into_iter().map(|(_, pick)| pick).collect()))
    }

    fn choose(
        &mut self,
        index: usize,
        picks: &mut Vec<(Rank<'o>, Pick)>,
        chosen: &mut Vec<BTreeMap<String, String>>,
        repelled: &mut BTreeMap<(usize, String), (String, String)>,
    ) -> bool {
        let offer = self.offer;
        let Some(entry) = offer.entries.get(index) else { return true };
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return false;
        }
        if let Some(kept) = self.kept.get(index).and_then(Option::as_ref) {
            return self.choose_after(kept, index, picks, chosen, repelled);
        }
        if let Some(pick) = self.without_class(index, entry, picks) {
            picks.push(pick);
            let is_named = matches!(picks.last(), Some((_, Pick::Named(_))));
            if self.choose(index + 1, picks, chosen, repelled) {
                return true;
            }
            picks.pop();
            // What is there is only preferred: a class may go with others where it does not.
            if is_named {
                return false;
            }
        }
        for (rank, object) in self.eligible.get(index).cloned().unwrap_or_default() {
            let class = Class(object);
            if let Some((reason, message)) = class.repelled_by(chosen) {
                repelled.entry((index, class.name().to_owned())).or_insert((reason.to_owned(), message));
                continue;
            }
            picks.push((rank, Pick::Class(ObjectRef::of(object))));
            chosen.push(class.labels());
            if self.choose(index + 1, picks, chosen, repelled) {
                return true;
            }
            chosen.pop();
            picks.pop();
        }
        false
    }

    /// Goes on to the next entry with what is kept for this one, if that goes with what is chosen beside it.
    fn choose_after(
        &mut self,
        kept: &Pick,
        index: usize,
        picks: &mut Vec<(Rank<'o>, Pick)>,
        chosen: &mut Vec<BTreeMap<String, String>>,
        repelled: &mut BTreeMap<(usize, String), (String, String)>,
    ) -> bool {
        let entries = &self.offer.entries;
        let of_kind = entries.get(index).into_iter().flat_map(|entry| &entry.classes).map(|class| Class(class));
        let is_kept = |class: &Class<'_>| match kept {
            Pick::Class(kept) => kept.name == class.name() && kept.namespace == class.namespace(),
            Pick::Named(_) | Pick::Existing(_) => false,
        };
        // One that is not there any more goes with everything.
        let class = of_kind.into_iter().find(is_kept);
        if class.is_some_and(|class| class.repelled_by(chosen).is_some()) {
            return false;
        }
        let before = chosen.len();
        chosen.extend(class.map(Class::labels));
        picks.push(((Tier::Named, "", ""), kept.clone()));
        if self.choose(index + 1, picks, chosen, repelled) {
            return true;
        }
        picks.pop();
        chosen.truncate(before);
        false
    }

    /// The resource that the claim names for this entry, or one that is there and is what it wants.
    fn without_class(&self, index: usize, entry: &Entry<'o>, picks: &[(Rank<'o>, Pick)]) -> Option<(Rank<'o>, Pick)> {
        let resource = self.offer.definition.spec.resources.get(index)?;
        let picked = picks.iter().enumerate().map(|(index, (_, pick))| (index, pick));
        let kept = self.kept.iter().enumerate().filter_map(|(index, pick)| Some((index, pick.as_ref()?)));
        let others: Vec<(usize, &Pick)> = picked.chain(kept).collect();
        // One resource is one, however it was found for another entry.
        let is_taken = |name: &str| {
            others.iter().any(|(index, pick)| {
                let kind = self.offer.definition.spec.resources.get(*index).map(|entry| &entry.resource);
                let is_same = kind.is_some_and(|kind| resource.resource.is_same_kind(&kind.api_version, &kind.kind));
                is_same && matches!(pick, Pick::Named(other) | Pick::Existing(other) if other.name == name)
            })
        };
        if let Some(named) = &self.requests.resource
            && named.means(&resource.resource.api_version, &resource.resource.kind)
            && !others.iter().any(|(_, pick)| matches!(pick, Pick::Named(_)))
            && !is_taken(&named.name)
        {
            let named = ObjectRef {
                api_version: resource.resource.api_version.clone(),
                kind: resource.resource.kind.clone(),
                ..named.clone()
            };
            return Some(((Tier::Named, "", ""), Pick::Named(named)));
        }
        if self.requests.class.as_ref().is_some_and(|named| names_class(named, index, resource)) {
            return None;
        }
        let selected = |object: &Value| match &self.requests.selector {
            None => true,
            Some(Err(_)) => false,
            Some(Ok(selector)) => {
                let labels = Class(object).labels();
                selector.matches(|key| labels.get(key).map(String::as_str))
            }
        };
        let fits = |object: &&&'o Value| {
            selected(object) && entry.rules.matches_resource(self.wish.claim, object) && !is_taken(Class(object).name())
        };
        let found = entry.existing.iter().filter(fits).min_by_key(|object| {
            let object = Class(object);
            (object.created(), object.name())
        })?;
        let rank = (Tier::Existing, Class(found).created(), Class(found).name());
        Some((rank, Pick::Existing(ObjectRef::of(found))))
    }
}

// === impl Tier ===

impl Tier {
    fn reason(self) -> &'static str {
        match self {
            Self::Named => "Named",
            Self::Existing => "Existing",
            Self::Selected => "Selected",
            Self::Default => "Default",
        }
    }
}

#[cfg(test)]
mod tests;
