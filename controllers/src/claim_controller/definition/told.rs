//! What is said of a definition in its conditions.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_api::claims::KindFacts;
use bailiwick_api::{ConditionStatus, some_of};

use crate::claim_controller::access::Right;
use crate::claim_controller::claim::NOT_LISTED;
use crate::claim_controller::index::Key;
use crate::served_kinds::GroupKind;

/// What is to be said of a definition: a reason, and more about it.
pub(super) struct Told {
    pub(super) accepted: Option<(ConditionStatus, &'static str, String)>,
    pub(super) ready: (ConditionStatus, &'static str, String),
}

// === impl Told ===

impl Told {
    pub(super) fn good() -> Self {
        let message = "claims are satisfied by this definition".to_owned();
        Self {
            accepted: Some((
                ConditionStatus::True,
                "Accepted",
                "its kinds are served, and its writer may use them".to_owned(),
            )),
            ready: (ConditionStatus::True, "Ready", message),
        }
    }

    /// It is not accepted, and therefore nothing is done by it.
    pub(super) fn refused(reason: &'static str, message: String) -> Self {
        let said = (ConditionStatus::False, reason, message);
        Self { accepted: Some(said.clone()), ready: said }
    }

    pub(super) fn unknown_kind(api_version: &str, kind: &str) -> Self {
        let message = format!("there is no kind {kind} of {api_version} that a CustomResourceDefinition defines");
        Self::refused("UnknownKind", message)
    }

    pub(super) fn kind_going(facts: &KindFacts) -> Self {
        let message = format!("the CustomResourceDefinition of {}.{} is being deleted", facts.plural, facts.group);
        Self::refused("KindTerminating", message)
    }

    pub(super) fn no_claim(claim: &KindFacts) -> Self {
        if !claim.namespaced {
            return Self::refused("NotNamespaced", format!("{} are not in namespaces, and claims are", claim.plural));
        }
        let missing = claim.missing.join(", ");
        Self::refused("FieldsMissing", format!("{} lack what claims have: {missing}", claim.plural))
    }

    pub(super) fn disagreement(other: &str) -> Self {
        let message =
            format!("the older ResourceBindingDefinition \"{other}\" names another version of the same claims");
        Self::refused("Disagreement", message)
    }

    pub(super) fn not_allowed(username: &str, right: &Right) -> Self {
        let message = format!(
            "whoever writes a definition must be allowed what it leads to: user \"{username}\" may not {right}; someone who may \
             can write it again"
        );
        Self::refused("NotAllowed", message)
    }

    /// What is said of readiness while there are kinds that cannot be listed.
    pub(super) fn overdue(kinds: &BTreeSet<GroupKind>) -> (ConditionStatus, &'static str, String) {
        let message = format!(
            "claims wait until all objects of {} have been listed, which takes longer than it should: see the server's log",
            some_of(kinds.iter().map(|kind| format!("{} of {}", kind.kind, kind.group)))
        );
        (ConditionStatus::False, NOT_LISTED, message)
    }

    /// What is said of readiness while there are kinds that cannot be listed, each with the reason.
    pub(super) fn unlistable(kinds: &BTreeMap<GroupKind, String>) -> (ConditionStatus, &'static str, String) {
        let kinds = kinds.iter().map(|(kind, error)| format!("{} of {} ({error})", kind.kind, kind.group));
        let message = format!(
            "objects cannot be listed of {}: until they can, no further claim is satisfied by this definition, and those that are \
             are not looked after; see that the kind is served, and that a webhook that converts it answers",
            some_of(kinds)
        );
        (ConditionStatus::False, NOT_LISTED, message)
    }

    /// What is said of readiness while it goes.
    pub(super) fn going(users: &[Key]) -> (ConditionStatus, &'static str, String) {
        let message = match users {
            [] => "it is deleted when all claims that it may satisfy have been seen, which they cannot be at present"
                .to_owned(),
            users => format!(
                "it is deleted when no claim is satisfied by it any more; it satisfies {}",
                some_of(users.iter().map(|key| &key.place))
            ),
        };
        (ConditionStatus::False, "Terminating", message)
    }
}
