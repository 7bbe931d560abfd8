//! Keeps something that is made of objects up to date with what is stored.
//!
//! ```text
//! stored objects ──changes──▶ Picture          writers of the kind wait until it has what they wrote
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_machinery::Object;
use bailiwick_machinery::watch::EventType;
use bailiwick_storage::At;
use tokio::sync::watch;

use crate::error::Result;
use crate::registry::Registry;
use crate::selection::Selection;
use crate::served_kind::ServedKind;
use crate::watch::{ObjectWatch, WatchEvent, WatchFrom};

/// How long to wait before a kind is followed again whose watch has failed.
const PAUSE: Duration = Duration::from_millis(200);

/// What is made of the objects of a kind.
pub(crate) trait Picture: Send + 'static {
    /// Takes over changes, in their order. An object that is not what its kind says counts as one that is gone: it gives nobody
    /// anything, and keeps no other from being taken over.
    fn apply(&mut self, changes: Vec<Change>);

    /// Learns how far it has come, when it has taken over everything up to there.
    fn reached(&mut self, _through: u64) {}

    /// Learns that it is not kept up to date any more, until it has reached something again.
    fn lost(&mut self) {}
}

/// A change of one object.
pub(crate) enum Change {
    /// It is now like this.
    Set(Object),
    /// It is gone.
    Removed(Place),
}

/// Where an object is, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

struct Follower<P> {
    registry: Arc<Registry>,
    kind: ServedKind,
    picture: P,
    /// What the picture has, so that what went unnoticed can be told.
    known: BTreeSet<Place>,
    /// follower --how far it has come--> writers
    through_tx: watch::Sender<u64>,
}

/// Follows a kind from now on. All objects there are have been taken over when it returns; writers of new ones wait until
/// they are.
pub(crate) async fn follow(registry: &Arc<Registry>, kind: &ServedKind, picture: impl Picture) -> Result<()> {
    let (through_tx, through_rx) = watch::channel(0);
    let (registry, kind) = (registry.clone(), kind.clone());
    let mut follower = Follower { registry, kind, picture, known: BTreeSet::new(), through_tx };
    let watch = follower.begin().await?;
    follower.registry.writers_wait_for(follower.kind.group_kind(), through_rx);
    let registry = follower.registry.clone();
    registry.spawn(follower.run(watch));
    Ok(())
}

// === impl Place ===

impl Place {
    pub(crate) fn of(object: &Object) -> Self {
        let metadata = object.metadata();
        Self { namespace: metadata.namespace().to_owned(), name: metadata.name().to_owned() }
    }
}

// === impl Follower ===

impl<P: Picture> Follower<P> {
    async fn run(mut self, mut watch: ObjectWatch) {
        loop {
            if let Err(error) = self.go_on(&mut watch).await {
                let kind = self.kind.group_kind();
                tracing::warn!(error = &error as &dyn std::error::Error, %kind, "what is stored is read anew");
            }
            self.picture.lost();
            watch = self.begin_again().await;
        }
    }

    async fn begin_again(&mut self) -> ObjectWatch {
        loop {
            tokio::time::sleep(PAUSE).await;
            match self.begin().await {
                Ok(watch) => return watch,
                Err(error) => {
                    let kind = self.kind.group_kind();
                    tracing::warn!(error = &error as &dyn std::error::Error, %kind, "what is stored cannot be read");
                }
            }
        }
    }

    /// Takes over all there is, and forgets what is no more, or cannot be read any more.
    async fn begin(&mut self) -> Result<ObjectWatch> {
        let selection = Selection::everything(&self.kind);
        let mut watch = self.registry.watch(&self.kind, None, selection, WatchFrom::State(At::Latest)).await?;
        let objects = watch.initial_readable();
        let found = objects.iter().map(Place::of).collect();
        let mut changes: Vec<Change> = objects.into_iter().map(Change::Set).collect();
        changes.extend(self.known.difference(&found).cloned().map(Change::Removed));
        self.picture.apply(changes);
        self.known = found;
        self.tell(watch.position());
        Ok(watch)
    }

    /// Takes over what happens. After something that cannot be read all is read anew, and that which it was is forgotten.
    async fn go_on(&mut self, watch: &mut ObjectWatch) -> Result<()> {
        loop {
            let batch = watch.next().await?;
            self.take_over(&batch.events)?;
            self.tell(batch.through);
        }
    }

    /// Takes over events, up to one that cannot be read. What is known and what the picture has are the same then, too: what is
    /// not known any more would never be taken out of it.
    fn take_over(&mut self, events: &[WatchEvent]) -> Result<()> {
        let mut changes = Vec::with_capacity(events.len());
        let read = events.iter().try_for_each(|event| self.change(event).map(|change| changes.push(change)));
        if !changes.is_empty() {
            self.picture.apply(changes);
        }
        read
    }

    fn change(&mut self, event: &WatchEvent) -> Result<Change> {
        let object = self.read(&event.object)?;
        let place = Place::of(&object);
        Ok(match event.event_type {
            EventType::Deleted => {
                self.known.remove(&place);
                Change::Removed(place)
            }
            _ => {
                self.known.insert(place);
                Change::Set(object)
            }
        })
    }

    fn tell(&mut self, through: u64) {
        self.picture.reached(through);
        self.through_tx.send_replace(through);
    }

    fn read(&self, encoded: &crate::Encoded) -> Result<Object> {
        self.kind.read(encoded).map_err(|error| error.about(&self.kind.resource(), ""))
    }
}

#[cfg(test)]
mod tests;
