//! What was decided and cannot be had: as long as nothing has been made or bound for a claim, all of it is decided anew; later only
//! what cannot be had, to go with what the claim has.

use bailiwick_api::claims::{ObjectRef, Pick, Wish};

use super::WorkError;
use super::claim::Claim;
use super::claim_status::{Binding, ClaimStatus, Obstacle};

// === impl Claim ===

impl Claim<'_> {
    /// What was chosen and stands in the way before anything was made or bound is reconsidered: another claim may have been
    /// faster, and the claim, its class or the resource may be something else by now.
    pub(super) async fn reconsider(&mut self, obstacle: Option<&Obstacle>) -> Result<Option<Obstacle>, WorkError> {
        let Some(obstacle) = obstacle.filter(|_| self.status.bindings.iter().all(|binding| binding.uid().is_empty()))
        else {
            return Ok(None);
        };
        let is_reconsidered = self.was_too_late(obstacle) || self.would_choose_otherwise();
        if !is_reconsidered || !self.has_nothing_yet().await? {
            return Ok(None);
        }
        self.forget_choice().await?;
        let message = format!("it is decided anew, as nothing has been made yet and {}", obstacle.message);
        Ok(Some(Obstacle::new("ClassSelected", "DecidedAnew", message)))
    }

    /// Whether another claim was faster to get a resource that this one did not ask for by name.
    fn was_too_late(&self, obstacle: &Obstacle) -> bool {
        let is_any = |binding: &Binding| binding.class_ref.is_none() && !self.asks_for(binding);
        matches!(obstacle.reason, "ResourceTaken" | "ResourceNotFound") && self.status.bindings.iter().any(is_any)
    }

    /// Whether the claim asks by name for the resource of a binding. It asks for one: of several of a name, for the first whose
    /// kind it may mean.
    pub(super) fn asks_for(&self, binding: &Binding) -> bool {
        let Some(asked) = ObjectRef::read(self.object.pointer("/spec/resourceRef")) else { return false };
        let is_meant = |binding: &&Binding| {
            let means = |named: &ObjectRef| named.name == asked.name && asked.means(&named.api_version, &named.kind);
            binding.resource_ref.as_ref().is_some_and(means)
        };
        self.status.bindings.iter().find(is_meant).is_some_and(|meant| meant.index == binding.index)
    }

    /// Whether the claim would get something else if it were decided now.
    fn would_choose_otherwise(&self) -> bool {
        let scheduled = self.shared.index().schedule(self.key, &self.object, &self.namespace_labels);
        scheduled.decision.is_none_or(|decision| {
            let bindings = self.bindings_of(&decision);
            let refs = |bindings: &[Binding]| {
                let refs = bindings.iter().map(|binding| (binding.class_ref.clone(), binding.resource_ref.clone()));
                refs.collect::<Vec<_>>()
            };
            self.status.definition.as_ref() != Some(&decision.definition_ref())
                || refs(&bindings) != refs(&self.status.bindings)
        })
    }

    /// Has something else take the place of one resource that the claim cannot have any more, unless it asks for that by name:
    /// another claim was faster, or it has gone, while others were made that go with whatever there is.
    pub(super) async fn replace(&mut self, index: usize, why: &Obstacle) -> Result<Option<Obstacle>, WorkError> {
        let Some(lost) = self.status.bindings.get(index).cloned() else { return Ok(None) };
        let is_open = why.condition == "Bound" && (lost.class_ref.is_some() || !self.asks_for(&lost));
        if !is_open || self.has(&lost).await? {
            return Ok(None);
        }
        let Some(chosen) = self.instead_of(index, &lost) else { return Ok(None) };
        // Held before it is said, as whoever goes on from here takes it for held; and asked again after, as others may just have
        // let go of what nobody was said to use.
        self.hold_class_of(&chosen).await?;
        let told = Obstacle::new("Bound", "DecidedAnew", format!("something else is chosen, as {}", why.message));
        self.say_chosen(index, chosen.clone(), &told).await?;
        if let Err(error) = self.hold_class_of(&chosen).await {
            self.say_chosen(index, lost, why).await?;
            return Err(error);
        }
        Ok(Some(told))
    }

    /// What the claim gets instead, as long as its definition means what it meant when it was chosen.
    fn instead_of(&self, index: usize, lost: &Binding) -> Option<Binding> {
        let definition = self.definition().filter(|definition| self.is_offered(definition))?;
        if self.status.definition.as_ref().map(|chosen| chosen.generation) != Some(definition.generation()) {
            return None;
        }
        let mut kept = Vec::new();
        for (number, binding) in self.status.bindings.iter().enumerate() {
            let resource = binding.resource_ref.clone().filter(|_| binding.index == number)?;
            kept.push((number != index).then(|| match &binding.class_ref {
                Some(class) => Pick::Class(class.clone()),
                None if self.asks_for(binding) => Pick::Named(resource),
                None => Pick::Existing(resource),
            }));
        }
        let gone = lost.resource_ref.as_ref().map(|resource| resource.name.as_str()).unwrap_or_default();
        let (pick, facts) = {
            let seen = self.shared.index();
            let wish = Wish { claim: &self.object, namespace_labels: &self.namespace_labels };
            seen.schedule_again(self.key, wish, &definition, (&kept, index, gone))?
        };
        let chosen = self.binding_of(index, &pick, &facts);
        let is_other = chosen.class_ref != lost.class_ref || chosen.resource_ref != lost.resource_ref;
        is_other.then_some(chosen)
    }

    /// Holds the class of what was chosen, if it is made from one.
    async fn hold_class_of(&self, chosen: &Binding) -> Result<(), WorkError> {
        match &chosen.class_ref {
            Some(class) if !self.shared.hold_class(class).await? => {
                Err(WorkError::Told(format!("the class {} has just gone", class.name)))
            }
            _ => Ok(()),
        }
    }

    async fn say_chosen(&mut self, index: usize, binding: Binding, why: &Obstacle) -> Result<(), WorkError> {
        let before = ClaimStatus::of(&self.object);
        if let Some(place) = self.status.bindings.get_mut(index) {
            *place = binding;
        }
        self.conclude(Some(why));
        self.write_status(&before).await
    }
}
