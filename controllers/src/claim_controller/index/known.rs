//! What is known of a definition, of the kinds that it names, and of a resource.

use std::collections::BTreeSet;
use std::sync::Arc;

use bailiwick_api::claims::{
    BOUND_FINALIZER, ClaimRef, KindFacts, Phase, Rules, claim_ref, connection_secret, is_ready, phase,
};
use bailiwick_api::{BoundResource, FormerResource, ResourceBindingDefinition};
use kube::ResourceExt;
use serde_json::Value;
use tokio::time::Instant;

use super::{former, of_facts, uid};
use crate::claim_controller::objects::{finalizers, is_going};
use crate::served_kinds::GroupKind;

/// A definition, read once.
pub(in crate::claim_controller) struct Definition {
    /// Without what is large and follows from the rest; it is read anew where it matters.
    pub(in crate::claim_controller) object: ResourceBindingDefinition,
    /// For each of its resources. What was accepted can be read; if not, nothing is done with it.
    pub(in crate::claim_controller) rules: Vec<Rules>,
}

/// Which definition of a name it is, and in which state: whatever else changes does not change what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::claim_controller) struct DefinitionState {
    uid: String,
    generation: i64,
    is_going: bool,
}

/// A definition that could not be judged when it was looked at.
#[derive(Clone, Debug)]
pub(in crate::claim_controller) struct Unjudged {
    pub(in crate::claim_controller) state: DefinitionState,
    /// When that was first so, in this state.
    pub(in crate::claim_controller) since: Instant,
    /// Whether claims wait until it is judged.
    pub(in crate::claim_controller) is_waited_for: bool,
}

/// What came of looking at a definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::claim_controller) struct Standing {
    /// The kind of its claims, if these can be handled: they are, so that those that go can go.
    pub(in crate::claim_controller) claim: Option<Arc<KindFacts>>,
    /// The kinds of its resources and classes, if claims are satisfied by it.
    pub(in crate::claim_controller) entries: Option<Vec<EntryFacts>>,
    /// The kinds of its classes, also those that it named before, if these can be handled, whatever else is wrong: those that go
    /// can go.
    pub(in crate::claim_controller) classes: Vec<Arc<KindFacts>>,
    /// The kinds of its resources, also those that it named before, if these can be handled, whatever else is wrong: claims may have
    /// some.
    pub(in crate::claim_controller) resources: Vec<Arc<KindFacts>>,
    /// Those of the kinds of its resources and classes that cannot be listed at present: it is left out as long as there are any.
    pub(in crate::claim_controller) unlistable: BTreeSet<GroupKind>,
}

/// Whether there may be objects of a kind, and how one comes to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::claim_controller) enum Served {
    /// In the version that was asked for or, if that is not served, in another.
    As(Arc<KindFacts>),
    /// It is defined, and served in no version at present.
    Not,
    /// It is not defined, so there are none.
    Gone,
}

/// The kinds of one of the resources of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::claim_controller) struct EntryFacts {
    pub(in crate::claim_controller) resource: Arc<KindFacts>,
    pub(in crate::claim_controller) class: Arc<KindFacts>,
}

/// What must be known of a resource.
#[derive(Clone, Debug)]
pub(in crate::claim_controller) struct Resource {
    pub(in crate::claim_controller) uid: String,
    /// Whose it says it is.
    pub(in crate::claim_controller) claim: Option<ClaimRef>,
    pub(in crate::claim_controller) ready: bool,
    pub(in crate::claim_controller) going: bool,
    /// Whether it is held for the claim.
    pub(in crate::claim_controller) held: bool,
    pub(in crate::claim_controller) phase: Option<Phase>,
    pub(in crate::claim_controller) secret: Option<(String, String)>,
    /// All of it, for as long as it is nobody's.
    pub(in crate::claim_controller) whole: Option<Arc<Value>>,
}

/// A kind that is followed, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::claim_controller) struct Wanted {
    pub(in crate::claim_controller) facts: Arc<KindFacts>,
    pub(in crate::claim_controller) claims: bool,
    pub(in crate::claim_controller) classes: bool,
    pub(in crate::claim_controller) resources: bool,
}

// === impl Definition ===

impl Definition {
    pub(in crate::claim_controller) fn of(mut object: ResourceBindingDefinition) -> Self {
        let rules = |entry: &BoundResource| Rules::read(entry.class.strategies.as_ref()).ok();
        let rules = object.spec.resources.iter().filter_map(rules).collect();
        object.metadata.managed_fields = None;
        if let Some(status) = &mut object.status {
            (status.cluster_role, status.classes) = (None, Vec::new());
        }
        Self { object, rules }
    }

    pub(in crate::claim_controller) fn uid(&self) -> String {
        self.object.uid().unwrap_or_default()
    }

    pub(in crate::claim_controller) fn generation(&self) -> i64 {
        self.object.metadata.generation.unwrap_or_default()
    }

    pub(in crate::claim_controller) fn state(&self) -> DefinitionState {
        DefinitionState { uid: self.uid(), generation: self.generation(), is_going: self.is_going() }
    }

    /// What it named before, and may still look after.
    pub(in crate::claim_controller) fn former(&self) -> &[FormerResource] {
        former(&self.object)
    }

    pub(in crate::claim_controller) fn is_going(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }
}

// === impl Standing ===

impl Standing {
    /// Whether claims of a kind are satisfied by the definition.
    pub(in crate::claim_controller) fn is_for(&self, claim: &GroupKind) -> bool {
        self.claim.as_ref().is_some_and(|facts| of_facts(facts) == *claim) && self.entries.is_some()
    }
}

// === impl Resource ===

impl Resource {
    pub(in crate::claim_controller) fn of(object: Value, facts: &KindFacts) -> Self {
        let claim = claim_ref(&object, facts.claim_ref);
        let going = is_going(&object);
        Self {
            uid: uid(&object).to_owned(),
            ready: is_ready(&object, facts.has_conditions),
            going,
            held: finalizers(&object).contains(&BOUND_FINALIZER),
            phase: phase(&object),
            secret: connection_secret(&object),
            whole: (claim.is_none() && !going).then(|| Arc::new(object)),
            claim,
        }
    }

    /// The claim that it is held for, by its UID.
    pub(in crate::claim_controller) fn holder(&self) -> Option<&ClaimRef> {
        self.claim.as_ref().filter(|claim| self.held && !claim.uid.is_empty())
    }
}
