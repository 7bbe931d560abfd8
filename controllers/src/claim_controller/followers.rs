//! Which kinds are followed: they come and go with the definitions that name them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, PartialObjectMeta};
use kube::{Api, ResourceExt};
use serde_json::Value;
use tokio::task::AbortHandle;

use super::Shared;
use super::index::{Wanted, of_facts};
use super::objects::api_resource;
use crate::follow::{Changes, everything, follow};
use crate::served_kinds::GroupKind;

/// The tasks that follow kinds. They end with it.
#[derive(Default)]
pub(super) struct Followers {
    kinds: HashMap<GroupKind, (Wanted, Running)>,
    /// Namespaces whose Secrets are followed, because resources write theirs there.
    secrets: HashMap<String, Running>,
    /// Whether nothing is to be followed any more.
    has_ended: bool,
}

/// A task that ends when this does.
struct Running(AbortHandle);

// === impl Running ===

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

// === impl Shared ===

impl Shared {
    /// Follows what is to be followed by now, and nothing else.
    pub(super) fn follow_what_is_wanted(self: &Arc<Self>) {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
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
            self.index().forget(&kind);
        }
        for (kind, wanted) in wanted {
            let start = || {
                let task = tokio::spawn(follow_kind(self.clone(), wanted.clone()));
                (wanted.clone(), Running(task.abort_handle()))
            };
            followers.kinds.entry(kind).or_insert_with(start);
        }
    }

    pub(super) fn end_followers(&self) {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        (followers.has_ended, followers.kinds, followers.secrets) = (true, HashMap::new(), HashMap::new());
    }

    /// Follows the Secrets of a namespace: when they were written, and never what they hold.
    pub(super) fn follow_secrets_in(self: &Arc<Self>, namespace: &str) {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        if followers.has_ended {
            return;
        }
        let start = || Running(tokio::spawn(follow_secrets(self.clone(), namespace.to_owned())).abort_handle());
        followers.secrets.entry(namespace.to_owned()).or_insert_with(start);
    }

    fn see_objects(&self, wanted: &Wanted, changes: Changes<DynamicObject>) {
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

async fn follow_secrets(shared: Arc<Shared>, namespace: String) {
    let api: Api<PartialObjectMeta<Secret>> = Api::namespaced(shared.deputy.clone(), &namespace);
    let what = format!("Secrets in \"{namespace}\"");
    follow(api, everything(), &what, "claims", |changes: Changes<PartialObjectMeta<Secret>>| {
        for (place, object) in changes.objects {
            let version = object.map(|object| object.resource_version().unwrap_or_default());
            let work = shared.index().secrets.see(&place, version);
            shared.queue.extend(work);
        }
    })
    .await;
}
