//! Events are forgotten some time after they were last written.
//!
//! All events are followed, and the place of each stands in a line ordered by when it ends; so a look costs nothing, and
//! forgetting costs what is forgotten. When an event was written is known of those that are seen being written. Of those that
//! were there before, their own times tell, none of which is believed if it lies ahead. From then on time is measured by a clock
//! that only goes forward: whoever puts the machine's clock ahead does not lose all events.
//!
//! Nothing holds an event, not even finalizers, which nobody would remove: it goes when its time is over, as it does in Kubernetes.
//!
//! Several servers over one store may do this at once: an event only goes in the version that was seen.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bailiwick_machinery::watch::EventType;
use bailiwick_machinery::{GroupVersion, Object, parse_rfc3339};
use bailiwick_storage::At;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};

use crate::context::{Clock, Ctx};
use crate::encoded::Encoded;
use crate::error::{Error, Result};
use crate::own_writes::server;
use crate::registry::Registry;
use crate::selection::Selection;
use crate::served_kind::ServedKind;
use crate::watch::WatchFrom;

/// How long to wait before events are followed again after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// How many events go at once, and how many before it is looked at what else happened.
const AT_ONCE: usize = 16;
const AT_A_TIME: usize = 512;

/// Forgets events this long after they were last written, for as long as it is awaited.
pub async fn expire_events(registry: Arc<Registry>, ttl: Duration, clock: Arc<dyn Clock>) {
    let Some(kind) = registry.find(&GroupVersion::new("", "v1"), "events") else { return };
    let expiry = Expiry { registry, kind, ttl, clock };
    loop {
        if let Err(error) = expiry.follow().await {
            tracing::warn!(error = &error as &dyn std::error::Error, "events are looked at anew, to forget old ones");
        }
        sleep(PAUSE).await;
    }
}

struct Expiry {
    registry: Arc<Registry>,
    kind: Arc<ServedKind>,
    ttl: Duration,
    clock: Arc<dyn Clock>,
}

/// Where an event is: its namespace and its name.
type Place = Arc<(String, String)>;

/// Events, by when they end.
#[derive(Default)]
struct Line {
    /// By time, and events of one time by their place.
    by_end: BTreeMap<(Instant, Place), String>,
    ends: HashMap<Place, Instant>,
}

// === impl Expiry ===

impl Expiry {
    async fn follow(&self) -> Result<()> {
        let selection = Selection::everything(&self.kind);
        let mut watch = self.registry.watch(&self.kind, None, selection, WatchFrom::State(At::Latest)).await?;
        let mut line = Line::default();
        for event in watch.initial(usize::MAX)? {
            let object = self.read(&event.object)?;
            let now = self.clock.now();
            let age = now.duration_since(last_written(&object, now)).unwrap_or_default();
            line.set(&object, Instant::now() + self.ttl.saturating_sub(age));
        }
        loop {
            tokio::select! {
                batch = watch.next() => {
                    for event in batch?.events {
                        let object = self.read(&event.object)?;
                        match event.event_type {
                            EventType::Deleted => line.remove(&place(&object)),
                            _ => line.set(&object, Instant::now() + self.ttl),
                        }
                    }
                }
                () = wait_until(line.first_end()) => self.remove(&mut line).await?,
            }
        }
    }

    /// Removes those that have ended.
    async fn remove(&self, line: &mut Line) -> Result<()> {
        let ended = line.take_until(Instant::now());
        let mut removals: Vec<BoxFuture<'_, Result<()>>> = Vec::with_capacity(ended.len());
        for (place, version) in &ended {
            removals.push(Box::pin(self.remove_one(place, version)));
        }
        let outcomes: Vec<Result<()>> = stream::iter(removals).buffer_unordered(AT_ONCE).collect().await;
        outcomes.into_iter().collect()
    }

    async fn remove_one(&self, place: &Place, version: &str) -> Result<()> {
        let user = server();
        let ctx = Ctx { user: &user, now: self.clock.now(), annotations: None };
        match self.registry.expire(&ctx, &self.kind, (&place.0, &place.1), version).await {
            // Gone, or written again, which comes as news.
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn read(&self, encoded: &Encoded) -> Result<Object> {
        self.kind.read(encoded).map_err(|error| error.about(&self.kind.resource(), ""))
    }
}

// === impl Line ===

impl Line {
    fn set(&mut self, object: &Object, end: Instant) {
        let place = place(object);
        self.remove(&place);
        self.by_end.insert((end, place.clone()), object.metadata().resource_version().to_owned());
        self.ends.insert(place, end);
    }

    fn remove(&mut self, place: &Place) {
        if let Some(end) = self.ends.remove(place) {
            self.by_end.remove(&(end, place.clone()));
        }
    }

    fn first_end(&self) -> Option<Instant> {
        self.by_end.first_key_value().map(|((end, _), _)| *end)
    }

    /// Some of those that have ended, with the versions they were seen in.
    fn take_until(&mut self, now: Instant) -> Vec<(Place, String)> {
        let mut ended = Vec::new();
        while ended.len() < AT_A_TIME
            && let Some(entry) = self.by_end.first_entry()
            && entry.key().0 <= now
        {
            let ((_, place), version) = entry.remove_entry();
            self.ends.remove(&place);
            ended.push((place, version));
        }
        ended
    }
}

/// Waits until the first event ends; for ever if there is none.
async fn wait_until(end: Option<Instant>) {
    match end {
        None => std::future::pending().await,
        Some(end) => sleep_until(end).await,
    }
}

fn place(object: &Object) -> Place {
    Arc::new((object.metadata().namespace().to_owned(), object.metadata().name().to_owned()))
}

/// When an event that nobody saw being written was written last, by what it says.
fn last_written(event: &Object, now: SystemTime) -> SystemTime {
    let metadata = event.metadata();
    let managed = metadata.get("managedFields").and_then(Value::as_array).into_iter().flatten();
    let series = event.fields().get("series").and_then(|series| series.get("lastObservedTime"));
    let times = managed.filter_map(|entry| entry.get("time")).chain(series).chain(event.fields().get("lastTimestamp"));
    let times = times.chain(metadata.get("creationTimestamp")).filter_map(Value::as_str).filter_map(parse_rfc3339);
    let seconds = times.filter_map(|seconds| u64::try_from(seconds).ok());
    let times = seconds.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds)).filter(|time| *time <= now);
    // Without any it begins to count now.
    times.max().unwrap_or(now)
}

#[cfg(test)]
mod tests;
