//! Following all objects of a kind by a watch: each change is told once, and those that are gone when a watch has to begin anew
//! are told as gone.

use std::collections::HashSet;
use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use futures::{Stream, StreamExt};
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use crate::place::Place;

/// The pause after a watch has failed for the first time, where it is short; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// How long a watch is open, in seconds, where its loss is to be noticed soon.
const SHORT_WATCH: u32 = 5;

/// Pauses that double up to a longest one.
struct Pauses {
    next: Duration,
    longest: Duration,
}

/// What has changed since the last time.
pub(crate) struct Changes<K> {
    /// Where, and what is there now; nothing if it is gone.
    pub(crate) objects: Vec<(Place, Option<K>)>,
    /// Whether everything that was there in the beginning has been told with these. So once.
    pub(crate) is_complete: bool,
}

/// All objects.
pub(crate) fn everything() -> watcher::Config {
    watcher::Config::default()
}

/// Tells of all objects of a kind for as long as it is polled. `what` and `purpose` are for the log.
pub(crate) async fn follow<K>(
    api: Api<K>,
    config: watcher::Config,
    what: &str,
    purpose: &str,
    tell: impl FnMut(Changes<K>),
) where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    tell_of(watcher(api, config).default_backoff(), (what, purpose), tell, |_| ()).await;
}

/// The same, by whoever is to know what stands in the way: `fail` is told whenever objects could not be listed or watched.
pub(crate) async fn follow_and_tell_failures<K>(
    api: Api<K>,
    config: watcher::Config,
    what: &str,
    purpose: &str,
    tell: impl FnMut(Changes<K>),
    fail: impl FnMut(&watcher::Error),
) where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    tell_of(watcher(api, config).default_backoff(), (what, purpose), tell, fail).await;
}

/// The same, by whoever must not be late: a watch that failed is tried again after this pause at the latest, and one that is
/// broken without anyone having been told so is noticed soon.
pub(crate) async fn follow_closely<K>(
    api: Api<K>,
    longest_pause: Duration,
    what: &str,
    purpose: &str,
    tell: impl FnMut(Changes<K>),
) where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let pauses = Pauses { next: FIRST_PAUSE, longest: longest_pause };
    tell_of(watcher(api, everything().timeout(SHORT_WATCH)).backoff(pauses), (what, purpose), tell, |_| ()).await;
}

async fn tell_of<K>(
    events: impl Stream<Item = watcher::Result<watcher::Event<K>>>,
    (what, purpose): (&str, &str),
    mut tell: impl FnMut(Changes<K>),
    mut fail: impl FnMut(&watcher::Error),
) where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let mut known: HashSet<Place> = HashSet::new();
    let mut found: Vec<K> = Vec::new();
    let mut is_first = true;
    let mut events = pin!(events);
    while let Some(event) = events.next().await {
        let mut one = |place: Place, object| tell(Changes { objects: vec![(place, object)], is_complete: false });
        match event {
            Ok(watcher::Event::Init) => found.clear(),
            Ok(watcher::Event::InitApply(object)) => found.push(object),
            Ok(watcher::Event::InitDone) => {
                let now: HashSet<Place> = found.iter().map(Place::of).collect();
                let gone = known.difference(&now).map(|place| (place.clone(), None));
                let there = found.drain(..).map(|object| (Place::of(&object), Some(object)));
                let objects = gone.chain(there).collect();
                known = now;
                tell(Changes { objects, is_complete: std::mem::take(&mut is_first) });
            }
            Ok(watcher::Event::Apply(object)) => {
                known.insert(Place::of(&object));
                one(Place::of(&object), Some(object));
            }
            Ok(watcher::Event::Delete(object)) => {
                known.remove(&Place::of(&object));
                one(Place::of(&object), None);
            }
            Err(error) => {
                tracing::warn!(
                    %error,
                    "{what} cannot be followed for {purpose} at present; the account must be allowed to list and watch them"
                );
                fail(&error);
            }
        }
    }
}

// === impl Pauses ===

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.next.min(self.longest);
        self.next = pause * 2;
        Some(pause)
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        self.next = FIRST_PAUSE;
    }
}
