//! Which kinds are followed: they come and go with the definitions that name them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use bailiwick_api::claims::Shown;
use kube::Api;
use kube::api::DynamicObject;
use kube::runtime::watcher;
use serde_json::Value;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::index::{EntryFacts, Followed, Standing, Wanted, of_facts};
use super::objects::api_resource;
use super::secret_followers::SecretFollowers;
use super::{Shared, Work};
use crate::follow::{Changes, everything, follow_and_tell_failures};
use crate::served_kinds::GroupKind;

/// How long the list of a kind may take, or fail, before that is told; and how long claims wait for a definition that cannot be
/// judged.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// How long the first list of a kind may take before it is taken for one that fails.
const UNANSWERED: Duration = Duration::from_secs(60);

/// The tasks that follow kinds, and Secrets. They end with it.
#[derive(Default)]
pub(super) struct Followers {
    kinds: HashMap<Followed, Follower>,
    /// How many there have been.
    count: u64,
    pub(super) secrets: SecretFollowers,
    /// Whether nothing is to be followed any more.
    pub(super) has_ended: bool,
}

/// A task that follows a kind.
struct Follower {
    wanted: Wanted,
    /// Which of all that there have been it is.
    number: u64,
    running: Running,
    trouble: Option<Trouble>,
}

/// What a task follows, and which of all that there have been it is.
struct Following {
    kind: Followed,
    wanted: Wanted,
    number: u64,
}

/// What stands in the way of listing a kind.
struct Trouble {
    since: Instant,
    error: String,
}

/// A task that ends when this does.
pub(super) struct Running {
    task: AbortHandle,
    since: Instant,
}

// === impl Followers ===

impl Followers {
    /// Who follows a kind, if that still is this one: what is stopped may be about to tell something.
    fn find(&mut self, following: &Following) -> Option<&mut Follower> {
        self.kinds.get_mut(&following.kind).filter(|follower| follower.number == following.number)
    }
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
        let is_stale = |kind: &Followed, follower: &Follower| wanted.get(kind) != Some(&follower.wanted);
        let stale: Vec<(Followed, Follower)> =
            followers.kinds.extract_if(|kind, follower| is_stale(kind, follower)).collect();
        for (kind, Follower { wanted, .. }) in stale {
            let namespaces = self.index().forget(&kind, &wanted);
            namespaces.iter().for_each(|namespace| self.follow_secrets_in(&mut followers, namespace));
        }
        for (kind, wanted) in wanted {
            if followers.kinds.contains_key(&kind) {
                continue;
            }
            followers.count += 1;
            let number = followers.count;
            self.index().begin_to_follow(&kind, number);
            let following = Following { kind: kind.clone(), wanted: wanted.clone(), number };
            let running = Running::start(follow_kind(self.clone(), following));
            followers.kinds.insert(kind, Follower { wanted, number, running, trouble: None });
        }
    }

    /// The kinds that a definition names and that have not been listed for too long, with the reasons.
    pub(super) fn failing_for(&self, standing: &Standing) -> BTreeMap<GroupKind, String> {
        let classes: BTreeSet<Followed> = entries_of(standing).map(|entry| Followed::of(&entry.class)).collect();
        let resources: BTreeSet<GroupKind> = entries_of(standing).map(|entry| of_facts(&entry.resource)).collect();
        let claim = standing.claim.as_deref().filter(|_| standing.entries.is_some()).map(of_facts);
        let followers = self.followers();
        let index = self.index();
        let named = followers.kinds.iter().filter(|(followed, follower)| {
            let kind = &followed.kind;
            classes.contains(followed)
                || (follower.wanted.resources && resources.contains(kind))
                || (follower.wanted.claims && claim.as_ref() == Some(kind))
        });
        let failing = |(followed, follower): (&Followed, &Follower)| {
            let error = follower.trouble.as_ref().filter(|trouble| trouble.since.elapsed() >= PATIENCE);
            let is_unanswered = !index.has_seen(followed) && follower.running.since.elapsed() >= UNANSWERED;
            let error = error.map(|trouble| trouble.error.clone());
            let error = error.or_else(|| is_unanswered.then(|| "there is no answer".to_owned()))?;
            Some((followed.kind.clone(), error))
        };
        named.filter_map(failing).collect()
    }

    /// The kinds that claims of this kind wait for, because not all objects of them have been listed in good time.
    pub(super) fn overdue_for(&self, claim: &GroupKind) -> BTreeSet<GroupKind> {
        let followers = self.followers();
        let index = self.index();
        let unseen = index.unseen_for(claim);
        let overdue = followers.kinds.iter().filter(|(followed, follower)| {
            unseen.contains(&followed.kind) && !index.has_seen(followed) && follower.running.since.elapsed() >= PATIENCE
        });
        overdue.map(|(followed, _)| followed.kind.clone()).collect()
    }

    /// Notes that a kind could not be listed or watched. Who names it is looked at: it may not be allowed any more, or tell of it.
    fn see_failure(&self, following: &Following, error: &watcher::Error) {
        if let watcher::Error::InitialListFailed(_) | watcher::Error::NoResourceVersion = error
            && let Some(follower) = self.followers().find(following)
        {
            // Why it cannot be followed, without that it cannot.
            let error = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
            let error = Shown::text(&error).to_string();
            let since = follower.trouble.as_ref().map_or_else(Instant::now, |trouble| trouble.since);
            follower.trouble = Some(Trouble { since, error });
        }
        let concerned = self.index().definitions_naming(&following.kind.kind);
        for definition in concerned {
            self.queue.postpone(Work::Definition(definition), PATIENCE);
        }
    }

    /// Notes that a kind can be listed.
    fn see_success(&self, following: &Following) {
        let healed = self.followers().find(following).and_then(|follower| follower.trouble.take());
        if healed.is_some() {
            let concerned = self.index().definitions_naming(&following.kind.kind);
            self.queue.extend(concerned.into_iter().map(Work::Definition));
        }
    }

    pub(super) fn end_followers(&self) {
        *self.followers() = Followers { has_ended: true, ..Followers::default() };
    }

    fn see_objects(self: &Arc<Self>, following: &Following, changes: Changes<DynamicObject>) {
        let Following { kind: followed, wanted, number } = following;
        let kind = &followed.kind;
        self.see_success(following);
        for (place, object) in changes.objects {
            let object = object.and_then(|object| serde_json::to_value(object).ok()).map(|mut object| {
                if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                    // It is the larger part of most objects, and is read anew where it matters.
                    metadata.remove("managedFields");
                }
                object
            });
            let mut index = self.index();
            // What is stopped goes on to the next pause, and what it has to tell has been forgotten by now.
            if !index.is_followed_by(followed, *number) {
                return;
            }
            let mut work = Vec::new();
            if wanted.classes {
                work.extend(index.see_class(followed, &place, object.clone()));
            }
            if wanted.resources {
                work.extend(index.see_resource(&wanted.facts, &place, object.clone()));
            }
            if wanted.claims {
                let touched = index.see_claim(kind, &place, object);
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
        let mut index = self.index();
        if changes.is_complete && index.is_followed_by(followed, *number) {
            let work = index.see_all(followed);
            drop(index);
            self.queue.extend(work);
        }
    }
}

fn entries_of(standing: &Standing) -> impl Iterator<Item = &EntryFacts> {
    standing.entries.iter().flatten()
}

async fn follow_kind(shared: Arc<Shared>, following: Following) {
    let facts = &following.wanted.facts;
    let api: Api<DynamicObject> = Api::all_with(shared.deputy.clone(), &api_resource(facts));
    let what = format!("{}.{}", facts.plural, facts.group);
    let tell = |changes| shared.see_objects(&following, changes);
    let tell_failure = |error: &watcher::Error| shared.see_failure(&following, error);
    follow_and_tell_failures(api, everything(), &what, "claims", tell, tell_failure).await;
}

#[cfg(test)]
mod tests;
