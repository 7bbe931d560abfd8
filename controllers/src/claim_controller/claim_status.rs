//! What is said of a claim in its status.

use std::time::SystemTime;

use bailiwick_api::claims::{Candidate, MAX_CANDIDATES, ObjectRef, Phase};
use bailiwick_api::{Condition, ConditionStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::index::{Key, of_reference};
use crate::conditions::{self, Verdict};

/// What is said of a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ClaimStatus {
    pub(super) binding_phase: Option<String>,
    pub(super) conditions: Vec<Condition>,
    pub(super) bindings: Vec<Binding>,
    pub(super) ready: Option<String>,
    pub(super) definition: Option<DefinitionRef>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) candidate_count: Option<i64>,
    pub(super) binding: Option<SecretRef>,
    pub(super) observed_generation: Option<i64>,
}

/// What a claim has for one of the resources of its definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Binding {
    pub(super) index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) class_ref: Option<ObjectRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resource_ref: Option<ObjectRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) phase: Option<String>,
    pub(super) ready: bool,
}

/// The definition that satisfies a claim, in the state in which it was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct DefinitionRef {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) generation: i64,
}

/// The Secret that a claim is told of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SecretRef {
    pub(super) name: String,
}

/// Something that stands in the way of a claim: for its conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    /// The condition that it is the reason of.
    pub(super) condition: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

// === impl ClaimStatus ===

impl ClaimStatus {
    /// What is said of a claim so far. What cannot be read was not said here.
    pub(super) fn of(claim: &Value) -> Self {
        claim.get("status").and_then(|status| Self::deserialize(status).ok()).unwrap_or_default()
    }

    pub(super) fn set(&mut self, condition: &str, status: ConditionStatus, why: (&str, &str), at: (i64, SystemTime)) {
        let verdict = Verdict { condition, status, reason: why.0, message: why.1 };
        conditions::set(&mut self.conditions, verdict, Some(at.0), at.1);
    }

    pub(super) fn set_candidates(&mut self, mut candidates: Vec<Candidate>) {
        self.candidate_count = i64::try_from(candidates.len()).ok().filter(|count| *count > 0);
        candidates.truncate(MAX_CANDIDATES);
        self.candidates = candidates;
    }

    /// Forgets what was decided.
    pub(super) fn forget_choice(&mut self) {
        self.bindings.clear();
        self.definition = None;
        self.ready = None;
        self.observed_generation = None;
    }

    /// Says in which phase the claim is, and how many of its resources are bound and ready.
    pub(super) fn sum_up(&mut self) -> bool {
        let is_bound = |binding: &&Binding| binding.phase.as_deref() == Some(Phase::Bound.as_str());
        let bound = self.bindings.iter().filter(is_bound).count();
        let ready = self.bindings.iter().filter(is_bound).filter(|binding| binding.ready).count();
        let all = !self.bindings.is_empty() && bound == self.bindings.len();
        let phase = if all { Phase::Bound } else { Phase::Unbound };
        self.binding_phase = Some(phase.as_str().to_owned());
        self.ready = (!self.bindings.is_empty()).then(|| format!("{ready}/{}", self.bindings.len()));
        all && ready == self.bindings.len()
    }

    /// Whether the claim has all that it gets, and a resource is nothing of that. What it has by then is not replaced any more.
    pub(super) fn is_whole_without(&self, resource: &Key) -> bool {
        let is_it = |named: &ObjectRef| of_reference(named) == resource.kind && named.name == resource.place.name;
        let has_other = |binding: &Binding| !binding.uid().is_empty() && !binding.resource_ref.iter().any(is_it);
        !self.bindings.is_empty() && self.bindings.iter().all(has_other)
    }

    /// As a merge patch says it: what is not there is to go.
    pub(super) fn as_patch(&self) -> Value {
        let list = |items: Value| if items.as_array().is_some_and(Vec::is_empty) { Value::Null } else { items };
        json!({
            "bindingPhase": self.binding_phase,
            "conditions": list(json!(self.conditions)),
            "bindings": list(json!(self.bindings)),
            "ready": self.ready,
            "definition": self.definition,
            "candidates": list(json!(self.candidates)),
            "candidateCount": self.candidate_count,
            "binding": self.binding,
            "observedGeneration": self.observed_generation,
        })
    }

    /// Whether a condition is so for this reason.
    pub(super) fn says(&self, condition: &str, reason: &str) -> bool {
        conditions::find(&self.conditions, condition).is_some_and(|said| said.reason == reason)
    }
}

// === impl Binding ===

impl Binding {
    /// The UID of its resource; empty as long as none is bound.
    pub(super) fn uid(&self) -> &str {
        self.resource_ref.as_ref().map(|resource| resource.uid.as_str()).unwrap_or_default()
    }

    pub(super) fn set_phase(&mut self, phase: Phase) {
        self.phase = Some(phase.as_str().to_owned());
    }

    pub(super) fn is_bound(&self) -> bool {
        self.phase.as_deref() == Some(Phase::Bound.as_str())
    }
}

// === impl Obstacle ===

impl Obstacle {
    pub(super) fn new(condition: &'static str, reason: &'static str, message: String) -> Self {
        Self { condition, reason, message }
    }
}
