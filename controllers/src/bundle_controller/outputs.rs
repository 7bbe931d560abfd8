//! What resources put out and others use: it is written down before it is used, and let go when no object of the Bundle names it
//! any more.

use std::collections::HashSet;

use bailiwick_api::bundle::{Part, PlannedResource, Reference, Use, is_secret_kind};
use bailiwick_api::{InventoryItem, OutputInUse, Phase};
use futures::future::join_all;
use serde_json::Value;

use super::WorkError;
use super::hands::Trouble;
use super::outcome::{Outcome, Retry};
use super::pass::Pass;
use super::resource::OutputUse;
use super::values::decoded;
use super::watches::Interest;
use crate::host_kinds::HostKind;

/// What is put out and used, as it is after a look at a Bundle.
pub(super) struct Held {
    pub(super) outputs: Vec<OutputInUse>,
    /// When it is worth another look.
    pub(super) retry: Retry,
}

// === impl Pass ===

impl Pass<'_> {
    /// What others take from what a resource puts out.
    pub(super) fn output_use(&self, name: &str) -> OutputUse {
        let uses = self.plan.resources().iter().flat_map(|resource| resource.template.uses());
        let parts = uses.filter(|used| used.reference.resource == name).map(|used| used.reference.part);
        parts.fold(OutputUse::Unused, |known, part| match (known, part) {
            (OutputUse::Used, _) | (_, Part::Output) => OutputUse::Used,
            (_, Part::Binding) => OutputUse::BindingUsed,
            (known, Part::Object) => known,
        })
    }

    /// What other resources have put out, and this one is about to use.
    pub(super) fn outputs_used_by(&self, resource: &PlannedResource) -> Vec<OutputInUse> {
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
        path.find(&binding.object)?.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
    }

    /// Writes down which outputs are about to be used. Whoever made one keeps it from then on, but may have removed it just
    /// before: so what was not written down is looked at once more before it is used.
    pub(super) async fn intend_to_use(&mut self, outputs: &[OutputInUse]) -> Result<(), WorkError> {
        let mut status = self.bundle.status.clone().unwrap_or_default();
        let new: Vec<OutputInUse> = outputs.iter().filter(|output| !status.outputs.contains(output)).cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        status.outputs.extend(new);
        self.bundle = self.site.shared.write_status(&self.bundle, status).await?;
        Err(WorkError::LookAgain(self.site.place.clone()))
    }

    /// What is put out and used as it is after this. An old output is let go once all that take values from it are as they should be
    /// now, nothing is `left` that was taken out of the Bundle and has some, and nothing in the `inventory` names it. What has
    /// dropped a reference and waits for something else is still what it was: not what is wanted decides, but what there is.
    pub(super) async fn outputs(&self, inventory: &[InventoryItem], left: &[InventoryItem]) -> Held {
        let mut outputs = self.bundle.status.as_ref().map(|status| status.outputs.clone()).unwrap_or_default();
        let is_done = |place: &usize| {
            self.outcome(*place).is_some_and(|outcome| {
                matches!(outcome.phase, Phase::Ready | Phase::InProgress) && outcome.observed.is_some()
            })
        };
        let is_needed = |output: &OutputInUse| {
            self.current_output(&output.resource).as_ref() == Some(&output.name)
                || !self.users(&output.resource).iter().all(is_done)
                || self.depend_on(&output.resource, left)
        };
        if outputs.iter().all(is_needed) {
            return Held { outputs, retry: Retry::OnChange };
        }
        let objects = join_all(inventory.iter().map(async |item| (&item.resource, self.as_it_is(item).await))).await;
        outputs.retain(|output| {
            let others = || objects.iter().filter(|(resource, _)| **resource != output.resource);
            is_needed(output)
                || others().any(|(_, object)| object.as_ref().map_or(true, |found| names(found, &output.name)))
        });
        let is_unknown = objects.iter().any(|(_, object)| object.is_err());
        Held { outputs, retry: if is_unknown { Retry::Later } else { Retry::OnChange } }
    }

    /// An object of the inventory as it is now, readable; nothing if it is not there. Whatever happens to it then is told.
    async fn as_it_is(&self, InventoryItem { object, .. }: &InventoryItem) -> Result<Value, Trouble> {
        let is_it = |outcome: &&Outcome| outcome.object.as_ref().is_some_and(|made| made.is_at(object));
        let seen = self.outcomes.iter().flatten().filter(is_it).find_map(|outcome| outcome.observed.as_ref());
        let found = match seen {
            Some(seen) => Some(seen.object.object.clone()),
            None => {
                let listen = |kind: &HostKind| self.site.listen(kind, Interest::Name(object.name.clone()));
                self.site.find_made(object, listen).await?.map(|(_, found)| found)
            }
        };
        Ok(match found {
            Some(found) if is_secret_kind(&object.api_version, &object.kind) => decoded(&found),
            found => found.unwrap_or_default(),
        })
    }

    /// The places of those that take values from what a resource has put out, or from others that do.
    fn users(&self, resource: &str) -> Vec<usize> {
        let (mut users, mut names) = (Vec::new(), HashSet::new());
        for place in self.plan.graph().order() {
            let Some(planned) = self.plan.resources().get(*place) else { continue };
            let takes = |used: &Use| {
                let Reference { resource: from, part, .. } = &used.reference;
                (from == resource && *part != Part::Object) || names.contains(from.as_str())
            };
            if planned.template.uses().iter().any(takes) {
                users.push(*place);
                names.insert(planned.name.as_str());
            }
        }
        users
    }

    /// Whether one of these depends on a resource, as far as was written down when they were made, if only through others.
    fn depend_on(&self, resource: &str, items: &[InventoryItem]) -> bool {
        let known = self.bundle.status.iter().flat_map(|status| &status.inventory);
        let known: Vec<&InventoryItem> = known.chain(items).collect();
        let mut names = HashSet::from([resource]);
        loop {
            let before = names.len();
            for item in &known {
                if item.depends_on.iter().any(|name| names.contains(name.as_str())) {
                    names.insert(&item.resource);
                }
            }
            if names.len() == before {
                break;
            }
        }
        items.iter().any(|item| item.resource != resource && names.contains(item.resource.as_str()))
    }
}

/// Whether something names an object: by a text in which the name stands, and not as a part of a longer one.
fn names(value: &Value, name: &str) -> bool {
    match value {
        Value::String(text) => is_named_in(text, name),
        Value::Array(values) => values.iter().any(|value| names(value, name)),
        Value::Object(fields) => fields.iter().any(|(key, value)| is_named_in(key, name) || names(value, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A dot does not make it a longer one: `name.key` is a usual way to tell of a part.
fn is_named_in(text: &str, name: &str) -> bool {
    let is_more = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    text.match_indices(name).any(|(at, _)| {
        let (before, found) = text.split_at(at);
        let after = found.strip_prefix(name).unwrap_or_default();
        !before.ends_with(is_more) && !after.starts_with(is_more)
    })
}

#[cfg(test)]
mod tests;
