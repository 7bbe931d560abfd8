//! What is known of a definition, of the kinds that it names, and of a resource.

use std::sync::Arc;

use bailiwick_api::ResourceBindingDefinition;
use bailiwick_api::claims::{ClaimRef, KindFacts, Phase, Rules, claim_ref, connection_secret, is_ready, phase};
use kube::ResourceExt;
use serde_json::Value;

use super::uid;
use crate::claim_controller::objects::is_going;

/// A definition, read once.
pub(in crate::claim_controller) struct Definition {
    pub(in crate::claim_controller) object: ResourceBindingDefinition,
    /// For each of its resources. What was accepted can be read; if not, nothing is done with it.
    pub(in crate::claim_controller) rules: Vec<Rules>,
}

/// What came of looking at a definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::claim_controller) struct Standing {
    /// The kind of its claims, if these can be handled: they are, so that those that go can go.
    pub(in crate::claim_controller) claim: Option<Arc<KindFacts>>,
    /// The kinds of its resources and classes, if claims are satisfied by it.
    pub(in crate::claim_controller) entries: Option<Vec<EntryFacts>>,
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
    pub(in crate::claim_controller) fn uid(&self) -> String {
        self.object.uid().unwrap_or_default()
    }

    pub(in crate::claim_controller) fn generation(&self) -> i64 {
        self.object.metadata.generation.unwrap_or_default()
    }

    pub(in crate::claim_controller) fn is_going(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
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
            phase: phase(&object),
            secret: connection_secret(&object),
            whole: (claim.is_none() && !going).then(|| Arc::new(object)),
            claim,
        }
    }
}
