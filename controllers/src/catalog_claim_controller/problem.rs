//! Why something could not be done with one resource, in words for whoever claimed it.

use bailiwick_api::{ClaimError, NotActing, ServiceAccountRef};

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) reason: String,
    pub(super) message: String,
}

// === impl Problem ===

impl Problem {
    pub(super) fn new(reason: &str, message: impl Into<String>) -> Self {
        Self { reason: reason.to_owned(), message: message.into() }
    }

    /// What the host said to this account.
    pub(super) fn of(error: &kube::Error, account: &ServiceAccountRef) -> Self {
        let kube::Error::Api(status) = error else {
            return Self::new("Unavailable", error.to_string());
        };
        if let Some(refused) = NotActing::of(&status.message, account) {
            return Self::new("NotActing", refused.to_string());
        }
        let reason = if status.reason.is_empty() { "Unavailable" } else { status.reason.as_str() };
        Self::new(reason, status.message.clone())
    }

    /// The same, of a resource.
    pub(super) fn about(self, api_version: &str, kind: &str, name: &str) -> ClaimError {
        ClaimError {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            reason: self.reason,
            message: self.message,
        }
    }
}
