//! Which kinds are followed: they come and go with the definitions that name them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Api;
use kube::api::DynamicObject;
use serde_json::Value;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::Shared;
use super::index::{Wanted, of_facts};
use super::objects::api_resource;
use super::secret_followers::SecretFollowers;
use crate::follow::{Changes, everything, follow};
use crate::served_kinds::GroupKind;

/// The tasks that follow kinds, and Secrets. They end with it.
#[derive(Default)]
pub(super) struct Followers {
    kinds: HashMap<GroupKind, (Wanted, Running)>,
    pub(super) secrets: SecretFollowers,
    /// Whether nothing is to be followed any more.
    pub(super) has_ended: bool,
}

/// A task that ends when this does.
pub(super) struct Running {
    task: AbortHandle,
    since: Instant,
}

// === impl Running ===

impl Running {
    pub(super) fn start(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { task: tokio::spawn(task).abort_handle(), since: Instant::now() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

// === impl Shared ===

impl Shared {
    pub(super) fn followers(&self) -> MutexGuard<'_, Followers> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows what is to be followed by now, and nothing else.
    pub(super) fn follow_what_is_wanted(self: &Arc<Self>) {
        let mut followers = self.followers();
        if followers.has_ended {
            return;
        }
        // Taken under the lock, so that who is late does not undo what is newer.
        let wanted = self.index().wanted();
        let stale: Vec<GroupKind> = followers
            .kinds
            .iter()
            .filter(|(kind, (running, _))| wanted.get(*kind) != Some(running))
            .map(|(kind, _)| kind.clone())
            .collect();
        for kind in stale {
            followers.kinds.remove(&kind);
            let namespaces = self.index().forget(&kind);
            namespaces.iter().for_each(|namespace| self.follow_secrets_in(&mut followers, namespace));
        }
        for (kind, wanted) in wanted {
            let start = || (wanted.clone(), Running::start(follow_kind(self.clone(), wanted.clone())));
            followers.kinds.entry(kind).or_insert_with(start);
        }
    }

    /// The kinds that claims of this kind wait for, because not all objects of them could be listed in this time.
    pub(super) fn overdue_for(&self, claim: &GroupKind, patience: Duration) -> BTreeSet<GroupKind> {
        let followers = self.followers();
        let is_overdue = |kind: &GroupKind| {
            followers.kinds.get(kind).is_some_and(|(_, running)| running.since.elapsed() >= patience)
        };
        self.index().unseen_for(claim).filter(is_overdue).collect()
    }

    pub(super) fn end_followers(&self) {
        *self.followers() = Followers { has_ended: true, ..Followers::default() };
    }

    fn see_objects(self: &Arc<Self>, wanted: &Wanted, changes: Changes<DynamicObject>) {
        let kind = of_facts(&wanted.facts);
        for (place, object) in changes.objects {
            let object = object.and_then(|object| serde_json::to_value(object).ok()).map(|mut object| {
                if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                    // It is the larger part of most objects, and is read anew where it matters.
                    metadata.remove("managedFields");
                }
                object
            });
            let mut index = self.index();
            let mut work = Vec::new();
            if wanted.classes {
                work.extend(index.see_class(&kind, &place, object.clone()));
            }
            if wanted.resources {
                work.extend(index.see_resource(&wanted.facts, &place, object.clone()));
            }
            if wanted.claims {
                let touched = index.see_claim(&kind, &place, object);
                work.extend(touched.work);
                drop(index);
                touched.counted.iter().for_each(|definition| self.count_soon(definition));
                if !touched.namespaces.is_empty() {
                    let mut followers = self.followers();
                    touched.namespaces.iter().for_each(|namespace| self.follow_secrets_in(&mut followers, namespace));
                }
            }
            self.queue.extend(work);
        }
        if changes.is_complete {
            let work = self.index().see_all(&kind);
            self.queue.extend(work);
        }
    }
}

async fn follow_kind(shared: Arc<Shared>, wanted: Wanted) {
    let api: Api<DynamicObject> = Api::all_with(shared.deputy.clone(), &api_resource(&wanted.facts));
    let what = format!("{}.{}", wanted.facts.plural, wanted.facts.group);
    follow(api, everything(), &what, "claims", |changes| shared.see_objects(&wanted, changes)).await;
}
