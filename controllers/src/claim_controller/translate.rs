//! A claim that changes after it was bound: what its resources have from it follows, where nobody else has taken it over.
//!
//! Classes are not chosen anew, and a definition that has changed since does not mean something else for claims that are bound.

use bailiwick_api::{FieldPath, Step};
use serde_json::{Value, json};

use super::claim::Claim;
use super::claim_status::Obstacle;
use super::index::Definition;
use super::objects::{Objects, metadata_patch, text};
use super::provision::{is_refusal, refused};
use super::{FIELD_MANAGER, WorkError};

// === impl Claim ===

impl Claim<'_> {
    pub(super) async fn follow_claim(&self, definition: Option<&Definition>) -> Result<Option<Obstacle>, WorkError> {
        let observed = self.status.observed_generation;
        if observed == Some(self.generation()) {
            return Ok(None);
        }
        let chosen = self.status.definition.as_ref().map(|chosen| chosen.generation);
        let Some(definition) = definition.filter(|definition| Some(definition.generation()) == chosen) else {
            // A kind that was defined by hand may have no place for it. Nobody knows then that the claim has changed.
            if observed.is_none() {
                return Ok(None);
            }
            let message = "its definition has changed since it was chosen, so that changes of the claim are not followed: delete \
                           the claim and make it again"
                .to_owned();
            return Ok(Some(Obstacle::new("Synced", "DefinitionChanged", message)));
        };
        for binding in self.status.bindings.iter().filter(|binding| binding.class_ref.is_some()) {
            let Some(rules) = definition.rules.get(binding.index) else { continue };
            let class = self.chosen_class(binding);
            let wanted = match rules.translated(&self.object, class.as_deref()) {
                Ok(wanted) => wanted,
                Err(error) => return Ok(Some(Obstacle::new("Synced", "CannotForm", error.to_string()))),
            };
            let (Some(facts), Some(named)) = (self.facts_of(binding), &binding.resource_ref) else { continue };
            let resources = Objects::new(&self.shared.deputy, &facts, &self.key.place.namespace);
            let Some(found) = resources.get(&named.name).await?.filter(|found| self.is_its(found, &facts)) else {
                continue;
            };
            let differing: Vec<(FieldPath, Value)> =
                wanted.into_iter().filter(|(path, value)| path.get(&found) != Some(value)).collect();
            if let Some((path, _)) = differing.iter().find(|(path, _)| !is_ours(&found, path)) {
                let message = format!("{path} of the {} {} belongs to someone else by now", named.kind, named.name);
                return Ok(Some(Obstacle::new("Synced", "NotOwned", message)));
            }
            if differing.is_empty() {
                continue;
            }
            match resources.patch(&named.name, &patch(&found, &differing)).await {
                Err(WorkError::Host(kube::Error::Api(status))) if is_refusal(&status) => {
                    let what = format!("the {} {} cannot be changed", named.kind, named.name);
                    return Ok(Some(refused(&status, &what)));
                }
                result => result.map(drop)?,
            }
        }
        Ok(None)
    }
}

/// A merge patch that sets these fields. A list in it is whole, as merge patches have it.
fn patch(found: &Value, fields: &[(FieldPath, Value)]) -> Value {
    let mut changed = found.clone();
    let mut patch = metadata_patch(found, json!({}));
    for (path, value) in fields {
        if path.set(&mut changed, value.clone()).is_err() {
            continue;
        }
        let names = path.steps().iter().take_while(|step| matches!(step, Step::Field(_))).cloned().collect();
        if let Some(prefix) = FieldPath::new(names)
            && let Some(value) = prefix.get(&changed)
        {
            let _ = prefix.set(&mut patch, value.clone());
        }
    }
    patch
}

/// Whether a field was last set here, as far as its names reach, or by nobody.
fn is_ours(found: &Value, path: &FieldPath) -> bool {
    let managers = found.pointer("/metadata/managedFields").and_then(Value::as_array);
    let mut owners = managers.into_iter().flatten().filter(|manager| has(&manager["fieldsV1"], path.steps()));
    owners.all(|manager| text(manager, "/manager") == FIELD_MANAGER)
}

fn has(fields: &Value, steps: &[Step]) -> bool {
    match steps {
        [Step::Field(name), rest @ ..] => fields.get(format!("f:{name}")).is_some_and(|inner| {
            // A field without parts of its own is all of it.
            inner.as_object().is_some_and(serde_json::Map::is_empty) || has(inner, rest)
        }),
        [Step::Index(_), ..] => true,
        [] => true,
    }
}
