//! One look at a Bundle: every resource whose dependencies are ready is made what it should be, many at a time.
//!
//! What is about to be created is written down before, so that whoever comes after a crash knows of it. The same holds for
//! what resources have put out and others are about to use.

use std::sync::Arc;

use bailiwick_api::bundle::{Part, Plan, PlannedResource};
use bailiwick_api::{Bundle, BundleObject, InventoryItem, OutputInUse, Phase};
use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::WorkError;
use super::observed::{Memory, Observed};
use super::outcome::Outcome;
use super::resource::{OutputUse, Site, Work};
use super::values::{check_secrets, rendered};

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
}

// === impl Pass ===

impl<'p> Pass<'p> {
    pub(super) fn new(site: &'p Site<'p>, plan: &'p Plan, memory: &'p mut Memory, bundle: Arc<Bundle>) -> Self {
        let outcomes = plan.resources().iter().map(|_| None).collect();
        Self { site, plan, memory, bundle, outcomes }
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
            let Some((place, (outcome, corrections))) = running.next().await else { break };
            let Some(resource) = plan.resources().get(place) else { continue };
            self.memory.corrections.insert(resource.name.clone(), corrections);
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
        // What waits for others is as it was; what could not be looked at is not known any more.
        match &outcome.observed {
            Some(observed) => drop(self.memory.observed.insert(resource.name.clone(), Observed::clone(observed))),
            None if outcome.phase == Phase::Blocked => self
                .memory
                .observed
                .retain(|name, observed| *name != resource.name || !observed.object.is_outdated(&self.site.news)),
            None => drop(self.memory.observed.remove(&resource.name)),
        }
        if let Some(found) = self.outcomes.get_mut(place) {
            *found = Some(outcome);
        }
    }

    /// What a resource should be, if its dependencies are ready and have what it wants.
    fn prepare(&mut self, place: usize, resource: &'p PlannedResource) -> Result<Work<'p>, Box<Outcome>> {
        let waits: Vec<String> =
            self.plan.graph().dependencies(place).iter().filter_map(|other| self.why_waiting(*other)).collect();
        let before = self.memory.observed.get(&resource.name).cloned();
        let inventory = self.bundle.status.iter().flat_map(|status| &status.inventory);
        let object = inventory.rev().find(|item| item.resource == resource.name && !item.object.uid.is_empty());
        let object = object.map(|item| item.object.clone());
        if !waits.is_empty() {
            let message = format!("waits for {}", waits.join(", "));
            return Err(Box::new(Outcome::blocked("DependencyNotReady", message).with(object, None)));
        }
        let observed = &self.memory.observed;
        check_secrets(resource, observed).map_err(|outcome| Box::new(outcome.with(object.clone(), None)))?;
        let wanted = rendered(resource, observed).map_err(|outcome| Box::new(outcome.with(object.clone(), None)))?;
        let name = wanted.pointer("/metadata/name").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
        if name.is_empty() {
            return Err(Box::new(Outcome::error("NoName", "metadata.name is empty").with(object, None)));
        }
        let corrections = self.memory.corrections.remove(&resource.name).unwrap_or_default();
        let output = match self.is_output_used(&resource.name) {
            true => OutputUse::Used,
            false => OutputUse::Unused,
        };
        // An object of another name is another object.
        let before = before.filter(|before| before.object.name == name);
        Ok(Work { resource, wanted, name, before, corrections, output })
    }

    /// Why a resource keeps others waiting; nothing if it does not.
    fn why_waiting(&self, place: usize) -> Option<String> {
        let (resource, outcome) = (self.plan.resources().get(place)?, self.outcome(place)?);
        match outcome.phase {
            Phase::Ready => None,
            phase if outcome.message.is_empty() => Some(format!("\"{}\" ({phase})", resource.name)),
            phase => Some(format!("\"{}\" ({phase}: {})", resource.name, outcome.message)),
        }
    }

    fn unnamed(&self, resource: &PlannedResource) -> BundleObject {
        BundleObject {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            ..BundleObject::default()
        }
    }

    fn is_output_used(&self, name: &str) -> bool {
        let mut uses = self.plan.resources().iter().flat_map(|resource| resource.template.uses());
        uses.any(|used| used.reference.resource == name && used.reference.part == Part::Output)
    }

    /// What other resources have put out, and this one is about to use.
    fn outputs_used_by(&self, resource: &PlannedResource) -> Vec<OutputInUse> {
        let mut outputs: Vec<OutputInUse> = Vec::new();
        for used in resource.template.uses().iter().filter(|used| used.reference.part != Part::Object) {
            let name = &used.reference.resource;
            if let Some(output) = self.current_output(name)
                && outputs.iter().all(|other| other.resource != *name)
            {
                outputs.push(OutputInUse { resource: name.clone(), name: output });
            }
        }
        outputs
    }

    /// The name of what a resource has put out, as it says now.
    fn current_output(&self, name: &str) -> Option<String> {
        let binding = self.memory.observed.get(name)?.binding.as_ref()?;
        let kind = &self.memory.observed.get(name)?.object.kind;
        let rules = self.site.shared.types().rules_of(kind).ok()?;
        let path = rules.exists?.output_name?;
        path.find(&binding.object)?.as_str().map(str::to_owned)
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

    /// Writes down which outputs are about to be used. Whoever made one keeps it from then on, but may have removed it just
    /// before: so what was not written down is looked at once more before it is used.
    async fn intend_to_use(&mut self, outputs: &[OutputInUse]) -> Result<(), WorkError> {
        let mut status = self.bundle.status.clone().unwrap_or_default();
        let new: Vec<OutputInUse> = outputs.iter().filter(|output| !status.outputs.contains(output)).cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        status.outputs.extend(new);
        self.bundle = self.site.shared.write_status(&self.bundle, status).await?;
        Err(WorkError::LookAgain(self.site.place.clone()))
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

    /// The inventory as it is after this: what there was, and what is known of the objects now.
    pub(super) fn inventory(&self) -> Vec<InventoryItem> {
        let mut inventory = self.bundle.status.as_ref().map(|status| status.inventory.clone()).unwrap_or_default();
        for (place, outcome) in self.outcomes.iter().enumerate() {
            let Some(object) = outcome.as_ref().and_then(|outcome| outcome.object.clone()) else { continue };
            let Some(item) = inventory.iter_mut().find(|item| item.object.is_at(&object)) else { continue };
            let uid = if object.uid.is_empty() { item.object.uid.clone() } else { object.uid.clone() };
            *item = InventoryItem { object: BundleObject { uid, ..object.clone() }, ..self.item(place, object) };
        }
        inventory
    }

    /// What is put out and used as it is after this: an old output is let go once all that use it use the new one.
    pub(super) fn outputs(&self) -> Vec<OutputInUse> {
        let mut outputs = self.bundle.status.as_ref().map(|status| status.outputs.clone()).unwrap_or_default();
        outputs.retain(|output| {
            let mut users = self.plan.resources().iter().enumerate().filter(|(_, resource)| {
                resource
                    .template
                    .uses()
                    .iter()
                    .any(|used| used.reference.resource == output.resource && used.reference.part != Part::Object)
            });
            let is_done = |place: usize| {
                self.outcome(place).is_some_and(|outcome| {
                    matches!(outcome.phase, Phase::Ready | Phase::InProgress) && outcome.observed.is_some()
                })
            };
            self.current_output(&output.resource).as_ref() == Some(&output.name)
                || users.any(|(place, _)| !is_done(place))
        });
        outputs
    }
}
