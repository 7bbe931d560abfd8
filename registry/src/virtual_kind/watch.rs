//! Following objects that are made of what is stored: they are made anew when something of that has changed, and what differs
//! is told, at most once a second.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bailiwick_machinery::Object;
use bailiwick_machinery::watch::EventType;
use bailiwick_storage::cache::{Snapshot, Watcher};
use bailiwick_storage::{At, Revision};
use futures::FutureExt;
use tokio::time::{Instant, sleep_until};

use crate::encoded::Encoded;
use crate::error::{Error, Result};
use crate::read::failed;
use crate::registry::Registry;
use crate::selection::Selection;
use crate::served_kind::ServedKind;
use crate::watch::{WatchBatch, WatchEvent, WatchFrom};
use crate::write::{to_served, to_stored};

/// How often something is told at most.
const COALESCE: Duration = Duration::from_secs(1);

/// A running watch of objects that are made.
pub struct MadeWatch {
    kind: ServedKind,
    namespace: String,
    selection: Selection,
    watcher: Watcher,
    initial: VecDeque<WatchEvent>,
    /// What the client knows, by namespace and name.
    known: Known,
    /// Whether something has happened since that was made.
    changed: bool,
    not_before: Instant,
}

type Known = BTreeMap<(String, String), Encoded>;

// === impl Registry ===

impl Registry {
    /// Begins to follow the objects of a namespace that are made of what is stored.
    pub async fn watch_made(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selection: Selection,
        from: WatchFrom,
    ) -> Result<MadeWatch> {
        let at = match from {
            WatchFrom::State(at) | WatchFrom::Now(at) => at,
            WatchFrom::After(revision) => At::Exact(Revision::new(revision)),
        };
        let state = self.made_state(kind, at).await?;
        let after = state.revision();
        let watcher = self.cache().watch_objects(&made_of(kind)?, after);
        let watcher = watcher.map_err(|error| failed("watch", kind, error))?;
        let (namespace, not_before) = (namespace.to_owned(), Instant::now());
        let (initial, known) = (VecDeque::new(), Known::new());
        let mut watch =
            MadeWatch { kind: kind.clone(), namespace, selection, watcher, initial, known, changed: false, not_before };
        watch.known = watch.make(&state)?;
        if let WatchFrom::State(_) = from {
            let added = |object: &Encoded| WatchEvent { event_type: EventType::Added, object: object.clone() };
            watch.initial = watch.known.values().map(added).collect();
        }
        Ok(watch)
    }
}

// === impl MadeWatch ===

impl MadeWatch {
    /// How far the watch has come.
    pub fn position(&self) -> u64 {
        self.watcher.position().get()
    }

    /// Some of the objects there were when the watch began, as added; none when all have been told.
    pub fn initial(&mut self, most: usize) -> Vec<WatchEvent> {
        let count = self.initial.len().min(most);
        self.initial.drain(..count).collect()
    }

    /// What happens next. May be dropped and called again without losing anything. After an error the watch is over.
    pub async fn next(&mut self) -> Result<WatchBatch> {
        while !self.changed {
            let delivery = self.watcher.next().await.map_err(|error| failed("watch", &self.kind, error))?;
            self.changed = !delivery.events.is_empty();
            if !self.changed {
                return Ok(WatchBatch { events: Vec::new(), through: delivery.through.get() });
            }
        }
        sleep_until(self.not_before).await;
        while let Some(delivery) = self.watcher.next().now_or_never() {
            delivery.map_err(|error| failed("watch", &self.kind, error))?;
        }
        let state = self.watcher.state().await.map_err(|error| failed("watch", &self.kind, error))?;
        let now = self.make(&state)?;
        let events = differences(&self.known, &now, state.revision().get());
        (self.known, self.changed, self.not_before) = (now, false, Instant::now() + COALESCE);
        Ok(WatchBatch { events, through: self.position() })
    }

    /// Asks for a batch soon, also if nothing happens.
    pub fn request_progress(&mut self) {
        self.watcher.request_progress();
    }

    fn make(&self, state: &Snapshot) -> Result<Known> {
        let Some(maker) = self.kind.kind().maker().and_then(|maker| maker.follows_stored()) else {
            return Err(not_followed(&self.kind));
        };
        let objects = maker.objects(state, &self.namespace)?;
        let selected = objects.into_iter().filter(|object| self.selection.matches_made(&self.kind, object));
        let entry = |object: Object| {
            let metadata = object.metadata();
            let place = (metadata.namespace().to_owned(), metadata.name().to_owned());
            let revision = metadata.resource_version().parse().ok();
            let encoded = to_served(&self.kind, &place.1, &to_stored(&self.kind, &object)?, revision)?;
            Ok((place, encoded))
        };
        selected.map(entry).collect()
    }
}

/// What has become of objects.
fn differences(before: &Known, now: &Known, revision: u64) -> Vec<WatchEvent> {
    let gone = before.iter().filter(|(place, _)| !now.contains_key(*place));
    let gone = gone.map(|(_, object)| WatchEvent { event_type: EventType::Deleted, object: object.at(revision) });
    let changed = now.iter().filter_map(|(place, object)| {
        let event_type = match before.get(place) {
            None => EventType::Added,
            Some(known) if known != object => EventType::Modified,
            Some(_) => return None,
        };
        Some(WatchEvent { event_type, object: object.clone() })
    });
    gone.chain(changed).collect()
}

fn made_of(kind: &ServedKind) -> Result<bailiwick_storage::Prefix> {
    match kind.kind().maker().and_then(|maker| maker.follows_stored()) {
        Some(maker) => maker.made_of(),
        None => Err(not_followed(kind)),
    }
}

fn not_followed(kind: &ServedKind) -> Error {
    Error::NotSupported { resource: kind.resource(), action: "watch" }
}
