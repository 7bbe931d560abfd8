//! What happened, and what a watcher must have seen of it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::claims::{TIER, VALUE};
use crate::client::{Client, revision};

/// What a watch tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Added,
    Modified,
    Deleted,
}

/// An object as one write left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) tier: String,
    pub(crate) catalog: String,
    pub(crate) value: String,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) told: Told,
    pub(crate) revision: u64,
    pub(crate) state: State,
}

/// Which objects a watcher is for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) tier: Option<String>,
    pub(crate) catalog: Option<String>,
}

/// Everything that happened, in order.
pub(crate) struct History {
    pub(crate) events: Vec<Event>,
}

// === impl State ===

impl State {
    pub(crate) fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            tier: text(&metadata["labels"][TIER]),
            catalog: text(&object["spec"]["catalogName"]),
            value: text(&metadata["annotations"][VALUE]),
        }
    }

    /// In the order of lists.
    pub(crate) fn key(&self) -> (String, String) {
        (self.namespace.clone(), self.name.clone())
    }
}

// === impl Event ===

impl Event {
    /// None of a bookmark.
    pub(crate) fn of(event: &Value) -> Option<Self> {
        let told = match event["type"].as_str() {
            Some("ADDED") => Told::Added,
            Some("MODIFIED") => Told::Modified,
            Some("DELETED") => Told::Deleted,
            Some("BOOKMARK") => return None,
            _ => panic!("unexpected event: {event}"),
        };
        Some(Self { told, revision: revision(&event["object"]), state: State::of(&event["object"]) })
    }
}

// === impl Wanted ===

impl Wanted {
    pub(crate) fn takes(&self, state: &State) -> bool {
        let fits = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        fits(&self.namespace, &state.namespace)
            && fits(&self.name, &state.name)
            && fits(&self.tier, &state.tier)
            && fits(&self.catalog, &state.catalog)
    }
}

// === impl History ===

impl History {
    /// Asks for everything between two versions.
    pub(crate) async fn read(client: &Client, path: &str, after: u64, through: u64) -> Self {
        let query = format!("{path}?watch=true&resourceVersion={after}&allowWatchBookmarks=true&timeoutSeconds=3");
        let mut watch = client.watch(&query).await.unwrap();
        let mut events = Vec::new();
        loop {
            let told = watch.soon().await;
            match Event::of(&told) {
                Some(event) => events.push(event),
                // Asked for near the end of a watch, when everything before it has been told.
                None if revision(&told["object"]) >= through => break,
                None => {}
            }
        }
        assert!(events.is_sorted_by(|a, b| a.revision < b.revision), "versions do not grow");
        Self { events }
    }

    /// The objects as of a version, in the order of lists.
    pub(crate) fn state_at(&self, at: u64) -> BTreeMap<(String, String), (u64, State)> {
        let mut objects = BTreeMap::new();
        for event in self.events.iter().take_while(|event| event.revision <= at) {
            match event.told {
                Told::Deleted => objects.remove(&event.state.key()),
                _ => objects.insert(event.state.key(), (event.revision, event.state.clone())),
            };
        }
        objects
    }

    /// What a watcher sees that begins with the objects as of a version.
    pub(crate) fn seen_from_state(&self, wanted: &Wanted, at: u64) -> Vec<Event> {
        let initial = self.state_at(at).into_values().filter(|(_, state)| wanted.takes(state));
        let added = |(revision, state)| Event { told: Told::Added, revision, state };
        initial.map(added).chain(self.seen_after(wanted, at)).collect()
    }

    /// What a watcher sees that begins after a version.
    pub(crate) fn seen_after(&self, wanted: &Wanted, after: u64) -> Vec<Event> {
        let mut objects: BTreeMap<(String, String), State> = BTreeMap::new();
        let mut seen = Vec::new();
        for event in &self.events {
            let key = event.state.key();
            let before = objects.remove(&key).filter(|state| wanted.takes(state));
            if event.told != Told::Deleted {
                objects.insert(key, event.state.clone());
            }
            let now = (event.told != Told::Deleted && wanted.takes(&event.state)).then(|| event.state.clone());
            let (told, state) = match (before, now) {
                (None, None) => continue,
                (None, Some(now)) => (Told::Added, now),
                (Some(_), Some(now)) => (Told::Modified, now),
                // What leaves is shown as it was when it belonged here.
                (Some(before), None) => (Told::Deleted, before),
            };
            if event.revision > after {
                seen.push(Event { told, revision: event.revision, state });
            }
        }
        seen
    }
}
