//! What a definition of bindings holds and is to hold no longer: because it goes, or because it names other kinds by now.
//!
//! What others name that stay is left to them: they hold it as well. What others name that go, whoever comes first lets go of it.

use std::collections::BTreeSet;

use bailiwick_api::claims::CLASS_FINALIZER;
use bailiwick_api::{BINDING_DEFINITION_FINALIZER, FormerResource, KindReference, ResourceBindingDefinition};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::hold::Used;
use super::index::{Definition, Index, Key, Served, class_kinds};
use super::objects::finalizers;
use super::{FIELD_MANAGER, Shared, WorkError, group_kind};
use crate::served_kinds::GroupKind;

// === impl Shared ===

impl Shared {
    /// The definitions of bindings, asked now.
    pub(super) async fn definitions_now(&self) -> Result<Vec<ResourceBindingDefinition>, WorkError> {
        let api: Api<ResourceBindingDefinition> = Api::all(self.clients.own.clone());
        Ok(api.list(&ListParams::default()).await?.items)
    }

    /// Lets go of a definition that no claim is satisfied by, and of the classes that were held for it.
    pub(super) async fn let_go(&self, definition: &Definition) -> Result<(), WorkError> {
        let object = &definition.object;
        if !object.finalizers().iter().any(|finalizer| finalizer == BINDING_DEFINITION_FINALIZER) {
            return Ok(());
        }
        let used = self.release_classes(definition, class_kinds(object)).await?;
        if used.definitions.contains(&definition.uid()) {
            return Err(WorkError::Told("a claim has just been decided to be satisfied by it".to_owned()));
        }
        let kept = object.finalizers().iter().filter(|finalizer| *finalizer != BINDING_DEFINITION_FINALIZER);
        let patch = json!({ "metadata": {
            "uid": object.metadata.uid,
            "resourceVersion": object.metadata.resource_version,
            "finalizers": kept.collect::<Vec<_>>(),
        } });
        let api: Api<ResourceBindingDefinition> = Api::all(self.clients.own.clone());
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match api.patch(&object.name_any(), &params, &Patch::Merge(patch)).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            result => Ok(result.map(drop)?),
        }
    }

    /// Lets go of what a definition named before, as far as no claim has it by the definition any more. What it is done with is
    /// returned.
    pub(super) async fn release_former(&self, definition: &Definition) -> Result<Vec<FormerResource>, WorkError> {
        if definition.former().is_empty() || !self.sees_what_it_holds(definition) {
            return Ok(Vec::new());
        }
        let entries = definition.object.spec.resources.iter();
        let named: BTreeSet<GroupKind> = entries.map(|entry| group_kind(&entry.class.reference())).collect();
        let former = definition.former().iter().map(|entry| group_kind(&entry.class));
        let kinds: BTreeSet<GroupKind> = former.filter(|kind| !named.contains(kind)).collect();
        if !self.may_release(definition, &kinds) {
            return Ok(Vec::new());
        }
        let used = self.release_classes(definition, kinds.clone()).await?;
        let index = self.index();
        let is_seen = |class: &KindReference| {
            index.has_seen_all_of(&group_kind(class)) || index.served(&class.api_version, &class.kind) == Served::Gone
        };
        let is_done = |entry: &&FormerResource| is_over(definition, entry, &used) && is_seen(&entry.class);
        Ok(definition.former().iter().filter(is_done).cloned().collect())
    }

    /// Whether something can be let go of, as far as was seen: whoever asks all claims again asks for much.
    fn may_release(&self, definition: &Definition, kinds: &BTreeSet<GroupKind>) -> bool {
        let index = self.index();
        let used = index.used_by(definition);
        let is_left = |kind: &&GroupKind| {
            index.definitions.values().any(|other| other.uid() != definition.uid() && stays_with(&other.object, kind))
        };
        let unused = |kind: &GroupKind| held_of(&index, kind).iter().any(|class| index.class_users(class).is_empty());
        definition.former().iter().any(|entry| is_over(definition, entry, &used))
            || kinds.iter().filter(|kind| !is_left(kind)).any(unused)
    }

    /// Lets go of classes of these kinds that no claim uses, where that is not for other definitions to do. What claims use is
    /// returned.
    async fn release_classes(
        &self,
        definition: &Definition,
        mut kinds: BTreeSet<GroupKind>,
    ) -> Result<Used, WorkError> {
        let mut others = self.definitions_now().await?;
        others.retain(|other| other.uid() != definition.object.uid());
        let held: Vec<Key> = {
            let index = self.index();
            kinds.retain(|kind| {
                let mut naming = others.iter().filter(|other| class_kinds(other).contains(kind));
                naming.all(|other| !stays_with(other, kind) && index.sees_claims(&other.spec.claim))
            });
            kinds.iter().flat_map(|kind| held_of(&index, kind)).collect()
        };
        let naming = others.iter().filter(|other| !class_kinds(other).is_disjoint(&kinds));
        let claims = naming.map(|other| &other.spec.claim).chain([&definition.object.spec.claim]);
        let used = self.used_now(claims).await?;
        for class in held.iter().filter(|class| !used.classes.contains(class)) {
            self.let_go_of_class(class).await?;
        }
        Ok(used)
    }
}

/// Whether no claim has by a definition what it named before. Of a kind that it still names, that is not asked.
fn is_over(definition: &Definition, entry: &FormerResource, used: &Used) -> bool {
    let spec = &definition.object.spec;
    let named: BTreeSet<GroupKind> = spec
        .resources
        .iter()
        .flat_map(|entry| [group_kind(&entry.resource), group_kind(&entry.class.reference())])
        .collect();
    let mut kinds = [&entry.resource, &entry.class].into_iter().map(group_kind).filter(|kind| !named.contains(kind));
    kinds.all(|kind| !used.kinds.contains(&(definition.uid(), kind)))
}

/// Whether a definition names a kind of classes, and does not go.
pub(super) fn stays_with(definition: &ResourceBindingDefinition, kind: &GroupKind) -> bool {
    let mut entries = definition.spec.resources.iter();
    definition.metadata.deletion_timestamp.is_none()
        && entries.any(|entry| group_kind(&entry.class.reference()) == *kind)
}

/// The classes of a kind that are held.
fn held_of(index: &Index, kind: &GroupKind) -> Vec<Key> {
    let held = index.classes.each(kind).into_iter().filter(|(_, class)| finalizers(class).contains(&CLASS_FINALIZER));
    held.map(|(place, _)| Key { kind: kind.clone(), place: place.clone() }).collect()
}
