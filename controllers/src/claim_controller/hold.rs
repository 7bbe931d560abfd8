//! What keeps a claim from going, and its classes and its definition with it.
//!
//! A claim says first what it gets, then that is confirmed, then the claim is held, and then something is made. Whoever lets a
//! definition or a class go asks for all claims after it was said that it goes; whoever is about to use it asks whether it goes
//! after it was said that it is used. So one of them knows of the other, whatever either has seen; and a claim that is held says
//! what for, wherever its controller was stopped. Undone is that in the opposite order.

use std::collections::{BTreeMap, HashSet};

use bailiwick_api::claims::{CLASS_FINALIZER, ObjectRef};
use bailiwick_api::{CLAIM_FINALIZER, KindReference, ResourceBindingDefinition};
use kube::Api;
use serde_json::{Value, json};

use super::claim::Claim;
use super::claim_status::{ClaimStatus, Obstacle};
use super::index::{Definition, Index, Key, Served, key_of, of_facts, of_reference};
use super::objects::{
    Objects, finalizers, is_going, is_namespace, metadata_patch, text, with_finalizer, without_finalizer,
};
use super::{Shared, WorkError};
use crate::absence::look_up_metadata;
use crate::served_kinds::GroupKind;

/// What claims use, as they say themselves.
#[derive(Default)]
pub(super) struct Used {
    /// By their UIDs.
    pub(super) definitions: HashSet<String>,
    pub(super) classes: HashSet<Key>,
    /// The kinds of resources and classes that claims have by a definition, with its UID.
    pub(super) kinds: HashSet<(String, GroupKind)>,
}

// === impl Claim ===

impl Claim<'_> {
    /// Holds the claim, before anything is made for it, if what was decided is still there. If not, it is decided anew.
    pub(super) async fn secure(&mut self) -> Result<Option<Obstacle>, WorkError> {
        let definition = self.definition();
        if self.is_outdated(definition.as_deref()) && self.has_nothing_yet().await? {
            self.forget_choice().await?;
            let message = "its definition or class has changed before anything was made: it is decided anew".to_owned();
            return Ok(Some(Obstacle::new("ClassSelected", "DecidedAnew", message)));
        }
        if finalizers(&self.object).contains(&CLAIM_FINALIZER) {
            return Ok(None);
        }
        if !self.is_confirmed().await? && self.has_nothing_yet().await? {
            // It will be seen, and then be decided anew.
            let message = "what it was to be satisfied by has just changed, or is about to go".to_owned();
            return Err(WorkError::Told(message));
        }
        self.hold(with_finalizer).await?;
        Ok(None)
    }

    /// Whether its definition is still the one that was chosen, and each class is there and held, now that the claim says that
    /// it uses them.
    async fn is_confirmed(&self) -> Result<bool, WorkError> {
        let Some(chosen) = &self.status.definition else { return Ok(false) };
        let definitions: Api<ResourceBindingDefinition> = Api::all(self.shared.clients.own.clone());
        let found = look_up_metadata(&definitions, &chosen.name).await?.map(|found| found.metadata);
        let is_it = found.is_some_and(|found| {
            found.uid.as_deref() == Some(&chosen.uid)
                && found.generation == Some(chosen.generation)
                && found.deletion_timestamp.is_none()
        });
        if !is_it {
            return Ok(false);
        }
        for class in self.status.bindings.iter().filter_map(|binding| binding.class_ref.as_ref()) {
            if !self.shared.hold_class(class).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Forgets what was decided, as nothing came of it.
    pub(super) async fn forget_choice(&mut self) -> Result<(), WorkError> {
        // As long as it is held, it says what for.
        self.hold(without_finalizer).await?;
        self.status.forget_choice();
        Ok(())
    }

    /// Changes what keeps the claim from going, if that is otherwise.
    pub(super) async fn hold(&mut self, change: fn(&Value, &str) -> Value) -> Result<(), WorkError> {
        let wanted = change(&self.object, CLAIM_FINALIZER);
        if wanted != json!(finalizers(&self.object)) {
            let patch = metadata_patch(&self.object, json!({ "finalizers": wanted }));
            self.object = self.objects().patch(&self.key.place.name, &patch).await?;
        }
        Ok(())
    }
}

// === impl Shared ===

impl Shared {
    /// Holds the class that a claim says it uses. Whether it is there, and does not go.
    pub(super) async fn hold_class(&self, class: &ObjectRef) -> Result<bool, WorkError> {
        let Some(facts) = self.index().facts_of(&class.api_version, &class.kind) else { return Ok(false) };
        // It stands in a status, which others can write too.
        if facts.namespaced && !is_namespace(&class.namespace) {
            return Ok(false);
        }
        let classes = Objects::new(&self.deputy, &facts, &class.namespace);
        let mut is_retried = false;
        loop {
            let Some(found) = classes.get(&class.name).await? else { return Ok(false) };
            let is_it = class.uid.is_empty() || class.uid == text(&found, "/metadata/uid");
            if !is_it || is_going(&found) {
                return Ok(false);
            }
            if finalizers(&found).contains(&CLASS_FINALIZER) {
                return Ok(true);
            }
            let patch = metadata_patch(&found, json!({ "finalizers": with_finalizer(&found, CLASS_FINALIZER) }));
            match classes.patch(&class.name, &patch).await {
                // Others hold it at the same moment, or someone has changed it.
                Err(WorkError::Host(kube::Error::Api(status))) if status.is_conflict() && !is_retried => {
                    is_retried = true;
                }
                held => return held.map(|_| true),
            }
        }
    }

    /// What claims of these kinds use, asked now.
    pub(super) async fn used_now<'k>(
        &self,
        claims: impl IntoIterator<Item = &'k KindReference>,
    ) -> Result<Used, WorkError> {
        let mut kinds = BTreeMap::new();
        for claim in claims {
            let index = self.index();
            match index.served(&claim.api_version, &claim.kind) {
                // What was never handled has chosen nothing.
                Served::As(facts) if index.has_seen_all_of(&of_facts(&facts)) => {
                    kinds.insert(of_facts(&facts), facts);
                }
                Served::As(_) | Served::Gone => {}
                Served::Not => return Err(WorkError::Told(format!("{} is served in no version", claim.kind))),
            }
        }
        let mut used = Used::default();
        for facts in kinds.values() {
            Objects::all(&self.deputy, facts).each(|claim| used.note(&ClaimStatus::of(claim))).await?;
        }
        Ok(used)
    }
}

// === impl Index ===

impl Index {
    /// What claims use by a definition, as far as was seen.
    pub(super) fn used_by(&self, definition: &Definition) -> Used {
        let mut used = Used::default();
        for key in self.definition_users(&definition.uid()) {
            if let Some(claim) = self.claims.get(&key.kind).and_then(|claims| claims.get(&key.place)) {
                used.note(&ClaimStatus::of(claim));
            }
        }
        used
    }
}

// === impl Used ===

impl Used {
    fn note(&mut self, status: &ClaimStatus) {
        let definition = status.definition.as_ref().map(|definition| definition.uid.clone());
        for binding in &status.bindings {
            self.classes.extend(binding.class_ref.as_ref().map(key_of));
            let kinds = binding.class_ref.iter().chain(&binding.resource_ref).map(of_reference);
            self.kinds.extend(kinds.filter_map(|kind| Some((definition.clone()?, kind))));
        }
        self.definitions.extend(definition);
    }
}
