//! Events about OrgRoleBindings that come to nothing any more: `kubectl describe` shows them.

use bailiwick_api::{ConditionStatus, OrgRoleBinding};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};

use super::FIELD_MANAGER;
use super::status::effective;
use super::verdict::Verdict;

/// How long the text of an event may be.
const MAX_NOTE: usize = 1_024;

/// Who makes events.
pub(super) struct Announcer(Recorder);

// === impl Announcer ===

impl Announcer {
    pub(super) fn new(host: Client) -> Self {
        let reporter = Reporter { controller: FIELD_MANAGER.to_owned(), instance: None };
        Self(Recorder::new(host, reporter))
    }

    /// Tells of a binding that has become ineffective, or is so for another reason than it has said so far.
    pub(super) async fn tell(&self, binding: &OrgRoleBinding, verdict: &Verdict) {
        let told = effective(binding.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default());
        let is_known = told.is_some_and(|told| told.status == verdict.status && told.reason == verdict.reason);
        if verdict.status != ConditionStatus::False || is_known {
            return;
        }
        let event = Event {
            type_: EventType::Warning,
            reason: verdict.reason.to_owned(),
            note: Some(shortened(&verdict.message)),
            action: "Bind".to_owned(),
            secondary: None,
        };
        // What matters stands in the status.
        if let Err(error) = self.0.publish(&event, &binding.object_ref(&())).await {
            tracing::debug!(%error, "an event about an OrgRoleBinding could not be made");
        }
    }
}

fn shortened(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_NOTE)).unwrap_or_default().to_owned()
}
