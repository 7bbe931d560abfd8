//! What became of a resource when it was looked at.

use bailiwick_api::bundle::{PlannedResource, RenderError};
use bailiwick_api::{BundleObject, Phase};

use super::hands::Trouble;
use super::observed::Observed;

/// What became of a resource.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) phase: Phase,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) object: Option<BundleObject>,
    pub(super) observed: Option<Box<Observed>>,
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
        Self { phase, reason, message, object, observed, deed: Deed::Nothing, retry: Retry::OnChange }
    }

    pub(super) fn blocked(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(Phase::Blocked, reason, message)
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

    /// What was not done. What may have a value of a Secret in it is not quoted.
    pub(super) fn of_trouble(trouble: Trouble, resource: &PlannedResource) -> Self {
        match trouble {
            Trouble::Forbidden(message) => Self::error("Forbidden", message).retried(Retry::Soon),
            Trouble::Invalid { message, fields } if !has_secrets(resource) => {
                let _ = fields;
                Self::error("Invalid", message).retried(Retry::Later)
            }
            Trouble::Invalid { fields, .. } => {
                let fields = if fields.is_empty() { "it".to_owned() } else { fields.join(", ") };
                Self::error("Invalid", format!("{fields} is refused; values are not shown, as some come from Secrets"))
                    .retried(Retry::Later)
            }
            Trouble::Conflict(who) => Self::error("Conflict", who.join("; ")).retried(Retry::Soon),
            Trouble::NotFound(message) => Self::blocked("NotFound", message).retried(Retry::Later),
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
            RenderError::TooLarge { .. } => Self::error("ValueTooLarge", error.to_string()),
        }
    }
}

/// Whether a value of a Secret may be in an object.
fn has_secrets(resource: &PlannedResource) -> bool {
    resource.allow_secret_values || resource.kind == "Secret"
}
