//! Events about Bundles: what was done, what went wrong, and that all is ready. `kubectl describe` shows them as a story.

use bailiwick_api::{
    Bundle, BundleObject, BundleResourceStatus, BundleStatus, Condition, ConditionStatus, InventoryItem, Phase,
};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kube::runtime::events::{Event, EventType};

use super::Shared;
use super::outcome::{Deed, Outcome};
use super::told::READY;
use crate::conditions;

/// How a server says that something will never be written as it is: it is malformed, too large or invalid.
const NOT_WRITTEN: [u16; 3] = [400, 413, 422];

/// What is told, in the order in which it happened.
struct Story<'b> {
    bundle: &'b Bundle,
    events: Vec<Event>,
}

// === impl Shared ===

impl Shared {
    /// Tells of what is different from what the Bundle has said so far. Nobody waits for it.
    pub(super) fn tell(
        &self,
        bundle: &Bundle,
        status: &BundleStatus,
        outcomes: &[Option<Outcome>],
        pruned: &[InventoryItem],
    ) {
        let before = bundle.status.clone().unwrap_or_default();
        let mut story = Story { bundle, events: Vec::new() };
        for (deed, reason, what) in [(Deed::Created, "Created", "created"), (Deed::Updated, "Updated", "updated")] {
            let done = outcomes.iter().flatten().filter(|outcome| outcome.deed == deed);
            story.did("Apply", reason, what, done.filter_map(|outcome| outcome.object.as_ref()));
        }
        // What was never made was not deleted either.
        let deleted = pruned.iter().map(|item| &item.object).filter(|object| !object.uid.is_empty());
        story.did("Prune", "Pruned", "deleted", deleted);
        let is_new = |resource: &&BundleResourceStatus| {
            let old = before.resources.iter().find(|old| old.name == resource.name);
            old.is_none_or(|old| (old.phase, &old.reason) != (resource.phase, &resource.reason))
        };
        for resource in status.resources.iter().filter(|resource| resource.phase == Phase::Error).filter(is_new) {
            let note = format!("{}: {}", resource.name, resource.message);
            story.tell(EventType::Warning, "Apply", &resource.reason, note, resource.object.as_ref());
        }
        let ready = |status: &BundleStatus| conditions::find(&status.conditions, READY).cloned();
        if let Some(condition) = ready(status).filter(|now| differs(ready(&before).as_ref(), now)) {
            match condition.status {
                ConditionStatus::True => {
                    story.tell(EventType::Normal, "Reconcile", READY, condition.message, None);
                }
                ConditionStatus::False | ConditionStatus::Unknown if status.resources.is_empty() => {
                    story.tell(EventType::Warning, "Reconcile", &condition.reason, condition.message, None);
                }
                ConditionStatus::False | ConditionStatus::Unknown => {}
            }
        }
        let Story { events, .. } = story;
        if events.is_empty() {
            return;
        }
        let (announcer, about) = (self.announcer.clone(), bundle.object_ref(&()));
        tokio::spawn(async move {
            for event in events {
                announcer.publish(&about, event).await;
            }
        });
    }
}

impl Shared {
    /// Tells that a Bundle's status is refused, which the status cannot say. What may go well another time is not told of.
    pub(super) fn tell_not_written(&self, bundle: &Bundle, error: &kube::Error) {
        let kube::Error::Api(status) = error else { return };
        if !NOT_WRITTEN.contains(&status.code) {
            return;
        }
        let (announcer, about) = (self.announcer.clone(), bundle.object_ref(&()));
        let note = format!("nothing is done for it, as its status cannot be written: {}", status.message);
        tokio::spawn(async move { announcer.warn(&about, "Reconcile", "StatusNotWritten", &note).await });
    }
}

// === impl Story ===

impl Story<'_> {
    /// Something was done to objects, if there are any.
    fn did<'o>(&mut self, action: &str, reason: &str, what: &str, objects: impl Iterator<Item = &'o BundleObject>) {
        let objects: Vec<&BundleObject> = objects.collect();
        if let [first, ..] = objects.as_slice() {
            let names: Vec<String> = objects.iter().map(ToString::to_string).collect();
            self.tell(EventType::Normal, action, reason, format!("{what} {}", names.join(", ")), Some(first));
        }
    }

    fn tell(&mut self, type_: EventType, action: &str, reason: &str, note: String, object: Option<&BundleObject>) {
        let secondary = object.map(|object| ObjectReference {
            api_version: Some(object.api_version.clone()),
            kind: Some(object.kind.clone()),
            name: Some(object.name.clone()),
            namespace: self.bundle.metadata.namespace.clone(),
            uid: Some(object.uid.clone()).filter(|uid| !uid.is_empty()),
            ..ObjectReference::default()
        });
        let (action, reason) = (action.to_owned(), reason.to_owned());
        self.events.push(Event { type_, reason, note: Some(note), action, secondary });
    }
}

fn differs(before: Option<&Condition>, now: &Condition) -> bool {
    before.is_none_or(|before| (before.status, &before.reason) != (now.status, &now.reason))
}
