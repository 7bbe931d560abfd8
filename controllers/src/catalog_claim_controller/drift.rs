//! Follows what claims made that is to stay as it was made: one watch of metadata for each account and kind, as that account.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bailiwick_api::{DERIVED_LABEL, ResourceCatalogClaim, ServiceAccountRef};
use futures::StreamExt;
use kube::api::PartialObjectMeta;
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::copies::{Made, Seen};
use super::repairs::{Fight, PAUSE, Repairs, Undone, digest};
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
    fought: Fought,
}

/// Claims whose copies somebody else keeps changing. Changes are no news of them: they are looked at again after a pause.
type Fought = Arc<Mutex<HashSet<Place>>>;

/// Copies of one kind, by their names.
type Copies = Arc<Mutex<HashMap<String, Followed>>>;

/// A kind, as an account sees it in its namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    account: ServiceAccountRef,
    api_version: String,
    kind: String,
}

/// What is followed by one watch.
struct Watched {
    copies: Copies,
    following: AbortOnDropHandle<()>,
}

/// A resource that a claim made.
struct Followed {
    claim: Place,
    /// As whom the claim owns fields.
    manager: String,
    /// The state in which it was left.
    version: String,
    /// The digest of the fields that the claim had in it then.
    owned: u64,
    /// What was done to it since.
    undone: Option<Undone>,
    repairs: Repairs,
}

// === impl Drift ===

impl Drift {
    pub(super) fn new(act_as: Arc<dyn ActAs>, queue: Queue<Place>) -> Self {
        Self { act_as, queue, watches: Mutex::default(), fought: Fought::default() }
    }

    /// Follows what a claim made as this account, and nothing else of it. Tells whom it is at odds with.
    pub(super) fn follow(
        &self,
        claim: &ResourceCatalogClaim,
        account: &ServiceAccountRef,
        made: &[Made],
    ) -> Vec<Fight> {
        let (place, manager, now) = (Place::of(claim), claim.field_manager(), Instant::now());
        let key = |made: &Made| Key {
            account: account.clone(),
            api_version: made.api_version.clone(),
            kind: made.kind.clone(),
        };
        let mut watches = lock(&self.watches);
        let names: HashSet<(Key, &str)> = made.iter().map(|made| (key(made), made.name.as_str())).collect();
        for (key, watched) in watches.iter() {
            let is_made = |name: &str| names.contains(&(key.clone(), name));
            lock(&watched.copies).retain(|name, followed| followed.claim != place || is_made(name));
        }
        let mut fights = Vec::new();
        for (made, seen) in made.iter().filter_map(|made| Some((made, made.seen.as_ref()?))) {
            let key = key(made);
            let is_there = watches.get(&key).is_some_and(|watched| !watched.following.is_finished());
            if !is_there && watches.len() >= MAX_WATCHES && !watches.contains_key(&key) {
                continue;
            }
            let copies = watches.get(&key).map(|watched| watched.copies.clone()).unwrap_or_default();
            let before = lock(&copies).remove(&made.name).filter(|before| before.claim == place);
            let followed = Followed {
                claim: place.clone(),
                manager: manager.clone(),
                version: seen.version.clone(),
                owned: digest(&seen.owned),
                undone: None,
                repairs: before.map(|before| before.put_right(seen, now)).unwrap_or_default(),
            };
            let against = followed.repairs.against(now);
            fights.extend(against.map(|who| Fight { kind: made.kind.clone(), name: made.name.clone(), who }));
            lock(&copies).insert(made.name.clone(), followed);
            if !is_there {
                let following = follow(Following {
                    client: self.act_as.client(account),
                    resource: seen.resource.clone(),
                    account: account.clone(),
                    copies: copies.clone(),
                    queue: self.queue.clone(),
                    fought: self.fought.clone(),
                });
                let following = AbortOnDropHandle::new(tokio::spawn(following));
                watches.insert(key, Watched { copies, following });
            }
        }
        watches.retain(|_, watched| !lock(&watched.copies).is_empty());
        if !fights.is_empty() {
            lock(&self.fought).insert(place.clone());
            self.queue.postpone(place, PAUSE);
        } else if lock(&self.fought).remove(&place) {
            // What was changed since it was put right was no news until now.
            self.queue.add(place);
        }
        fights
    }

    /// Follows nothing of a claim any more.
    pub(super) fn forget(&self, claim: &Place) {
        lock(&self.fought).remove(claim);
        lock(&self.watches).retain(|_, watched| {
            let mut copies = lock(&watched.copies);
            copies.retain(|_, followed| followed.claim != *claim);
            !copies.is_empty()
        });
    }
}

// === impl Followed ===

impl Followed {
    /// What was put right of it by now, where it was left so.
    fn put_right(self, seen: &Seen, now: Instant) -> Repairs {
        let Self { owned, undone, mut repairs, .. } = self;
        if let Some(undone) = undone {
            // Where the claim has other fields now, the entry has changed, and nothing had to be put right.
            if matches!(undone, Undone::Deleted) || owned == digest(&seen.owned) {
                repairs.note(now, &undone, &seen.owned);
            }
        }
        repairs
    }
}

/// What is followed, and who is told.
struct Following {
    client: Client,
    resource: ApiResource,
    account: ServiceAccountRef,
    copies: Copies,
    queue: Queue<Place>,
    fought: Fought,
}

// === impl Following ===

impl Following {
    /// A copy is like this now.
    fn changed(&self, object: &PartialObjectMeta<DynamicObject>) {
        let (name, version) = (object.name_any(), object.resource_version());
        self.tell(&name, |followed| {
            // Those of states before the one that was left may come after it.
            if version.as_deref().is_some_and(|version| !is_after(version, &followed.version)) {
                return false;
            }
            let undone = Undone::of(object.managed_fields(), &followed.manager, followed.owned);
            followed.undone = undone.or(followed.undone.take());
            true
        });
    }

    fn deleted(&self, name: &str) {
        self.tell(name, |followed| {
            followed.undone = Some(Undone::Deleted);
            true
        });
    }

    fn tell(&self, name: &str, is_news: impl FnOnce(&mut Followed) -> bool) {
        let claim = {
            let mut copies = lock(&self.copies);
            let Some(followed) = copies.get_mut(name) else { return };
            is_news(followed).then(|| followed.claim.clone())
        };
        if let Some(claim) = claim
            && !lock(&self.fought).contains(&claim)
        {
            self.queue.add(claim);
        }
    }
}

/// Follows one kind in one namespace for as long as it is polled.
async fn follow(following: Following) {
    let Following { client, resource, account, copies, .. } = &following;
    let api: Api<PartialObjectMeta<DynamicObject>> =
        Api::namespaced_with(client.clone(), account.namespace(), resource);
    let config = watcher::Config::default().labels(&format!("{DERIVED_LABEL}=resourcecatalogclaims"));
    let mut events = std::pin::pin!(watcher(api, config).default_backoff());
    let mut seen: HashSet<String> = HashSet::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => seen.clear(),
            Ok(watcher::Event::InitApply(object)) => {
                seen.insert(object.name_any());
                following.changed(&object);
            }
            Ok(watcher::Event::InitDone) => {
                let names: Vec<String> = lock(copies).keys().filter(|name| !seen.contains(*name)).cloned().collect();
                names.iter().for_each(|name| following.deleted(name));
            }
            Ok(watcher::Event::Apply(object)) => following.changed(&object),
            Ok(watcher::Event::Delete(object)) => following.deleted(&object.name_any()),
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

/// Whether a state is a later one. Of versions that are no numbers it is known only whether they are the same.
fn is_after(version: &str, left: &str) -> bool {
    match (version.parse::<u64>(), left.parse::<u64>()) {
        (Ok(version), Ok(left)) => version > left,
        _ => version != left,
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

#[cfg(test)]
mod tests;
