//! Events about objects: `kubectl describe` shows them. What matters stands in a status; an event that cannot be made is none.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};

/// How long the text of an event may be.
const MAX_NOTE: usize = 1_024;

/// Who makes events.
#[derive(Clone)]
pub(crate) struct Announcer(Recorder);

// === impl Announcer ===

impl Announcer {
    /// A controller of this name.
    pub(crate) fn new(host: Client, controller: &str) -> Self {
        Self(Recorder::new(host, Reporter { controller: controller.to_owned(), instance: None }))
    }

    /// Tells that something went wrong while doing this.
    pub(crate) async fn warn(&self, about: &ObjectReference, action: &str, reason: &str, note: &str) {
        self.publish(EventType::Warning, about, action, reason, note).await;
    }

    async fn publish(&self, type_: EventType, about: &ObjectReference, action: &str, reason: &str, note: &str) {
        let (reason, action, note) = (reason.to_owned(), action.to_owned(), Some(shortened(note)));
        let event = Event { type_, reason, note, action, secondary: None };
        if let Err(error) = self.0.publish(&event, about).await {
            tracing::debug!(%error, "an event could not be made");
        }
    }
}

fn shortened(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_NOTE)).unwrap_or_default().to_owned()
}
