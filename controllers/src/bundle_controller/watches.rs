//! Watches of what Bundles contain: of metadata only, as the account that acts, and one for each kind in a namespace, however
//! many Bundles share it.
//!
//! They are opened when somebody is interested, closed when nobody is, and bounded in number. What is not watched, because
//! there are too many or because the account may not, is looked at again from time to time.

use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bailiwick_api::ServiceAccountRef;
use futures::StreamExt;
use kube::api::{DynamicObject, PartialObjectMeta};
use kube::runtime::{WatchStreamExt, watcher};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::FROM_TIME_TO_TIME;
use super::hands::Hands;
use crate::host_kinds::HostKind;
use crate::place::Place;
use crate::queue::Queue;

/// The most watches that are open at once.
pub(super) const MAX_WATCHES: usize = 1_000;

/// What is watched: a kind, as an account, in its namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct WatchKey {
    pub(super) account: ServiceAccountRef,
    pub(super) kind: HostKind,
}

/// What somebody wants to hear of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Interest {
    /// The object of this name.
    Name(String),
    /// Objects that the object with this UID owns.
    OwnedBy(String),
}

/// What a Bundle wants to hear of, and as whom.
pub(super) type Interests = HashSet<(WatchKey, Interest)>;

/// What has happened to an object since it was asked last: it has this version now, or it is gone or of no known version.
pub(super) type News = HashMap<(HostKind, String), Option<u64>>;

/// The watches. They end with it.
pub(super) struct Watches {
    state: Arc<Mutex<State>>,
    queue: Queue<Place>,
}

/// What a task knows of the watches, without keeping them: they own it.
#[derive(Clone)]
struct WeakWatches {
    state: Weak<Mutex<State>>,
    queue: Queue<Place>,
}

#[derive(Default)]
struct State {
    watches: HashMap<WatchKey, Watch>,
    interests: HashMap<Place, Interests>,
    news: HashMap<Place, News>,
}

#[derive(Default)]
struct Watch {
    /// Whether everything was seen, and nothing has been missed since.
    is_live: bool,
    objects: HashMap<String, Meta>,
    interested: HashMap<Interest, HashSet<Place>>,
    _task: Option<AbortOnDropHandle<()>>,
    /// While it tells nothing any more: soon has those look for themselves who rely on it.
    silence: Option<AbortOnDropHandle<()>>,
}

#[derive(Clone, Debug, Default)]
struct Meta {
    version: Option<u64>,
    owners: Vec<String>,
}

// === impl WatchKey ===

impl WatchKey {
    pub(super) fn of(hands: &Hands, kind: &HostKind) -> Self {
        Self { account: hands.account().clone(), kind: kind.clone() }
    }
}

// === impl Watches ===

impl Watches {
    /// Whoever must look at something is put in this queue.
    pub(super) fn new(queue: Queue<Place>) -> Self {
        Self { state: Arc::default(), queue }
    }

    /// A Bundle wants to hear of something from now on.
    pub(super) fn add(&self, bundle: &Place, hands: &Hands, kind: &HostKind, interest: Interest) {
        let key = WatchKey::of(hands, kind);
        let mut state = self.state();
        state.interests.entry(bundle.clone()).or_default().insert((key.clone(), interest.clone()));
        let count = state.watches.len();
        let watch = match state.watches.get_mut(&key) {
            Some(watch) => watch,
            None if count >= MAX_WATCHES => return,
            None => {
                let task = tokio::spawn(self.weak().follow(key.clone(), hands.clone()));
                let watch = Watch { _task: Some(AbortOnDropHandle::new(task)), ..Watch::default() };
                state.watches.entry(key).or_insert(watch)
            }
        };
        watch.interested.entry(interest).or_default().insert(bundle.clone());
    }

    /// A Bundle wants to hear of these only.
    pub(super) fn keep(&self, bundle: &Place, wanted: &Interests) {
        let mut state = self.state();
        let Some(interests) = state.interests.get_mut(bundle) else { return };
        let dropped: Vec<(WatchKey, Interest)> = interests.extract_if(|interest| !wanted.contains(interest)).collect();
        if interests.is_empty() {
            state.interests.remove(bundle);
        }
        for (key, interest) in dropped {
            state.end_interest(bundle, &key, &interest);
        }
    }

    /// A Bundle is gone.
    pub(super) fn forget(&self, bundle: &Place) {
        self.keep(bundle, &HashSet::new());
        self.state().news.remove(bundle);
    }

    /// What has happened for a Bundle since it was asked last.
    pub(super) fn take_news(&self, bundle: &Place) -> News {
        self.state().news.remove(bundle).unwrap_or_default()
    }

    /// Whether everything that a Bundle is interested in is watched.
    pub(super) fn are_live(&self, bundle: &Place) -> bool {
        let state = self.state();
        let is_live = |(key, _): &(WatchKey, Interest)| state.watches.get(key).is_some_and(|watch| watch.is_live);
        state.interests.get(bundle).is_none_or(|interests| interests.iter().all(is_live))
    }

    /// Whether a kind is watched as this account.
    pub(super) fn is_live(&self, hands: &Hands, kind: &HostKind) -> bool {
        let key = WatchKey::of(hands, kind);
        self.state().watches.get(&key).is_some_and(|watch| watch.is_live)
    }

    /// The names of objects of a kind that an object owns; none if the kind is not watched.
    pub(super) fn owned_by(&self, hands: &Hands, kind: &HostKind, owner: &str) -> Option<Vec<String>> {
        let key = WatchKey::of(hands, kind);
        let state = self.state();
        let watch = state.watches.get(&key).filter(|watch| watch.is_live)?;
        let is_owned = |(_, meta): &(&String, &Meta)| meta.owners.iter().any(|other| other == owner);
        Some(watch.objects.iter().filter(is_owned).map(|(name, _)| name.clone()).collect())
    }

    /// Nothing is told any more. If that stays so, whoever is interested looks for themselves from then on. A short silence, as
    /// when the host begins anew, is none of their business: all is listed afterwards.
    fn fall_silent(&self, key: &WatchKey) {
        let mut state = self.state();
        let Some(watch) = state.watches.get_mut(key).filter(|watch| watch.is_live) else { return };
        watch.is_live = false;
        let (watches, key) = (self.weak(), key.clone());
        watch.silence = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            sleep(FROM_TIME_TO_TIME).await;
            if let Some(watches) = watches.upgrade() {
                watches.have_all_look(&key);
            }
        })));
    }

    fn have_all_look(&self, key: &WatchKey) {
        let state = self.state();
        let interested = state.watches.get(key).into_iter().flat_map(|watch| watch.interested.values());
        self.queue.extend(interested.flatten().cloned());
    }

    /// Everything was listed anew. Whoever is interested looks again: what happened in between is not known.
    fn replace(&self, key: &WatchKey, objects: HashMap<String, Meta>) {
        let mut state = self.state();
        let Some(watch) = state.watches.get_mut(key) else { return };
        watch.is_live = true;
        watch.silence = None;
        let mut told: Vec<(Place, String, Option<u64>)> = Vec::new();
        for (interest, places) in &watch.interested {
            let names: Vec<&String> = match interest {
                Interest::Name(name) => vec![name],
                Interest::OwnedBy(owner) => {
                    let is_owned = |meta: &Meta| meta.owners.contains(owner);
                    let now = objects.iter().filter(|(_, meta)| is_owned(meta));
                    now.chain(watch.objects.iter().filter(|(_, meta)| is_owned(meta))).map(|(name, _)| name).collect()
                }
            };
            for place in places {
                self.queue.add(place.clone());
                told.extend(
                    names.iter().map(|name| {
                        ((*place).clone(), (*name).clone(), objects.get(*name).and_then(|meta| meta.version))
                    }),
                );
            }
        }
        watch.objects = objects;
        for (place, name, version) in told {
            state.tell(place, key, name, version);
        }
    }

    /// One object has changed, or is gone.
    fn change(&self, key: &WatchKey, name: &str, now: Option<Meta>) {
        let mut state = self.state();
        let Some(watch) = state.watches.get_mut(key) else { return };
        let version = now.as_ref().and_then(|meta| meta.version);
        let before = match &now {
            Some(meta) => watch.objects.insert(name.to_owned(), meta.clone()),
            None => watch.objects.remove(name),
        };
        let owners = before.into_iter().chain(now).flat_map(|meta| meta.owners).map(Interest::OwnedBy);
        let interests = std::iter::once(Interest::Name(name.to_owned())).chain(owners);
        let places: HashSet<Place> =
            interests.filter_map(|interest| watch.interested.get(&interest)).flatten().cloned().collect();
        for place in places {
            state.tell(place.clone(), key, name.to_owned(), version);
            self.queue.add(place);
        }
    }

    fn weak(&self) -> WeakWatches {
        WeakWatches { state: Arc::downgrade(&self.state), queue: self.queue.clone() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl WeakWatches ===

impl WeakWatches {
    /// The watches, unless they have ended.
    fn upgrade(&self) -> Option<Watches> {
        self.state.upgrade().map(|state| Watches { state, queue: self.queue.clone() })
    }

    async fn follow(self, key: WatchKey, hands: Hands) {
        let mut found = HashMap::new();
        let mut events = pin!(watcher(hands.metadata(&key.kind), watcher::Config::default()).default_backoff());
        while let Some(event) = events.next().await {
            let Some(watches) = self.upgrade() else { return };
            match event {
                Ok(watcher::Event::Init) => found.clear(),
                Ok(watcher::Event::InitApply(object)) => drop(found.insert(name(&object), Meta::of(&object))),
                Ok(watcher::Event::InitDone) => watches.replace(&key, std::mem::take(&mut found)),
                Ok(watcher::Event::Apply(object)) => watches.change(&key, &name(&object), Some(Meta::of(&object))),
                Ok(watcher::Event::Delete(object)) => watches.change(&key, &name(&object), None),
                Err(error) => {
                    let account = &key.account;
                    tracing::debug!(%error, "{} cannot be watched as {account} at present", key.kind.resource.plural);
                    watches.fall_silent(&key);
                }
            }
        }
    }
}

// === impl State ===

impl State {
    fn tell(&mut self, place: Place, key: &WatchKey, name: String, version: Option<u64>) {
        self.news.entry(place).or_default().insert((key.kind.clone(), name), version);
    }

    fn end_interest(&mut self, bundle: &Place, key: &WatchKey, interest: &Interest) {
        let Some(watch) = self.watches.get_mut(key) else { return };
        if let Some(places) = watch.interested.get_mut(interest) {
            places.remove(bundle);
            if places.is_empty() {
                watch.interested.remove(interest);
            }
        }
        if watch.interested.is_empty() {
            self.watches.remove(key);
        }
    }
}

// === impl Meta ===

impl Meta {
    fn of(object: &PartialObjectMeta<DynamicObject>) -> Self {
        let owners = object.metadata.owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect();
        Self { version: object.metadata.resource_version.as_deref().and_then(|version| version.parse().ok()), owners }
    }
}

fn name(object: &PartialObjectMeta<DynamicObject>) -> String {
    object.metadata.name.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests;
