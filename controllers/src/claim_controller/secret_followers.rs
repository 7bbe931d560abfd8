//! In which namespaces Secrets are followed: where one matters to a claim, and as long as it does.
//!
//! They are bounded in number. Claims whose Secrets are in further namespaces look for themselves from time to time.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_api::claims::CLAIM_UID_ANNOTATION;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PartialObjectMeta;
use kube::{Api, ResourceExt};
use tokio::time::sleep;

use super::Shared;
use super::followers::{Followers, Running};
use super::index::{Key, SeenSecret};
use crate::follow::{Changes, everything, follow};
use crate::place::Place;

/// In how many namespaces Secrets are followed.
const MAX_NAMESPACES: usize = 1_000;
/// How often those look for themselves whose Secrets are not followed.
const FROM_TIME_TO_TIME: Duration = Duration::from_secs(60);

/// The tasks that follow Secrets, by the namespace in which they do. They end with it.
#[derive(Default)]
pub(super) struct SecretFollowers(HashMap<String, Running>);

// === impl SecretFollowers ===

impl SecretFollowers {
    fn follows(&self, namespace: &str) -> bool {
        self.0.contains_key(namespace)
    }

    /// Begins to follow, unless that has begun or there are too many.
    fn begin(&mut self, namespace: &str, start: impl FnOnce() -> Running) {
        if self.0.len() < MAX_NAMESPACES && !self.follows(namespace) {
            self.0.insert(namespace.to_owned(), start());
        }
    }

    fn end(&mut self, namespace: &str) {
        self.0.remove(namespace);
    }
}

// === impl Shared ===

impl Shared {
    /// Notes that these Secrets matter to a claim, and no others, and follows them.
    pub(super) fn follow_secrets(self: &Arc<Self>, key: &Key, places: &[Place]) {
        let changed = self.index().follow_secrets(key, places);
        if !changed.is_empty() {
            let mut followers = self.followers();
            changed.iter().for_each(|namespace| self.follow_secrets_in(&mut followers, namespace));
        }
    }

    /// Follows the Secrets of a namespace if one of them matters to a claim, and no longer. When they were written is told, and
    /// never what they hold.
    pub(super) fn follow_secrets_in(self: &Arc<Self>, followers: &mut Followers, namespace: &str) {
        if followers.has_ended {
            return;
        }
        // Asked under the lock, so that who is late does not undo what is newer.
        if self.index().secrets.matter_in(namespace) {
            let start = || Running::start(follow_in(self.clone(), namespace.to_owned()));
            followers.secrets.begin(namespace, start);
        } else {
            followers.secrets.end(namespace);
            self.index().secrets.forget_namespace(namespace);
        }
    }

    /// From time to time, has claims look for themselves whose Secrets are not followed.
    pub(super) async fn look_where_secrets_are_not_followed(self: &Arc<Self>) {
        loop {
            sleep(FROM_TIME_TO_TIME).await;
            let mut followers = self.followers();
            let users = self.index().secrets.users_in(|namespace| !followers.secrets.follows(namespace));
            for (namespace, work) in users {
                self.follow_secrets_in(&mut followers, &namespace);
                self.queue.extend(work);
            }
        }
    }
}

async fn follow_in(shared: Arc<Shared>, namespace: String) {
    let api: Api<PartialObjectMeta<Secret>> = Api::namespaced(shared.deputy.clone(), &namespace);
    let what = format!("Secrets in \"{namespace}\"");
    follow(api, everything(), &what, "claims", |changes: Changes<PartialObjectMeta<Secret>>| {
        for (place, object) in changes.objects {
            let seen = object.map(|object| SeenSecret {
                version: object.resource_version().unwrap_or_default(),
                claim: object.labels().get(CLAIM_UID_ANNOTATION).cloned(),
            });
            let work = shared.index().see_secret(&place, seen);
            shared.queue.extend(work);
        }
    })
    .await;
}
