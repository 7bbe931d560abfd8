//! The resources of a claim, one after the other: each is found, bound or made.

use std::sync::Arc;

use bailiwick_api::WaitFor;
use bailiwick_api::claims::{
    BOUND_FINALIZER, Class, KindFacts, Phase, RECLAIM_ANNOTATION, Rules, allows, claim_ref, set_claim_ref,
};
use serde_json::{Value, json};

use super::WorkError;
use super::claim::Claim;
use super::claim_status::{Binding, Obstacle};
use super::index::{Definition, Resource, Served, key_of, of_facts};
use super::objects::{Objects, is_going, text};
use super::secret::SECRET_GONE;
use crate::place::Place;

/// What a resource is provided by.
pub(super) struct Means<'m> {
    pub(super) facts: &'m KindFacts,
    /// The definition, if it still is the one that was chosen.
    pub(super) definition: Option<&'m Definition>,
    /// How something is made or bound by it, if that is in order: whatever the claim's status says, it names these kinds, is
    /// accepted, and is for the claim's namespace.
    pub(super) rules: Option<&'m Rules>,
}

/// A resource that is the claim's, or why there is none.
type Settled = Result<Resource, Obstacle>;

// === impl Claim ===

impl Claim<'_> {
    /// Provides what was decided, as far as that is possible now. What stands in the way is returned.
    pub(super) async fn provide(&mut self) -> Result<Option<Obstacle>, WorkError> {
        let definition = self.definition();
        let is_offered = definition.as_deref().is_some_and(|definition| self.is_offered(definition));
        let mut secrets = Vec::new();
        let mut is_all_known = true;
        let mut obstacle = None;
        // The first that cannot be had.
        let mut lacking = None;
        // Whether what is not there yet has to wait for what comes before. What is there is looked after all the same.
        let mut others_wait = false;
        for index in 0..self.status.bindings.len() {
            let Some(mut binding) = self.status.bindings.get(index).cloned() else { break };
            if others_wait && binding.uid().is_empty() {
                break;
            }
            let Some(facts) = self.facts_of(&binding) else {
                obstacle.get_or_insert(self.kind_gone(&binding));
                others_wait = true;
                is_all_known &= !self.may_be_there(&binding);
                continue;
            };
            let means = Means {
                facts: &facts,
                definition: definition.as_deref(),
                rules: definition.as_deref().filter(|_| is_offered).and_then(|found| rules_for(found, &binding)),
            };
            match self.settle(&binding, &means).await? {
                Err(found) => {
                    binding.ready = false;
                    lacking.get_or_insert_with(|| (index, found.clone()));
                    obstacle.get_or_insert(found);
                }
                Ok(resource) => {
                    note(&mut binding, &resource);
                    if resource.going || facts.going {
                        let message =
                            "a resource that satisfies it is being deleted: it goes when this claim does".to_owned();
                        obstacle.get_or_insert(Obstacle::new("Ready", "ResourceTerminating", message));
                    }
                    self.tell_phase(&binding, &resource, &facts).await?;
                    secrets.extend(resource.secret.clone().map(|secret| (resource.uid.clone(), secret)));
                }
            }
            let is_ready = binding.ready;
            let is_there = !binding.uid().is_empty();
            if let Some(place) = self.status.bindings.get_mut(index) {
                *place = binding;
            }
            let waits = means.definition.and_then(|definition| definition.object.spec.resources.get(index));
            let waits_for_ready = waits.is_some_and(|entry| entry.wait_for == Some(WaitFor::Ready));
            others_wait |= !is_there || (waits_for_ready && !is_ready);
        }
        if let Some(reconsidered) = self.reconsider(obstacle.as_ref()).await? {
            return Ok(Some(reconsidered));
        }
        if let Some((index, why)) = lacking
            && let Some(replaced) = self.replace(index, &why).await?
        {
            return Ok(Some(replaced));
        }
        // What cannot be looked at may have some all the same.
        let found = if is_all_known { self.hand_on_secrets(&secrets).await? } else { None };
        // One that is gone keeps nothing else from being done.
        let (gone, found) = match found {
            Some(found) if found.reason == SECRET_GONE => (Some(found), None),
            found => (None, found),
        };
        let found = match obstacle.or(found) {
            None => self.follow_claim(definition.as_deref()).await?,
            obstacle => obstacle,
        };
        if found.is_none() {
            self.status.observed_generation = Some(self.generation());
        }
        Ok(found.or(gone))
    }

    /// The definition that was chosen, if it is still there.
    pub(super) fn definition(&self) -> Option<Arc<Definition>> {
        let chosen = self.status.definition.as_ref()?;
        let index = self.shared.index();
        index.definitions.get(&chosen.name).filter(|found| found.uid() == chosen.uid).cloned()
    }

    /// Whether claims of this namespace are satisfied by a definition.
    pub(super) fn is_offered(&self, definition: &Definition) -> bool {
        let spec = &definition.object.spec;
        let selector = spec.claimable_from.as_ref().and_then(|selector| serde_json::to_value(selector).ok());
        let index = self.shared.index();
        let standing = index.standings.get(definition.object.metadata.name.as_deref().unwrap_or_default());
        standing.is_some_and(|standing| standing.entries.is_some()) && allows(selector.as_ref(), &self.namespace_labels)
    }

    /// The class that something is to be made from, if claims of this namespace can use it.
    fn class_of(&self, binding: &Binding) -> Option<Arc<Value>> {
        let class = self.chosen_class(binding)?;
        let namespace = Class(&class).namespace();
        let is_near = namespace.is_empty() || namespace == self.key.place.namespace;
        (is_near && Class(&class).is_claimable_from(&self.namespace_labels)).then_some(class)
    }

    /// The class that was chosen, if it is there: in the version that the definition names, as its rules mean that one.
    pub(super) fn chosen_class(&self, binding: &Binding) -> Option<Arc<Value>> {
        let chosen = binding.class_ref.as_ref()?;
        let definition = self.definition();
        let entry = definition.as_ref().and_then(|found| found.object.spec.resources.get(binding.index));
        let named = entry.map(|entry| entry.class.reference());
        let named = named.filter(|named| named.is_same_kind(&chosen.api_version, &chosen.kind));
        let index = self.shared.index();
        match named {
            Some(named) => index.classes.get_as(&named, &key_of(chosen).place).cloned(),
            None => index.classes.get(&key_of(chosen)).cloned(),
        }
    }

    /// Whether what was decided cannot be provided any more as it was decided.
    pub(super) fn is_outdated(&self, definition: Option<&Definition>) -> bool {
        let generation = self.status.definition.as_ref().map(|chosen| chosen.generation);
        if definition.is_none_or(|definition| Some(definition.generation()) != generation || definition.is_going()) {
            return true;
        }
        let index = self.shared.index();
        let is_gone = |binding: &Binding| {
            binding
                .class_ref
                .as_ref()
                .is_some_and(|class| index.classes.get(&key_of(class)).is_none_or(|found| is_going(found)))
        };
        self.status.bindings.iter().any(is_gone)
    }

    /// Whether nothing has been made or bound for the claim, whatever was noted of it.
    pub(super) async fn has_nothing_yet(&self) -> Result<bool, WorkError> {
        for binding in &self.status.bindings {
            if self.has(binding).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the resource of a binding has been made or bound, whatever was noted of it.
    pub(super) async fn has(&self, binding: &Binding) -> Result<bool, WorkError> {
        if !binding.uid().is_empty() {
            return Ok(true);
        }
        let (Some(facts), Some(named)) = (self.facts_of(binding), &binding.resource_ref) else { return Ok(false) };
        let found = Objects::new(&self.shared.deputy, &facts, &self.key.place.namespace).get(&named.name).await?;
        Ok(found.is_some_and(|found| self.is_its(&found, &facts)))
    }

    pub(super) fn facts_of(&self, binding: &Binding) -> Option<Arc<KindFacts>> {
        let named = binding.resource_ref.as_ref()?;
        match self.shared.index().served(&named.api_version, &named.kind) {
            Served::As(facts) => Some(facts),
            Served::Not | Served::Gone => None,
        }
    }

    /// Whether a resource says that it is this very claim's.
    pub(super) fn is_its(&self, resource: &Value, facts: &KindFacts) -> bool {
        !self.uid().is_empty() && claim_ref(resource, facts.claim_ref).is_some_and(|claim| claim.uid == self.uid())
    }

    /// Whether there may be a resource of a kind that is not served.
    fn may_be_there(&self, binding: &Binding) -> bool {
        let Some(named) = binding.resource_ref.as_ref().filter(|named| !named.uid.is_empty()) else { return false };
        self.shared.index().served(&named.api_version, &named.kind) != Served::Gone
    }

    fn kind_gone(&self, binding: &Binding) -> Obstacle {
        let named = binding.resource_ref.clone().unwrap_or_default();
        let message = format!("there is no kind {} of {} any more", named.kind, named.api_version);
        Obstacle::new("Bound", "UnknownKind", message)
    }

    async fn settle(&self, binding: &Binding, means: &Means<'_>) -> Result<Settled, WorkError> {
        let named = binding.resource_ref.clone().unwrap_or_default();
        let place = Place { namespace: named.namespace.clone(), name: named.name.clone() };
        let is_expected = |uid: &str| binding.uid().is_empty() || binding.uid() == uid;
        let seen = {
            let index = self.shared.index();
            index.resources.get(&of_facts(means.facts)).and_then(|resources| resources.get(&place)).cloned()
        };
        let is_its = |seen: &Resource| seen.claim.as_ref().is_some_and(|claim| claim.uid == self.uid());
        if let Some(seen) = seen.filter(|seen| is_its(seen) && is_expected(&seen.uid)) {
            return Ok(Ok(seen));
        }
        let resources = Objects::new(&self.shared.deputy, means.facts, &self.key.place.namespace);
        let changed = self.changed_definition(binding, means);
        if binding.class_ref.is_some() && binding.uid().is_empty() && changed.is_none() {
            match self.make(binding, means, &resources).await? {
                Err(obstacle) => return Ok(Err(obstacle)),
                Ok(Some(made)) => return Ok(Ok(Resource::of(made, means.facts))),
                Ok(None) => {}
            }
        }
        let Some(found) = resources.get(&named.name).await? else {
            return Ok(Err(changed.unwrap_or_else(|| missing(binding))));
        };
        if !is_expected(text(&found, "/metadata/uid")) {
            return Ok(Err(missing(binding)));
        }
        if self.is_its(&found, means.facts) {
            return Ok(Ok(Resource::of(found, means.facts)));
        }
        if binding.class_ref.is_some() {
            let message = format!("there is a {} {} that was not made for this claim", named.kind, named.name);
            return Ok(Err(Obstacle::new("Synced", "NameTaken", message)));
        }
        if let Some(obstacle) = changed {
            return Ok(Err(obstacle));
        }
        self.bind(&found, binding, means, &resources).await
    }

    /// That a definition means something else by now than when it was chosen, so that what is missing is not made or bound by it: a
    /// claim would have one part by the old rules, and one by the new.
    fn changed_definition(&self, binding: &Binding, means: &Means<'_>) -> Option<Obstacle> {
        let chosen = self.status.definition.as_ref().map(|chosen| chosen.generation);
        let definition = means.definition.filter(|_| binding.uid().is_empty())?;
        if Some(definition.generation()) == chosen {
            return None;
        }
        let named = binding.resource_ref.clone().unwrap_or_default();
        let message = format!(
            "its definition has changed since it was chosen, so that the {} {} is not provided by it any more: delete the claim \
             and make it again",
            named.kind, named.name
        );
        Some(Obstacle::new("Bound", "DefinitionChanged", message))
    }

    /// Makes a resource that is the claim's from its first moment on; none if there is one of its name.
    async fn make(
        &self,
        binding: &Binding,
        means: &Means<'_>,
        resources: &Objects,
    ) -> Result<Result<Option<Value>, Obstacle>, WorkError> {
        let named = binding.resource_ref.clone().unwrap_or_default();
        // What was decided stands in a status, which others can write too. Whether there is a class, it does not tell them.
        let (Some(rules), Some(class)) = (means.rules, self.class_of(binding)) else {
            let message = format!(
                "the definition or the class that {} is to be made from is gone, or not for this claim",
                named.name
            );
            return Ok(Err(Obstacle::new("Bound", "ClassGone", message)));
        };
        let mut object = match rules.form(&self.object, &class) {
            Ok(formed) => formed,
            Err(error) => return Ok(Err(Obstacle::new("Synced", "CannotForm", error.to_string()))),
        };
        object["apiVersion"] = means.facts.api_version().into();
        object["kind"] = means.facts.kind.clone().into();
        object["metadata"]["name"] = named.name.clone().into();
        if means.facts.namespaced {
            object["metadata"]["namespace"] = self.key.place.namespace.clone().into();
        }
        object["metadata"]["finalizers"] = json!([BOUND_FINALIZER]);
        object["metadata"]["annotations"][RECLAIM_ANNOTATION] = Class(&class).reclaim_policy().as_str().into();
        connect(&mut object, &class, &named.name);
        set_claim_ref(&mut object, means.facts.claim_ref, &self.reference());
        match resources.create(object).await {
            Err(WorkError::Host(kube::Error::Api(status))) if is_refusal(&status) => {
                Ok(Err(refused(&status, &format!("the {} {} cannot be made", named.kind, named.name))))
            }
            made => Ok(Ok(made?)),
        }
    }

    /// Says in a resource that has a word for it that it is bound.
    async fn tell_phase(&self, binding: &Binding, resource: &Resource, facts: &KindFacts) -> Result<(), WorkError> {
        let told = resource.phase == Some(Phase::Bound);
        let Some(named) = binding.resource_ref.as_ref().filter(|_| facts.has_phase && binding.is_bound() && !told)
        else {
            return Ok(());
        };
        let resources = Objects::new(&self.shared.deputy, facts, &self.key.place.namespace);
        let patch = json!({
            "metadata": { "uid": resource.uid }, "status": { "bindingPhase": Phase::Bound.as_str() },
        });
        resources.patch_status(&named.name, &patch).await.map(drop)
    }
}

/// How the resource of a binding is made, if the definition still means these kinds.
fn rules_for<'d>(definition: &'d Definition, binding: &Binding) -> Option<&'d Rules> {
    let entry = definition.object.spec.resources.get(binding.index)?;
    let named = binding.resource_ref.as_ref()?;
    let is_same = entry.resource.is_same_kind(&named.api_version, &named.kind);
    let class = binding.class_ref.as_ref();
    let is_same_class = class.is_none_or(|class| entry.class.reference().is_same_kind(&class.api_version, &class.kind));
    definition.rules.get(binding.index).filter(|_| is_same && is_same_class)
}

/// Notes what is known of a resource that is the claim's.
fn note(binding: &mut Binding, resource: &Resource) {
    if let Some(named) = &mut binding.resource_ref {
        named.uid.clone_from(&resource.uid);
    }
    binding.ready = resource.ready && !resource.going;
    // Once bound, it stays so: that it is not ready for a while is told apart.
    if binding.ready || binding.is_bound() {
        binding.set_phase(Phase::Bound);
    } else {
        binding.set_phase(Phase::Unbindable);
    }
}

fn missing(binding: &Binding) -> Obstacle {
    let named = binding.resource_ref.clone().unwrap_or_default();
    match binding.uid().is_empty() {
        true => {
            let message = format!("there is no {} {}", named.kind, named.name);
            Obstacle::new("Bound", "ResourceNotFound", message)
        }
        false => {
            let message = format!(
                "the {} {} that satisfied it is gone, and nothing takes its place: what it held is lost; delete the claim and \
                 make it again",
                named.kind, named.name
            );
            Obstacle::new("Bound", "ResourceLost", message)
        }
    }
}

/// Says where a resource writes its connection secret, where its class names a namespace only.
fn connect(object: &mut Value, class: &Value, name: &str) {
    let stated = text(object, "/spec/writeConnectionSecretToRef/namespace").to_owned();
    let of_class = text(class, "/specTemplate/writeConnectionSecretsToNamespace").to_owned();
    let namespace = if stated.is_empty() { of_class } else { stated };
    if !namespace.is_empty() && text(object, "/spec/writeConnectionSecretToRef/name").is_empty() {
        object["spec"]["writeConnectionSecretToRef"] = json!({ "namespace": namespace, "name": name });
    }
}

/// What the claim says of something that the host will not do as it stands.
pub(super) fn refused(status: &kube::core::Status, what: &str) -> Obstacle {
    let reason = if status.is_forbidden() { "Forbidden" } else { "Rejected" };
    Obstacle::new("Synced", reason, format!("{what}: {}", status.message))
}

/// Whether the host says that it will not do something as it stands.
pub(super) fn is_refusal(status: &kube::core::Status) -> bool {
    matches!(status.code, 400 | 403 | 404 | 422)
}
