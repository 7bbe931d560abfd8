//! Follows what claims made that is to stay as it was made: one watch of metadata for each account and kind, as that account.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bailiwick_api::{DERIVED_LABEL, ServiceAccountRef};
use futures::StreamExt;
use kube::api::PartialObjectMeta;
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::copies::Made;
use crate::host::ActAs;
use crate::place::Place;
use crate::queue::Queue;

/// How many watches there are at most. Beyond that, what was changed is noticed when claims are looked at again.
const MAX_WATCHES: usize = 1_000;

/// How often it is tried again to follow what may not be followed.
const FORBIDDEN_PERIOD: Duration = Duration::from_secs(60);

/// Who follows.
pub(super) struct Drift {
    act_as: Arc<dyn ActAs>,
    queue: Queue<Place>,
    watches: Mutex<HashMap<Key, Watched>>,
}

/// A kind, as an account sees it in its namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    account: ServiceAccountRef,
    api_version: String,
    kind: String,
}

/// What is followed by one watch.
struct Watched {
    copies: Arc<Mutex<HashMap<String, Followed>>>,
    following: AbortOnDropHandle<()>,
}

/// A resource that a claim made.
struct Followed {
    claim: Place,
    /// The state in which it was left.
    version: String,
}

// === impl Drift ===

impl Drift {
    pub(super) fn new(act_as: Arc<dyn ActAs>, queue: Queue<Place>) -> Self {
        Self { act_as, queue, watches: Mutex::default() }
    }

    /// Follows what a claim made.
    pub(super) fn follow(&self, claim: &Place, account: &ServiceAccountRef, made: &[Made]) {
        let mut watches = lock(&self.watches);
        let names: HashSet<&str> = made.iter().map(|made| made.name.as_str()).collect();
        for watched in watches.values() {
            lock(&watched.copies).retain(|name, followed| followed.claim != *claim || names.contains(name.as_str()));
        }
        for (made, (resource, version)) in made.iter().filter_map(|made| Some((made, made.seen.as_ref()?))) {
            let key = Key { account: account.clone(), api_version: made.api_version.clone(), kind: made.kind.clone() };
            let is_there = watches.get(&key).is_some_and(|watched| !watched.following.is_finished());
            if !is_there && watches.len() >= MAX_WATCHES && !watches.contains_key(&key) {
                continue;
            }
            let copies = watches.get(&key).map(|watched| watched.copies.clone()).unwrap_or_default();
            let followed = Followed { claim: claim.clone(), version: version.clone() };
            lock(&copies).insert(made.name.clone(), followed);
            if !is_there {
                let following = follow(
                    self.act_as.client(account),
                    resource.clone(),
                    account.clone(),
                    copies.clone(),
                    self.queue.clone(),
                );
                let following = AbortOnDropHandle::new(tokio::spawn(following));
                watches.insert(key, Watched { copies, following });
            }
        }
        watches.retain(|_, watched| !lock(&watched.copies).is_empty());
    }

    /// Follows nothing of a claim any more.
    pub(super) fn forget(&self, claim: &Place) {
        lock(&self.watches).retain(|_, watched| {
            let mut copies = lock(&watched.copies);
            copies.retain(|_, followed| followed.claim != *claim);
            !copies.is_empty()
        });
    }
}

/// Follows one kind in one namespace for as long as it is polled.
async fn follow(
    client: Client,
    resource: ApiResource,
    account: ServiceAccountRef,
    copies: Arc<Mutex<HashMap<String, Followed>>>,
    queue: Queue<Place>,
) {
    let api: Api<PartialObjectMeta<DynamicObject>> = Api::namespaced_with(client, account.namespace(), &resource);
    let config = watcher::Config::default().labels(&format!("{DERIVED_LABEL}=resourcecatalogclaims"));
    let mut events = std::pin::pin!(watcher(api, config).default_backoff());
    let mut seen: HashSet<String> = HashSet::new();
    let touched = |name: &str, version: Option<&str>| {
        let copies = lock(&copies);
        let followed = copies.get(name)?;
        (version != Some(followed.version.as_str())).then(|| followed.claim.clone())
    };
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => seen.clear(),
            Ok(watcher::Event::InitApply(object)) => {
                seen.insert(object.name_any());
                queue.extend(touched(&object.name_any(), object.resource_version().as_deref()));
            }
            Ok(watcher::Event::InitDone) => {
                let names: Vec<String> = lock(&copies).keys().filter(|name| !seen.contains(*name)).cloned().collect();
                names.iter().for_each(|name| queue.extend(touched(name, None)));
            }
            Ok(watcher::Event::Apply(object)) => {
                queue.extend(touched(&object.name_any(), object.resource_version().as_deref()));
            }
            Ok(watcher::Event::Delete(object)) => queue.extend(touched(&object.name_any(), None)),
            Err(error) if is_forbidden(&error) => {
                tracing::debug!(%account, kind = resource.kind, "what claims made may not be followed: that is tried again");
                sleep(FORBIDDEN_PERIOD).await;
            }
            Err(error) => {
                tracing::debug!(%error, %account, kind = resource.kind, "what claims made cannot be followed");
            }
        }
    }
}

fn is_forbidden(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => status.is_forbidden(),
        _ => false,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
