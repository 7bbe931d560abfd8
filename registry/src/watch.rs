//! Following the objects of a collection.
//!
//! What a watch tells of an object depends on whether its selection takes the object before and after a change:
//!
//! | before | after | event |
//! | --- | --- | --- |
//! | no | yes | added |
//! | yes | yes | modified |
//! | yes | no | deleted, with the object as it was when it was last taken, at the new revision |

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_machinery::watch::EventType;
use bailiwick_storage::cache::{Delivery, Object, ObjectEvent, Watcher};
use bailiwick_storage::{At, Prefix, Revision};
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::encoded::Encoded;
use crate::error::{Error, Result};
use crate::kind::Definition;
use crate::read::{ListRequest, encoded, failed, range};
use crate::registry::Registry;
use crate::selection::Selection;
use crate::served_kind::ServedKind;

/// How long a watch of a kind that is gone waits for events that came before.
const LAST_EVENTS: Duration = Duration::from_millis(10);

/// A running watch.
pub struct ObjectWatch {
    kind: ServedKind,
    selection: Selection,
    watcher: Watcher,
    initial: VecDeque<Arc<Object>>,
    /// Ends when the kind is not served any more, if it is one that can go. Made once: a watch waits anew after every event.
    retired: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    gone: bool,
}

/// Something that happened to an object that the watch is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// What happened.
    pub event_type: EventType,
    /// The object.
    pub object: Encoded,
}

/// Events, in order; afterwards everything up to and including `through` has been told.
#[derive(Debug, Default)]
pub struct WatchBatch {
    /// The events.
    pub events: Vec<WatchEvent>,
    /// How far the watch has come.
    pub through: u64,
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchFrom {
    /// With the objects there are, in a state that is at least this fresh.
    State(At),
    /// After the newest state, or any.
    Now(At),
    /// After a revision.
    After(u64),
}

// === impl Registry ===

impl Registry {
    /// Begins to follow a collection.
    pub async fn watch(
        &self,
        kind: &ServedKind,
        namespace: Option<&str>,
        selection: Selection,
        from: WatchFrom,
    ) -> Result<ObjectWatch> {
        let (initial, after) = match from {
            WatchFrom::State(at) => {
                let request = ListRequest { namespace, selection: &selection, at, after: None, limit: None };
                let list = self.list(kind, &request).await?;
                (list.objects.into(), list.revision)
            }
            WatchFrom::Now(at) => {
                let snapshot = self.cache().snapshot(at).await.map_err(|error| failed("watch", kind, error))?;
                (VecDeque::new(), snapshot.revision().get())
            }
            WatchFrom::After(revision) => (VecDeque::new(), revision),
        };
        let range = followed(kind, namespace, &selection)?;
        let watcher = self.cache().watch_objects(&range, Revision::new(after));
        let watcher = watcher.map_err(|error| failed("watch", kind, error))?;
        let retired = |definition: &Definition| Box::pin(definition.retired.child_token().cancelled_owned());
        let retired = kind.kind().definition().map(retired);
        Ok(ObjectWatch { kind: kind.clone(), selection, watcher, initial, retired, gone: false })
    }
}

/// The range to follow. A namespace that the selection demands narrows it; one that no object can be in does not, and the
/// selection then takes nothing.
fn followed(kind: &ServedKind, namespace: Option<&str>, selection: &Selection) -> Result<Prefix> {
    match (namespace, selection.namespace()) {
        (None, Some(demanded)) => range(kind, Some(demanded)).or_else(|_| range(kind, None)),
        (namespace, _) => range(kind, namespace),
    }
}

// === impl ObjectWatch ===

impl ObjectWatch {
    /// How far the watch has come.
    pub fn position(&self) -> u64 {
        self.watcher.position().get()
    }

    /// Some of the objects there were when the watch began, as added; none when all have been told.
    pub fn initial(&mut self, most: usize) -> Result<Vec<WatchEvent>> {
        let count = self.initial.len().min(most);
        let added = |object: Arc<Object>| {
            let object = encoded(&self.kind, &object)?;
            Ok(WatchEvent { event_type: EventType::Added, object })
        };
        self.initial.drain(..count).map(added).collect()
    }

    /// All objects there were when the watch began. One that is damaged is told of, and passed over: it keeps nobody from what
    /// the others say.
    pub(crate) fn initial_readable(&mut self) -> Vec<bailiwick_machinery::Object> {
        let read = |kind: &ServedKind, found: &Object| {
            let object = kind.read(&encoded(kind, found)?);
            object.map_err(|error| error.about(&kind.resource(), found.key().name()))
        };
        let told = |error: &Error| {
            tracing::error!(error = error as &dyn std::error::Error, "an object counts as if it were not there");
        };
        let found = self.initial.drain(..);
        found.filter_map(|found| read(&self.kind, &found).inspect_err(told).ok()).collect()
    }

    /// What happens next. May be dropped and called again without losing anything. After an error the watch is over.
    pub async fn next(&mut self) -> Result<WatchBatch> {
        let Delivery { through, events } = self.delivery().await?;
        let mut told = Vec::with_capacity(events.len());
        for event in &events {
            told.extend(self.tell(event)?);
        }
        Ok(WatchBatch { events: told, through: through.get() })
    }

    /// The next events; once the kind is gone, those that came before, and then an error.
    async fn delivery(&mut self) -> Result<Delivery> {
        if let Some(retired) = &mut self.retired {
            tokio::select! {
                biased;
                delivered = self.watcher.next() => return delivered.map_err(|error| failed("watch", &self.kind, error)),
                () = retired => self.gone = true,
            }
            self.retired = None;
        }
        if !self.gone {
            return self.watcher.next().await.map_err(|error| failed("watch", &self.kind, error));
        }
        match tokio::time::timeout(LAST_EVENTS, self.watcher.next()).await {
            Ok(delivered) => delivered.map_err(|error| failed("watch", &self.kind, error)),
            Err(_) => Err(Error::KindGone { resource: self.kind.resource() }),
        }
    }

    /// Asks for a batch soon, also if nothing happens.
    pub fn request_progress(&mut self) {
        self.watcher.request_progress();
    }

    fn tell(&self, event: &ObjectEvent) -> Result<Option<WatchEvent>> {
        let taken = |object: &Option<Arc<Object>>| object.clone().filter(|object| self.selection.matches(object));
        let (event_type, object) = match (taken(&event.previous), taken(&event.object)) {
            (None, Some(object)) => (EventType::Added, encoded(&self.kind, &object)?),
            (Some(_), Some(object)) => (EventType::Modified, encoded(&self.kind, &object)?),
            (Some(previous), None) => (EventType::Deleted, encoded(&self.kind, &previous)?.at(event.revision.get())),
            (None, None) => return Ok(None),
        };
        Ok(Some(WatchEvent { event_type, object }))
    }
}
