//! One claim: what it gets is decided once, then provided step by step, and said in its status.

use std::sync::Arc;

use bailiwick_api::claims::{Candidate, KindFacts, ObjectRef, Phase, Pick, resource_name};
use bailiwick_api::{CLAIM_FINALIZER, ConditionStatus};
use serde_json::{Value, json};

use super::claim_status::{Binding, ClaimStatus, DefinitionRef, Obstacle};
use super::index::Key;
use super::objects::{Objects, finalizers, is_going, metadata_patch, text, with_finalizer, without_finalizer};
use super::schedule::{Decision, Scheduled};
use super::{Shared, WorkError, about};

/// How many of the nearest misses a condition tells of.
const TOLD_MISSES: usize = 3;

/// A claim that is looked at.
pub(super) struct Claim<'c> {
    pub(super) shared: &'c Arc<Shared>,
    pub(super) key: &'c Key,
    pub(super) facts: Arc<KindFacts>,
    /// As it was last read or written.
    pub(super) object: Value,
    pub(super) status: ClaimStatus,
}

// === impl Shared ===

impl Shared {
    pub(super) async fn look_at_claim(self: &Arc<Self>, key: &Key) -> Result<(), WorkError> {
        let (found, facts, has_seen_all) = {
            let index = self.index();
            let found = index.claims.get(&key.kind).and_then(|claims| claims.get(&key.place)).cloned();
            (found, index.claim_facts(&key.kind), index.has_seen_all_for(&key.kind))
        };
        let (Some(found), Some(facts)) = (found, facts) else { return Ok(()) };
        let object = Value::clone(&found);
        let mut claim = Claim { shared: self, key, facts, status: ClaimStatus::of(&object), object };
        if is_going(&claim.object) {
            return claim.release().await;
        }
        // Who does not know all classes yet would choose another than later.
        if has_seen_all { claim.satisfy().await } else { Ok(()) }
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
        let obstacle = match self.decide().await? {
            Some(obstacle) => Some(obstacle),
            None => self.provide().await?,
        };
        let waits = self.status.bindings.is_empty() || obstacle.is_some();
        self.shared.index().set_waiting(self.key, waits);
        self.conclude(obstacle.as_ref());
        self.write_status(&before).await?;
        if let Some(obstacle) = &obstacle
            && !before.says(obstacle.condition, obstacle.reason)
        {
            let about = about(&self.object);
            self.shared.announcer.warn(&about, "Bind", obstacle.reason, &obstacle.message).await;
        }
        match obstacle {
            // Whatever the host refuses may be allowed later, and nobody tells.
            Some(obstacle) if obstacle.condition == "Synced" => Err(WorkError::Told(obstacle.message)),
            _ => Ok(()),
        }
    }

    /// Decides what the claim gets, if that has not been decided, and says so before anything is made.
    async fn decide(&mut self) -> Result<Option<Obstacle>, WorkError> {
        if !self.status.bindings.is_empty() {
            return Ok(None);
        }
        let Scheduled { decision, candidates, definitions } = self.shared.index().schedule(self.key, &self.object);
        let misses = nearest_misses(&candidates);
        self.status.set_candidates(candidates);
        let Some(decision) = decision else {
            let obstacle = self.nothing_fits(definitions, &misses);
            // There is nothing to look after.
            self.hold(without_finalizer).await?;
            return Ok(Some(obstacle));
        };
        // Before anything exists that would have to be looked after.
        self.hold(with_finalizer).await?;
        for pick in &decision.choice.picks {
            if let Pick::Class(class) = pick {
                self.shared.hold_class(class).await?;
            }
        }
        self.choose(&decision);
        let before = ClaimStatus::of(&self.object);
        self.conclude(None);
        self.write_status(&before).await?;
        Ok(None)
    }

    /// Changes what keeps the claim from going, if that is otherwise.
    async fn hold(&mut self, change: fn(&Value, &str) -> Value) -> Result<(), WorkError> {
        let wanted = change(&self.object, CLAIM_FINALIZER);
        if wanted != json!(finalizers(&self.object)) {
            let patch = metadata_patch(&self.object, json!({ "finalizers": wanted }));
            self.object = self.objects().patch(&self.key.place.name, &patch).await?;
        }
        Ok(())
    }

    fn nothing_fits(&self, definitions: usize, misses: &str) -> Obstacle {
        if definitions == 0 {
            let message = "there is no ResourceBindingDefinition for it that is ready".to_owned();
            return Obstacle::new("ClassSelected", "NoDefinition", message);
        }
        let message = match misses.is_empty() {
            true => "there is no class that it could be satisfied from".to_owned(),
            false => format!("there is no class that it could be satisfied from; nearest are {misses}"),
        };
        Obstacle::new("ClassSelected", "NoMatch", message)
    }

    fn choose(&mut self, decision: &Decision) {
        let Decision { definition, entries, choice } = decision;
        self.status.definition = Some(DefinitionRef {
            name: definition.object.metadata.name.clone().unwrap_or_default(),
            uid: definition.uid(),
            generation: definition.generation(),
        });
        let (name, uid) = (self.key.place.name.clone(), self.uid().to_owned());
        let namespace = self.key.place.namespace.clone();
        let binding = |(index, (pick, facts)): (usize, (&Pick, &super::index::EntryFacts))| {
            let namespace = if facts.resource.namespaced { namespace.clone() } else { String::new() };
            let resource = |name: String| ObjectRef {
                api_version: facts.resource.api_version(),
                kind: facts.resource.kind.clone(),
                namespace: namespace.clone(),
                name,
                uid: String::new(),
            };
            let (class_ref, resource_ref) = match pick {
                Pick::Class(class) => (Some(class.clone()), resource(resource_name(&name, &uid, index))),
                // Whichever namespace is named, a resource that is in one is in the claim's.
                Pick::Named(named) => (None, resource(named.name.clone())),
                Pick::Existing(found) => (None, resource(found.name.clone())),
            };
            let phase = Some(Phase::Unbound.as_str().to_owned());
            Binding { index, class_ref, resource_ref: Some(resource_ref), phase, ready: false }
        };
        self.status.bindings = choice.picks.iter().zip(entries).enumerate().map(binding).collect();
    }

    /// Says in conditions how the claim stands.
    fn conclude(&mut self, obstacle: Option<&Obstacle>) {
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
        match all_ready && obstacle.is_none() {
            true => status.set("Ready", yes, ("Available", ""), at),
            false => status.set("Ready", no, waiting, at),
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
