//! Events about objects: `kubectl describe` shows them. What matters stands in a status; an event that cannot be made is none.
//!
//! An event is usually called like the object that it is about. Some of our objects have names that no event can have, such as
//! `Acme:developers`: events about these are called by a hash of it.

use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event as StoredEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Api, Client};

use crate::shortened::shortened;

/// How long the text of an event may be.
const MAX_NOTE: usize = 1_024;

/// Who makes events.
#[derive(Clone)]
pub(crate) struct Announcer {
    recorder: Recorder,
    client: Client,
    controller: String,
}

// === impl Announcer ===

impl Announcer {
    /// A controller of this name.
    pub(crate) fn new(host: Client, controller: &str) -> Self {
        let reporter = Reporter { controller: controller.to_owned(), instance: None };
        Self { recorder: Recorder::new(host.clone(), reporter), client: host, controller: controller.to_owned() }
    }

    /// Tells that something went wrong while doing this.
    pub(crate) async fn warn(&self, about: &ObjectReference, action: &str, reason: &str, note: &str) {
        self.publish(about, event(EventType::Warning, action, reason, note)).await;
    }

    /// Tells what has been done.
    pub(crate) async fn tell(&self, about: &ObjectReference, action: &str, reason: &str, note: &str) {
        self.publish(about, event(EventType::Normal, action, reason, note)).await;
    }

    /// Tells something. Events that differ in nothing but their notes are taken for one that has happened again: what is not the
    /// same names another object beside.
    pub(crate) async fn publish(&self, about: &ObjectReference, event: Event) {
        let event = Event { note: event.note.as_deref().map(|note| shortened(note, MAX_NOTE)), ..event };
        let published = match about.name.as_deref() {
            Some(name) if !can_name_events(name) => self.publish_hashed(event, about, name).await,
            _ => self.recorder.publish(&event, about).await,
        };
        if let Err(error) = published {
            tracing::debug!(%error, "an event could not be made");
        }
    }

    async fn publish_hashed(&self, event: Event, about: &ObjectReference, name: &str) -> kube::Result<()> {
        let now = Timestamp::now();
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let type_ = match event.type_ {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        };
        let stored = StoredEvent {
            metadata: ObjectMeta {
                name: Some(format!("{:x}.{:x}", hasher.finish(), now.as_nanosecond())),
                ..ObjectMeta::default()
            },
            action: Some(event.action),
            event_time: Some(MicroTime(now)),
            note: event.note,
            reason: Some(event.reason),
            regarding: Some(about.clone()),
            related: event.secondary,
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.controller.clone()),
            type_: Some(type_.to_owned()),
            ..StoredEvent::default()
        };
        // What has no namespace is told of in the one that is always there.
        let namespace = about.namespace.as_deref().unwrap_or("default");
        let events: Api<StoredEvent> = Api::namespaced(self.client.clone(), namespace);
        events.create(&PostParams::default(), &stored).await.map(|_| ())
    }
}

fn event(type_: EventType, action: &str, reason: &str, note: &str) -> Event {
    Event { type_, reason: reason.to_owned(), note: Some(note.to_owned()), action: action.to_owned(), secondary: None }
}

/// Whether an event can be called like this.
fn can_name_events(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
}
