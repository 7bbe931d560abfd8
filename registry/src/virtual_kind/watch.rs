//! Following objects that are made of what is stored: those are made anew of which something has changed, and what differs
//! is told, at most once a second.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bailiwick_machinery::Object;
use bailiwick_machinery::watch::EventType;
use bailiwick_storage::cache::{Snapshot, States};
use bailiwick_storage::{self as storage, At, Revision};
use tokio::time::{Instant, sleep_until};

use super::follower::Place;
use super::maker_of;
use super::seats::Changes;
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
    states: States,
    place: Place,
    initial: VecDeque<WatchEvent>,
    /// What the client knows, by name.
    known: Known,
    /// Everything up to here has been told.
    position: Revision,
    /// What is to be made anew: taken, and not told yet.
    changes: Changes,
    not_before: Instant,
    progress_requested: bool,
}

type Known = BTreeMap<String, Encoded>;

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
        let follower = self.follower(kind).await?;
        let state = self.made_state(kind, at).await?;
        let position = state.revision();
        let objects = maker_of(kind)?.objects(&state, namespace)?;
        let place = follower.join(namespace, objects.iter().map(name), position);
        let mut watch = MadeWatch {
            kind: kind.clone(),
            namespace: namespace.to_owned(),
            selection,
            states: self.cache().states(),
            place,
            initial: VecDeque::new(),
            known: Known::new(),
            position,
            changes: Changes::default(),
            not_before: Instant::now(),
            progress_requested: false,
        };
        for object in &objects {
            if let Some(encoded) = watch.selected(object)? {
                watch.known.insert(name(object).to_owned(), encoded);
            }
        }
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
        self.position.get()
    }

    /// Some of the objects there were when the watch began, as added; none when all have been told.
    pub fn initial(&mut self, most: usize) -> Vec<WatchEvent> {
        let count = self.initial.len().min(most);
        self.initial.drain(..count).collect()
    }

    /// What happens next. May be dropped and called again without losing anything. After an error the watch is over.
    pub async fn next(&mut self) -> Result<WatchBatch> {
        if self.changes.is_empty() && !self.wait().await? {
            return Ok(WatchBatch { events: Vec::new(), through: self.position() });
        }
        sleep_until(self.not_before).await;
        let (changes, through) = self.place.take();
        // Kept until it is told: the next line may be the last.
        self.changes.merge(changes);
        let state = self.states.snapshot(At::NotOlderThan(through)).await.map_err(|error| self.failed(error))?;
        let events = self.look(&state)?;
        self.changes = Changes::default();
        (self.position, self.not_before) = (self.position.max(through), Instant::now() + COALESCE);
        Ok(WatchBatch { events, through: self.position() })
    }

    /// Asks for a batch soon, also if nothing happens.
    pub fn request_progress(&mut self) {
        self.progress_requested = true;
    }

    /// Waits until something has changed. False if it is only known how far the watch has come.
    async fn wait(&mut self) -> Result<bool> {
        loop {
            let until = match self.progress_requested {
                true => Some(self.states.snapshot(At::Latest).await.map_err(|error| self.failed(error))?.revision()),
                false => None,
            };
            self.place.changed(until).await.map_err(|error| self.failed(error))?;
            match (self.place.is_through(), until) {
                (None, _) => return Ok(true),
                (Some(through), Some(_)) => {
                    (self.position, self.progress_requested) = (self.position.max(through), false);
                    return Ok(false);
                }
                (Some(_), None) => {}
            }
        }
    }

    /// What has become of what is to be looked at, in a state.
    fn look(&mut self, state: &Snapshot) -> Result<Vec<WatchEvent>> {
        let maker = maker_of(&self.kind)?;
        let mut found = BTreeMap::new();
        if self.changes.all {
            let objects = maker.objects(state, &self.namespace)?;
            self.place.found(objects.iter().map(name), state.revision());
            found.extend(self.known.keys().map(|name| (name.clone(), None)));
            found.extend(objects.into_iter().map(|object| (name(&object).to_owned(), Some(object))));
        } else {
            for name in &self.changes.names {
                found.insert(name.clone(), maker.object(state, &self.namespace, name)?);
            }
            self.place.missed(found.iter().filter(|(_, object)| object.is_none()).map(|(name, _)| name.as_str()));
        }
        let mut events = Vec::new();
        for (name, object) in found {
            let now = object.as_ref().map(|object| self.selected(object)).transpose()?.flatten();
            events.extend(self.tell(name, now, state.revision()));
        }
        // What is gone comes first.
        events.sort_by_key(|event| event.event_type != EventType::Deleted);
        Ok(events)
    }

    /// What the client is told of an object, if it is not what the client knows.
    fn tell(&mut self, name: String, now: Option<Encoded>, revision: Revision) -> Option<WatchEvent> {
        let before = self.known.remove(&name);
        let Some(object) = now else {
            let gone = before?.at(revision.get());
            return Some(WatchEvent { event_type: EventType::Deleted, object: gone });
        };
        self.known.insert(name, object.clone());
        match before {
            None => Some(WatchEvent { event_type: EventType::Added, object }),
            Some(before) if before != object => Some(WatchEvent { event_type: EventType::Modified, object }),
            Some(_) => None,
        }
    }

    /// An object as it is told, if the client wants it.
    fn selected(&self, object: &Object) -> Result<Option<Encoded>> {
        if !self.selection.matches_made(&self.kind, object) {
            return Ok(None);
        }
        let metadata = object.metadata();
        let revision = metadata.resource_version().parse().ok();
        to_served(&self.kind, metadata.name(), &to_stored(&self.kind, object)?, revision).map(Some)
    }

    fn failed(&self, error: storage::Error) -> Error {
        failed("watch", &self.kind, error)
    }
}

fn name(object: &Object) -> &str {
    object.metadata().name()
}
