//! What became of a resource when it was looked at.

use bailiwick_api::bundle::RenderError;
use bailiwick_api::{BundleObject, Phase};

use super::hands::Trouble;
use super::observed::Observed;
use crate::shortened::shortened;

/// What became of a resource.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) phase: Phase,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) object: Option<BundleObject>,
    pub(super) observed: Option<Box<Observed>>,
    /// What it waits for in the end, if it waits for other resources.
    pub(super) behind: Option<String>,
    /// What was done to the object.
    pub(super) deed: Deed,
    /// Whether it is worth trying again, though nothing may tell of a change.
    pub(super) retry: Retry,
}

/// What was done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Nothing,
    Created,
    Updated,
}

/// The reason of what waits for other resources.
pub(super) const DEPENDENCY_NOT_READY: &str = "DependencyNotReady";
/// The reason of what is of a kind that the host does not serve.
pub(super) const NOT_SERVED: &str = "KindNotServed";
/// The reason of what is gone though the inventory says which object it is.
pub(super) const VANISHED: &str = "Vanished";
/// How many of these are told of.
const MAX_TOLD: usize = 3;
/// How much of what one resource says is repeated by those that wait for it.
const MAX_REPEATED: usize = 256;

/// Why a resource keeps others waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// For them.
    told: String,
    /// What it comes down to.
    end: String,
}

/// When a resource is looked at again, if nothing happens before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Retry {
    /// Something will happen, and be told.
    OnChange,
    /// From time to time.
    Later,
    /// Soon, and then less and less often.
    Soon,
}

// === impl Outcome ===

impl Outcome {
    pub(super) fn new(phase: Phase, reason: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        let (object, observed) = (None, None);
        Self { phase, reason, message, object, observed, behind: None, deed: Deed::Nothing, retry: Retry::OnChange }
    }

    pub(super) fn blocked(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(Phase::Blocked, reason, message)
    }

    /// It waits for other resources. However long the chain is, only its next link and its end are told: what is between
    /// says so itself.
    pub(super) fn waiting(waits: Vec<Wait>) -> Self {
        let behind = waits.first().map(|wait| wait.end.clone());
        let more = waits.len().saturating_sub(MAX_TOLD);
        let mut told: Vec<String> = waits.into_iter().take(MAX_TOLD).map(|wait| wait.told).collect();
        if more > 0 {
            told.push(format!("and {more} more"));
        }
        Self { behind, ..Self::blocked(DEPENDENCY_NOT_READY, format!("waits for {}", told.join(", "))) }
    }

    /// Why whoever depends on this resource, which is not ready, waits.
    pub(super) fn wait(&self, name: &str) -> Wait {
        match &self.behind {
            Some(end) => Wait { told: format!("\"{name}\", which waits for {end}"), end: end.clone() },
            None => {
                let why = if self.message.is_empty() { "" } else { ": " };
                let end = format!("\"{name}\" ({}{why}{})", self.phase, beginning(&self.message));
                Wait { told: end.clone(), end }
            }
        }
    }

    pub(super) fn error(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(Phase::Error, reason, message)
    }

    pub(super) fn with(self, object: Option<BundleObject>, observed: Option<Observed>) -> Self {
        Self { object, observed: observed.map(Box::new), ..self }
    }

    pub(super) fn retried(self, retry: Retry) -> Self {
        Self { retry, ..self }
    }

    /// What was not done.
    pub(super) fn of_trouble(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Forbidden(message) | Trouble::Refused(message) => {
                Self::error("Forbidden", message).retried(Retry::Soon)
            }
            Trouble::Invalid { message, .. } => Self::error("Invalid", message).retried(Retry::Later),
            Trouble::Conflict(who) => Self::error("Conflict", who.join("; ")).retried(Retry::Soon),
            Trouble::NotFound(message) => Self::blocked("NotFound", message).retried(Retry::Later),
            Trouble::NotServed(message) => Self::blocked(NOT_SERVED, message).retried(Retry::Later),
            Trouble::Again(message) => Self::new(Phase::InProgress, "HostUnavailable", message).retried(Retry::Soon),
        }
    }

    /// What cannot be put in the place of a reference.
    pub(super) fn of_render(error: &RenderError) -> Self {
        match error {
            RenderError::Missing { at, reference } => {
                Self::blocked("FieldMissing", format!("waits for {reference}, which is wanted in {at} and not there"))
            }
            RenderError::NotText { .. } => Self::error("InvalidReferenceType", error.to_string()),
            RenderError::TooLarge { .. } | RenderError::TooMuch { .. } => {
                Self::error("ValueTooLarge", error.to_string())
            }
        }
    }
}

/// The beginning of a text, where all of it stands elsewhere.
pub(super) fn beginning(text: &str) -> String {
    shortened(text, MAX_REPEATED)
}

#[cfg(test)]
mod tests;
