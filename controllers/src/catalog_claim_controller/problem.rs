//! Why something could not be done with one resource, in words for whoever claimed it.

use bailiwick_api::{ClaimError, Grant, Grantee, NotActing, ServiceAccountRef};
use kube::core::ApiResource;

use crate::absence::is_path_absent;
use crate::shortened::shortened;

/// What a host says in between of whom, and what they lack the right to do.
const RIGHT_MISSING: &str = "\" cannot ";
/// How long a message is at most, but for what is to be done. Hosts repeat what they refuse, which can be of any length.
const MAX_MESSAGE: usize = 1_024;
/// The reason of what is of a kind that the host does not serve.
const KIND_UNKNOWN: &str = "KindUnknown";
/// How long a reason is at most.
const MAX_REASON: usize = 128;

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) reason: String,
    pub(super) message: String,
    /// Whether it is known to be about something that the claim made.
    pub(super) is_of_own: bool,
}

// === impl Problem ===

impl Problem {
    pub(super) fn new(reason: &str, message: impl Into<String>) -> Self {
        Self { reason: reason.to_owned(), message: shortened(&message.into(), MAX_MESSAGE), is_of_own: false }
    }

    /// That a kind cannot be reached.
    pub(super) fn not_served(kind: &str, api_version: &str) -> Self {
        Self::new(KIND_UNKNOWN, format!("there is no kind {kind} of {api_version}"))
    }

    /// Whether what is to be done is not served where it was thought to be.
    pub(super) fn is_kind_unknown(&self) -> bool {
        self.reason == KIND_UNKNOWN
    }

    /// What the host said to this account.
    pub(super) fn of(error: &kube::Error, account: &ServiceAccountRef) -> Self {
        let kube::Error::Api(status) = error else {
            return Self::new("Unavailable", error.to_string());
        };
        if let Some(refused) = NotActing::of(&status.message, account) {
            return Self::new("NotActing", refused.to_string());
        }
        if is_path_absent(status) {
            return Self::new(KIND_UNKNOWN, format!("its kind is not served: {}", status.message));
        }
        let reason = match status.reason.as_str() {
            "" => "Unavailable",
            reason if is_reason(reason) => reason,
            // Whoever was asked on the way, such as a webhook, says what they like.
            _ => "Refused",
        };
        Self::new(reason, status.message.as_str())
    }

    /// The same of something that was to be done with this kind: if all that is missing is a right, how it is given.
    pub(super) fn with_remedy(mut self, account: &ServiceAccountRef, kind: &ApiResource) -> Self {
        // Quotas and policies forbid things too, and other rights do not help against them.
        if self.reason != "Forbidden" || !self.message.contains(RIGHT_MISSING) {
            return self;
        }
        let resource = match kind.group.as_str() {
            "" => kind.plural.clone(),
            group => format!("{}.{group}", kind.plural),
        };
        let grant = Grant {
            role: &format!("{}-makes-{}", account.name(), kind.plural),
            namespace: account.namespace(),
            verbs: "get,list,watch,create,patch,delete",
            resource: &resource,
            resource_name: None,
            to: Grantee::Account(account),
        };
        self.message = format!("{}; whoever administers the namespace allows it with: {grant}", self.message);
        self
    }

    /// The same, of something that the claim made.
    pub(super) fn of_own(self) -> Self {
        Self { is_of_own: true, ..self }
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

/// Whether a condition can have this reason.
fn is_reason(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let (first, last) = (text.bytes().next(), text.bytes().next_back());
    text.len() <= MAX_REASON
        && first.is_some_and(|byte| byte.is_ascii_alphabetic())
        && last.is_some_and(is_word)
        && text.bytes().all(|byte| is_word(byte) || matches!(byte, b',' | b':'))
}

#[cfg(test)]
mod tests;
