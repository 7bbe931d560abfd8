//! Watches, one for each kind that matters, which keep the index as it should be.

use std::collections::HashSet;
use std::fmt::Debug;
use std::pin::pin;

use bailiwick_api::{DERIVED_LABEL, Group, OrgGroup, OrgRoleBinding, Organization};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::PartialObjectMeta;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::Shared;
use super::index::{Change, Place};
use super::parts::DERIVED_FROM;

/// A kind that the index is made of.
pub(super) trait Followed:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
    /// What became of the object of this name; it is gone if there is none.
    fn change(place: Place, object: Option<Self>) -> Change;
}

/// All objects of a kind.
pub(super) fn everything() -> watcher::Config {
    watcher::Config::default()
}

/// Those that were made for OrgRoleBindings.
pub(super) fn derived_only() -> watcher::Config {
    watcher::Config::default().labels(&format!("{DERIVED_LABEL}={DERIVED_FROM}"))
}

// === impl Shared ===

impl Shared {
    /// Follows a kind for as long as it is polled.
    pub(super) async fn follow<K: Followed>(&self, api: Api<K>, config: watcher::Config) {
        let mut known: HashSet<Place> = HashSet::new();
        let mut found: Vec<K> = Vec::new();
        let mut is_first = true;
        let mut events = pin!(watcher(api, config).default_backoff());
        while let Some(event) = events.next().await {
            match event {
                Ok(watcher::Event::Init) => found.clear(),
                Ok(watcher::Event::InitApply(object)) => found.push(object),
                Ok(watcher::Event::InitDone) => {
                    let now: HashSet<Place> = found.iter().map(place).collect();
                    let gone = known.difference(&now).map(|place| K::change(place.clone(), None));
                    let there = found.drain(..).map(|object| K::change(place(&object), Some(object)));
                    self.apply(gone.chain(there).collect());
                    known = now;
                    if std::mem::take(&mut is_first) {
                        self.unseen.send_modify(|unseen| *unseen = unseen.saturating_sub(1));
                    }
                }
                Ok(watcher::Event::Apply(object)) => {
                    known.insert(place(&object));
                    self.apply(vec![K::change(place(&object), Some(object))]);
                }
                Ok(watcher::Event::Delete(object)) => {
                    known.remove(&place(&object));
                    self.apply(vec![K::change(place(&object), None)]);
                }
                Err(error) => {
                    let kind = K::plural(&());
                    tracing::warn!(
                        %error,
                        "{kind} cannot be followed for organizations at present; the account must be allowed to list and watch them"
                    );
                }
            }
        }
    }

    fn apply(&self, changes: Vec<Change>) {
        let mut index = self.index();
        for change in changes {
            self.queue.extend(index.apply(change));
        }
    }
}

fn place<K: Resource>(object: &K) -> Place {
    Place { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
}

// === impl Followed ===

macro_rules! followed {
    ($type:ty, $change:ident) => {
        impl Followed for $type {
            fn change(place: Place, object: Option<Self>) -> Change {
                Change::$change(place, object.map(Box::new))
            }
        }
    };
}

followed!(Group, Group);
followed!(Organization, Organization);
followed!(OrgGroup, OrgGroup);
followed!(OrgRoleBinding, Binding);
followed!(PartialObjectMeta<Namespace>, Namespace);
followed!(RoleBinding, RoleBinding);
