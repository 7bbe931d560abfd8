//! One claim: what it gets is decided once, then provided step by step, and said in its status.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_api::claims::{Candidate, KindFacts, ObjectRef, Phase, Pick, Shown, resource_name};
use bailiwick_api::{ConditionStatus, some_of};
use serde_json::{Value, json};

use super::claim_status::{Binding, ClaimStatus, Obstacle};
use super::index::{EntryFacts, Key, Sight};
use super::objects::{Objects, is_going, is_name, metadata_patch, text, without_finalizer};
use super::provision::{is_refusal, refused};
use super::schedule::{Decision, Scheduled};
use super::{Shared, WorkError, about};
use crate::place::Place;
use crate::served_kinds::GroupKind;

/// What is said where objects that matter cannot be listed.
pub(super) const NOT_LISTED: &str = "NotListed";
/// How many of the nearest misses a condition tells of.
const TOLD_MISSES: usize = 3;

/// A claim that is looked at.
pub(super) struct Claim<'c> {
    pub(super) shared: &'c Arc<Shared>,
    pub(super) key: &'c Key,
    pub(super) facts: Arc<KindFacts>,
    /// Of its namespace.
    pub(super) namespace_labels: BTreeMap<String, String>,
    /// As it was last read or written.
    pub(super) object: Value,
    pub(super) status: ClaimStatus,
}

// === impl Shared ===

impl Shared {
    pub(super) async fn look_at_claim(self: &Arc<Self>, key: &Key) -> Result<(), WorkError> {
        let (found, facts) = {
            let index = self.index();
            let found = index.claims.get(&key.kind).and_then(|claims| claims.get(&key.place)).cloned();
            (found, index.claim_facts(&key.kind))
        };
        let (Some(found), Some(facts)) = (found, facts) else { return Ok(()) };
        let object = Value::clone(&found);
        let status = ClaimStatus::of(&object);
        let (labels, sight) = {
            let mut index = self.index();
            let labels = index.labels_of(&key.place.namespace);
            let sight = index.sight_for(&key.kind, &status);
            if labels.is_none() || sight != Sight::Clear {
                // What it waits for may be seen as soon as nobody else is kept from it.
                index.set_waiting(key, true);
            }
            (labels, sight)
        };
        let is_known = labels.is_some();
        let namespace_labels = labels.unwrap_or_default();
        let mut claim = Claim { shared: self, key, facts, namespace_labels, status, object };
        if is_going(&claim.object) {
            return claim.release().await;
        }
        // What is for some namespaces only cannot be told from what is for all, for one of which nothing is known. It is looked at
        // again when its namespace was seen.
        if !is_known {
            return Ok(());
        }
        // Who does not know all classes yet would choose another than later; and where a claim cannot say what it has, nothing
        // is decided.
        let can_say = claim.facts.missing.is_empty();
        match sight {
            Sight::Clear if can_say => claim.satisfy().await,
            Sight::Blocked(kinds) if can_say => claim.tell_unlistable(&kinds).await,
            _ => Ok(()),
        }
    }
}

// === impl Claim ===

impl Claim<'_> {
    pub(super) fn objects(&self) -> Objects {
        Objects::new(&self.shared.deputy, &self.facts, &self.key.place.namespace)
    }

    pub(super) fn uid(&self) -> &str {
        text(&self.object, "/metadata/uid")
    }

    pub(super) fn generation(&self) -> i64 {
        self.object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default()
    }

    /// The claim as its resources name it.
    pub(super) fn reference(&self) -> ObjectRef {
        ObjectRef::of(&self.object)
    }

    async fn satisfy(&mut self) -> Result<(), WorkError> {
        let before = self.status.clone();
        let mut obstacle = self.decide().await?;
        if obstacle.is_none() {
            obstacle = self.secure().await?;
        }
        if obstacle.is_none() {
            obstacle = match self.provide().await {
                // Whatever it is that the host refuses, the claim tells. What has just gone is looked for again.
                Err(WorkError::Host(kube::Error::Api(status))) if is_refusal(&status) && !status.is_not_found() => {
                    Some(refused(&status, "what satisfies it cannot be looked after"))
                }
                provided => provided?,
            };
        }
        let waits = self.status.bindings.is_empty() || obstacle.is_some();
        self.shared.index().set_waiting(self.key, waits);
        self.tell(&before, obstacle.as_ref()).await?;
        match obstacle {
            // Whatever the host refuses may be allowed later, and nobody tells.
            Some(obstacle) if obstacle.condition == "Synced" => Err(WorkError::Told(obstacle.message)),
            _ => Ok(()),
        }
    }

    /// Says in the status how the claim stands, and by an event what has just come into its way.
    async fn tell(&mut self, before: &ClaimStatus, obstacle: Option<&Obstacle>) -> Result<(), WorkError> {
        self.conclude(obstacle);
        self.write_status(before).await?;
        if let Some(obstacle) = obstacle
            && !before.says(obstacle.condition, obstacle.reason)
        {
            let about = about(&self.object);
            self.shared.announcer.warn(&about, "Bind", obstacle.reason, &obstacle.message).await;
        }
        Ok(())
    }

    /// Says that nobody can tell how what satisfies the claim stands, as it cannot be listed. It is looked at again when it can.
    async fn tell_unlistable(&mut self, kinds: &BTreeSet<GroupKind>) -> Result<(), WorkError> {
        let before = self.status.clone();
        let definition = self.status.definition.as_ref().map(|chosen| Shown::text(&chosen.name).to_string());
        let message = format!(
            "what satisfies the claim is not looked after at present, as objects cannot be listed of {}: the \
             ResourceBindingDefinition \"{}\" tells why",
            some_of(kinds.iter().map(|kind| format!("{} of {}", kind.kind, kind.group))),
            definition.unwrap_or_default(),
        );
        let obstacle = Obstacle::new("Synced", NOT_LISTED, message);
        self.tell(&before, Some(&obstacle)).await
    }

    /// Decides what the claim gets, if that has not been decided, and says so before anything is held or made.
    async fn decide(&mut self) -> Result<Option<Obstacle>, WorkError> {
        if !self.status.bindings.is_empty() {
            return Ok(None);
        }
        if let Some(obstacle) = self.misnamed_resource() {
            self.hold(without_finalizer).await?;
            return Ok(Some(obstacle));
        }
        let mut scheduled = self.shared.index().schedule(self.key, &self.object, &self.namespace_labels);
        let misses = nearest_misses(&scheduled.candidates);
        self.status.set_candidates(std::mem::take(&mut scheduled.candidates));
        let Some(decision) = scheduled.decision.take() else {
            let obstacle = self.nothing_fits(&scheduled, &misses);
            // There is nothing to look after.
            self.hold(without_finalizer).await?;
            return Ok(Some(obstacle));
        };
        self.choose(&decision);
        let before = ClaimStatus::of(&self.object);
        self.conclude(None);
        self.write_status(&before).await?;
        Ok(None)
    }

    /// Why no resource can have the name by which the claim asks for one.
    fn misnamed_resource(&self) -> Option<Obstacle> {
        let name = text(&self.object, "/spec/resourceRef/name");
        if name.is_empty() || is_name(name) {
            return None;
        }
        let name = Shown::text(name);
        let message = format!("spec.resourceRef asks for \"{name}\", which is no name that a resource can have");
        Some(Obstacle::new("Bound", "InvalidName", message))
    }

    fn nothing_fits(&self, scheduled: &Scheduled, misses: &str) -> Obstacle {
        let definitions = scheduled.definitions;
        let left_out = scheduled.left_out.iter().map(|(name, kinds)| {
            let kinds = some_of(kinds.iter().map(|kind| format!("{} of {}", kind.kind, kind.group)));
            format!("the ResourceBindingDefinition \"{name}\" waits until objects can be listed of {kinds}, and tells why they cannot")
        });
        let left_out = some_of(left_out);
        if definitions == 0 && !left_out.is_empty() {
            return Obstacle::new("ClassSelected", NOT_LISTED, left_out);
        }
        if definitions == 0 {
            let message = "there is no ResourceBindingDefinition for it that is ready".to_owned();
            return Obstacle::new("ClassSelected", "NoDefinition", message);
        }
        let mut message = self.no_kind(scheduled).unwrap_or_else(|| self.no_class());
        if !misses.is_empty() {
            message = format!("{message}; nearest are {misses}");
        }
        if !left_out.is_empty() {
            message = format!("{message}; {left_out}");
        }
        Obstacle::new("ClassSelected", "NoMatch", message)
    }

    /// That the claim asks for something of a kind that no definition names, and of which kinds there may be something.
    fn no_kind(&self, scheduled: &Scheduled) -> Option<String> {
        let asked =
            [("resourceRef", "resource", &scheduled.resource_kinds), ("classRef", "class", &scheduled.class_kinds)];
        asked.into_iter().find_map(|(field, what, kinds)| {
            let kind = text(&self.object, &format!("/spec/{field}/kind"));
            if kind.is_empty() || kinds.is_empty() || kinds.contains(kind) {
                return None;
            }
            Some(format!(
                "spec.{field} asks for a {what} of the kind \"{}\", and none of that kind can satisfy the claim: correct the kind, \
                 which can be {}, or leave it out",
                Shown::text(kind),
                some_of(kinds.iter())
            ))
        })
    }

    /// That no class satisfies what the claim asks for, and what its author can do. Whether there is a class that is not for
    /// the claim, it does not say.
    fn no_class(&self) -> String {
        let has_selector = self.object.pointer("/spec/classSelector").is_some_and(|selector| !selector.is_null());
        match text(&self.object, "/spec/classRef/name") {
            "" if has_selector => "no class with the labels of spec.classSelector can satisfy the claim: \
                 change the selector, or ask an administrator for such a class"
                .to_owned(),
            "" => "the claim asks for no class in particular, and there is none that it gets by default: \
                 set spec.classRef or spec.classSelector, or ask an administrator for a default class"
                .to_owned(),
            name => format!(
                "spec.classRef asks for the class \"{}\", and none of that name can satisfy the claim: \
                 correct the name, or ask an administrator for such a class",
                Shown::text(name)
            ),
        }
    }

    fn choose(&mut self, decision: &Decision) {
        self.status.definition = Some(decision.definition_ref());
        self.status.bindings = self.bindings_of(decision);
        // What is made from now on is made of this claim or of a later one: each later one is followed.
        self.status.observed_generation = Some(self.generation());
    }

    /// What a claim has by a decision of which nothing has been provided yet.
    pub(super) fn bindings_of(&self, decision: &Decision) -> Vec<Binding> {
        let picks = decision.choice.picks.iter().zip(&decision.entries).enumerate();
        picks.map(|(index, (pick, facts))| self.binding_of(index, pick, facts)).collect()
    }

    /// What a claim has by a choice for one of the entries of which nothing has been provided yet.
    pub(super) fn binding_of(&self, index: usize, pick: &Pick, facts: &EntryFacts) -> Binding {
        let Place { namespace, name } = &self.key.place;
        let resource = |name: String| ObjectRef {
            api_version: facts.resource.api_version(),
            kind: facts.resource.kind.clone(),
            namespace: if facts.resource.namespaced { namespace.clone() } else { String::new() },
            name,
            uid: String::new(),
        };
        let (class_ref, resource_ref) = match pick {
            Pick::Class(class) => (Some(class.clone()), resource(resource_name(name, self.uid(), index))),
            // Whichever namespace is named, a resource that is in one is in the claim's.
            Pick::Named(named) => (None, resource(named.name.clone())),
            Pick::Existing(found) => (None, resource(found.name.clone())),
        };
        let phase = Some(Phase::Unbound.as_str().to_owned());
        Binding { index, class_ref, resource_ref: Some(resource_ref), phase, ready: false }
    }

    /// Says in conditions how the claim stands.
    pub(super) fn conclude(&mut self, obstacle: Option<&Obstacle>) {
        let all_ready = self.status.sum_up();
        let at = (self.generation(), (self.shared.now)());
        let is_bound = self.status.binding_phase.as_deref() == Some(Phase::Bound.as_str());
        let progress = format!("{} of the resources are bound and ready", self.status.ready.as_deref().unwrap_or("0"));
        let why = |condition: &str| obstacle.filter(|obstacle| obstacle.condition == condition);
        let any = obstacle.map(|obstacle| (obstacle.reason, obstacle.message.as_str()));
        let waiting = any.unwrap_or(("Provisioning", progress.as_str()));
        let (yes, no) = (ConditionStatus::True, ConditionStatus::False);
        let status = &mut self.status;
        match why("ClassSelected") {
            Some(obstacle) => status.set("ClassSelected", no, (obstacle.reason, &obstacle.message), at),
            None if !status.bindings.is_empty() => status.set("ClassSelected", yes, ("Selected", ""), at),
            None => status.set("ClassSelected", no, waiting, at),
        }
        match why("Synced") {
            Some(obstacle) => status.set("Synced", no, (obstacle.reason, &obstacle.message), at),
            None => status.set("Synced", yes, ("Synced", ""), at),
        }
        match is_bound && why("Bound").is_none() {
            true => status.set("Bound", yes, ("Bound", ""), at),
            false => status.set("Bound", no, waiting, at),
        }
        match (all_ready, obstacle) {
            (true, None) => status.set("Ready", yes, ("Available", ""), at),
            // It was so when that could be seen last.
            (true, Some(obstacle)) if obstacle.reason == NOT_LISTED => {
                status.set("Ready", ConditionStatus::Unknown, waiting, at);
            }
            _ => status.set("Ready", no, waiting, at),
        }
    }

    /// Writes the status, unless it says the same already.
    pub(super) async fn write_status(&mut self, before: &ClaimStatus) -> Result<(), WorkError> {
        if self.status == *before {
            return Ok(());
        }
        let mut patch = metadata_patch(&self.object, json!({}));
        patch["status"] = self.status.as_patch();
        match self.objects().patch_status(&self.key.place.name, &patch).await {
            // It has gone, and with it what could be said of it.
            Err(WorkError::Host(kube::Error::Api(status))) if status.is_not_found() => Ok(()),
            Err(error) => Err(error),
            Ok(written) => {
                self.object = written;
                Ok(())
            }
        }
    }
}

/// The classes that came nearest, and what they lack.
fn nearest_misses(candidates: &[Candidate]) -> String {
    let misses = candidates.iter().filter(|candidate| !candidate.eligible).take(TOLD_MISSES);
    let told = misses.map(|miss| format!("{} {} ({}: {})", miss.kind, miss.name, miss.reason, miss.message));
    told.collect::<Vec<_>>().join("; ")
}
