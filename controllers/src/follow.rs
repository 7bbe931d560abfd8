//! Following all objects of a kind by a watch: each change is told once, and those that are gone when a watch has to begin anew
//! are told as gone.

use std::collections::HashSet;
use std::fmt::Debug;
use std::pin::pin;

use futures::StreamExt;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use crate::place::Place;

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
    mut tell: impl FnMut(Changes<K>),
) where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let mut known: HashSet<Place> = HashSet::new();
    let mut found: Vec<K> = Vec::new();
    let mut is_first = true;
    let mut events = pin!(watcher(api, config).default_backoff());
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
            Err(error) => tracing::warn!(
                %error,
                "{what} cannot be followed for {purpose} at present; the account must be allowed to list and watch them"
            ),
        }
    }
}
