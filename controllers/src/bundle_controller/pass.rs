//! One look at a Bundle: every resource whose dependencies are ready is made what it should be, many at a time.
//!
//! What is about to be created is written down before, so that whoever comes after a crash knows of it.

use std::sync::Arc;

use bailiwick_api::bundle::{OBJECT_NAME_FORM, Plan, PlannedResource};
use bailiwick_api::{Bundle, BundleObject, InventoryItem, Phase, is_object_name};
use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::WorkError;
use super::observed::Memory;
use super::outcome::{Outcome, VANISHED, Wait};
use super::resource::{Site, Work};
use super::values::{Filled, check_secrets, rendered};

/// How many resources of a Bundle are made at the same time.
const AT_ONCE: usize = 32;

/// A look at a Bundle.
pub(super) struct Pass<'p> {
    pub(super) site: &'p Site<'p>,
    pub(super) plan: &'p Plan,
    pub(super) memory: &'p mut Memory,
    /// The Bundle as it was written last.
    pub(super) bundle: Arc<Bundle>,
    /// What became of the resources, by their places in the plan.
    pub(super) outcomes: Vec<Option<Outcome>>,
    /// Where values of Secrets stand in what has been prepared.
    filled: Filled<'p>,
}

// === impl Pass ===

impl<'p> Pass<'p> {
    pub(super) fn new(site: &'p Site<'p>, plan: &'p Plan, memory: &'p mut Memory, bundle: Arc<Bundle>) -> Self {
        let outcomes = plan.resources().iter().map(|_| None).collect();
        Self { site, plan, memory, bundle, outcomes, filled: Filled::new() }
    }

    /// Makes all that can be made.
    pub(super) async fn run(&mut self) -> Result<(), WorkError> {
        let (site, plan) = (self.site, self.plan);
        let known = plan.resources().iter().enumerate();
        let known: Vec<(usize, BundleObject)> =
            known.filter_map(|(place, found)| Some((place, found.object()?))).collect();
        self.intend(&known).await?;
        let mut waiting: Vec<usize> = plan.graph().order().to_vec();
        let mut running = FuturesUnordered::new();
        loop {
            let mut still = Vec::new();
            for place in waiting {
                let Some(resource) = plan.resources().get(place) else { continue };
                let is_free = plan.graph().dependencies(place).iter().all(|other| self.outcome(*other).is_some());
                if !is_free || running.len() >= AT_ONCE {
                    still.push(place);
                    continue;
                }
                match self.prepare(place, resource) {
                    Err(outcome) => self.end(place, resource, *outcome),
                    Ok(work) => {
                        let object = BundleObject { name: work.name.clone(), ..self.unnamed(resource) };
                        self.intend(&[(place, object)]).await?;
                        self.intend_to_use(&self.outputs_used_by(resource)).await?;
                        running.push(async move { (place, site.make(work).await) });
                    }
                }
            }
            waiting = still;
            let Some((place, (outcome, written))) = running.next().await else { break };
            let Some(resource) = plan.resources().get(place) else { continue };
            self.memory.written.insert(resource.name.clone(), written);
            if outcome.reason == VANISHED {
                self.forget(&outcome).await?;
                waiting.push(place);
                continue;
            }
            self.end(place, resource, outcome);
        }
        Ok(())
    }

    pub(super) fn outcome(&self, place: usize) -> Option<&Outcome> {
        self.outcomes.get(place)?.as_ref()
    }

    /// Whether all resources are ready.
    pub(super) fn is_ready(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.as_ref().is_some_and(|outcome| outcome.phase == Phase::Ready))
    }

    fn end(&mut self, place: usize, resource: &PlannedResource, outcome: Outcome) {
        // What was not looked at is not known any more, and nobody tells of it: what waits for others is looked at when they are
        // ready.
        match &outcome.observed {
            Some(observed) => drop(self.memory.observed.insert(resource.name.clone(), (**observed).clone())),
            None => drop(self.memory.observed.remove(&resource.name)),
        }
        if let Some(found) = self.outcomes.get_mut(place) {
            *found = Some(outcome);
        }
    }

    /// What a resource should be, if its dependencies are ready and have what it wants.
    fn prepare(&mut self, place: usize, resource: &'p PlannedResource) -> Result<Work<'p>, Box<Outcome>> {
        let waits: Vec<Wait> =
            self.plan.graph().dependencies(place).iter().filter_map(|other| self.why_waiting(*other)).collect();
        let before = self.memory.observed.get(&resource.name).cloned();
        let inventory = self.bundle.status.iter().flat_map(|status| &status.inventory);
        let object = inventory.rev().find(|item| item.resource == resource.name && !item.object.uid.is_empty());
        let object = object.map(|item| item.object.clone());
        if !waits.is_empty() {
            return Err(Box::new(Outcome::waiting(waits).with(object, None)));
        }
        let observed = &self.memory.observed;
        let secrets = check_secrets(resource, observed, &self.filled)
            .map_err(|outcome| Box::new(outcome.with(object.clone(), None)))?;
        self.filled.insert(&resource.name, secrets);
        let wanted = rendered(resource, observed, &self.site.apply_set)
            .map_err(|outcome| Box::new(outcome.with(object.clone(), None)))?;
        let name = wanted.pointer("/metadata/name").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
        if name.is_empty() {
            let message = "metadata.name must be text, and not empty; \"$(…)\" makes text of a number";
            return Err(Box::new(Outcome::error("NoName", message).with(object, None)));
        }
        // It came from a dependency, and is not told: it may be a value of a Secret.
        if !is_object_name(&name) {
            let message = format!("metadata.name {OBJECT_NAME_FORM}");
            return Err(Box::new(Outcome::error("InvalidName", message).with(object, None)));
        }
        let written = self.memory.written.get(&resource.name).cloned().unwrap_or_default();
        let output = self.output_use(&resource.name);
        // An object of another name is another object.
        let before = before.filter(|before| before.object.name == name);
        let known = object.filter(|known| known.is_at(&BundleObject { name: name.clone(), ..self.unnamed(resource) }));
        Ok(Work { resource, wanted, name, before, written, output, known })
    }

    /// Why a resource keeps others waiting; nothing if it does not.
    fn why_waiting(&self, place: usize) -> Option<Wait> {
        let (resource, outcome) = (self.plan.resources().get(place)?, self.outcome(place)?);
        (outcome.phase != Phase::Ready).then(|| outcome.wait(&resource.name))
    }

    fn unnamed(&self, resource: &PlannedResource) -> BundleObject {
        BundleObject {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            ..BundleObject::default()
        }
    }

    /// Writes down what is about to be created, unless it is written down.
    async fn intend(&mut self, objects: &[(usize, BundleObject)]) -> Result<(), WorkError> {
        let mut status = self.bundle.status.clone().unwrap_or_default();
        for (place, object) in objects {
            if !status.inventory.iter().any(|item| item.object.is_at(object)) {
                status.inventory.push(self.item(*place, object.clone()));
            }
        }
        self.bundle = self.site.shared.write_status(&self.bundle, status).await?;
        Ok(())
    }

    /// Writes down that it is not known any more which object something is: it is about to be made anew, and the new one must
    /// not be left behind by whoever comes next and looks for the old one.
    async fn forget(&mut self, outcome: &Outcome) -> Result<(), WorkError> {
        let mut status = self.bundle.status.clone().unwrap_or_default();
        let vanished = |item: &&mut InventoryItem| outcome.object.as_ref().is_some_and(|old| item.object.is_at(old));
        for item in status.inventory.iter_mut().filter(vanished) {
            item.object.uid.clear();
        }
        self.bundle = self.site.shared.write_status(&self.bundle, status).await?;
        Ok(())
    }

    fn item(&self, place: usize, object: BundleObject) -> InventoryItem {
        let planned = self.plan.resources().get(place);
        InventoryItem {
            resource: planned.map(|resource| resource.name.clone()).unwrap_or_default(),
            object,
            depends_on: self.plan.dependencies(place).map(str::to_owned).collect(),
            lifecycle: planned.map(|resource| resource.lifecycle).unwrap_or_default(),
        }
    }

    /// The inventory as it is after this: what there was, and what is known of the objects now. Each has one place there.
    pub(super) fn inventory(&self) -> Vec<InventoryItem> {
        let mut inventory = self.bundle.status.as_ref().map(|status| status.inventory.clone()).unwrap_or_default();
        let mut known = Vec::new();
        for (place, outcome) in self.outcomes.iter().enumerate() {
            let Some(object) = outcome.as_ref().and_then(|outcome| outcome.object.clone()) else { continue };
            let Some(item) = inventory.iter_mut().find(|item| item.object.is_at(&object)) else { continue };
            let uid = if object.uid.is_empty() { item.object.uid.clone() } else { object.uid.clone() };
            *item = InventoryItem { object: BundleObject { uid, ..object.clone() }, ..self.item(place, object) };
            known.push(item.object.clone());
        }
        drop_other_names(&mut inventory, &known);
        inventory
    }

    /// What was created, and is nothing that is wanted now. What a resource that waits will be called is not always known: then
    /// what it has may be it.
    pub(super) fn unwanted(&self) -> Vec<InventoryItem> {
        let (mut wanted, mut unnamed) = (Vec::new(), Vec::new());
        for (resource, outcome) in self.plan.resources().iter().zip(&self.outcomes) {
            let made = || outcome.as_ref().and_then(|outcome| outcome.object.clone());
            match resource.object().or_else(made) {
                Some(object) => wanted.push(object),
                None => unnamed.push(&resource.name),
            }
        }
        let mut inventory = self.inventory();
        inventory.retain(|item| {
            !unnamed.contains(&&item.resource) && !wanted.iter().any(|object| object.is_at(&item.object))
        });
        inventory
    }
}

/// Drops what is another name of these, and none of them. A kind can be served in several groups, and whoever takes the one for the
/// other in a Bundle means the same object: it does not go by the name that it had. Whoever has it by both has it by both.
fn drop_other_names(inventory: &mut Vec<InventoryItem>, known: &[BundleObject]) {
    let is_known = |item: &InventoryItem| known.iter().any(|object| object.is_at(&item.object));
    let is_same = |item: &InventoryItem, object: &BundleObject| !object.uid.is_empty() && object.uid == item.object.uid;
    inventory.retain(|item| is_known(item) || !known.iter().any(|object| is_same(item, object)));
}

#[cfg(test)]
mod tests;
