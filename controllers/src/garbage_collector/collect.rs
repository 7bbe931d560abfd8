//! What is done about an object, by what it says of itself now.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{DeleteParams, DynamicObject, PartialObjectMeta, Patch, Preconditions, PropagationPolicy};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::Shared;
use super::graph::{FOREGROUND, Node, ORPHAN, OwnerState, Place, Task, Uid};
use crate::absence::{is_path_absent, look_up};
use crate::place::in_path;
use crate::served_kinds::{GroupKind, Served};

/// Why something was not done. It is tried again.
#[derive(Debug, thiserror::Error)]
pub(super) enum CollectError {
    #[error("no kind {kind:?} is served now")]
    UnknownKind { kind: GroupKind },
    #[error("which kinds there are could not be found out in time")]
    KindsUnknown,
    #[error("{place:?} could not be read or changed")]
    Api { place: Place, source: Box<kube::Error> },
}

/// Does what has to be done, one thing at a time.
pub(super) struct Collector<'s> {
    shared: &'s Shared,
}

type Metadata = PartialObjectMeta<DynamicObject>;

/// The owners of an object, by how it is with them.
#[derive(Default)]
struct Owners {
    solid: usize,
    waiting: Vec<String>,
    absent: Vec<String>,
    /// They can be neither found nor missed: an object of the cluster names an object of a namespace, or a name is none.
    unfindable: usize,
}

// === impl Collector ===

impl<'s> Collector<'s> {
    pub(super) fn new(shared: &'s Shared) -> Self {
        Self { shared }
    }

    pub(super) async fn carry_out(&self, task: &Task) -> Result<(), CollectError> {
        let (Task::Judge(uid) | Task::Orphan(uid)) = task;
        let Some(node) = self.shared.graph().get(uid).cloned() else { return Ok(()) };
        let Some(live) = self.read(&node.place, uid).await? else { return Ok(()) };
        // What it says of itself now counts; what was seen may be older.
        let node = Node::new(node.place.kind, &live.metadata);
        match task {
            Task::Judge(_) => self.judge(uid, &node, &live).await,
            Task::Orphan(_) => self.orphan(uid, &node, &live).await,
        }
    }

    async fn judge(&self, uid: &Uid, node: &Node, live: &Metadata) -> Result<(), CollectError> {
        if node.waits_for_dependents() {
            return self.release_if_alone(uid, node, live).await;
        }
        if node.deleting || node.owners.is_empty() {
            return Ok(());
        }
        let owners = self.owners(node).await?;
        if owners.solid + owners.unfindable > 0 {
            return self.drop_owners(node, live, &[owners.waiting, owners.absent].concat()).await;
        }
        let has_dependents = self.shared.graph().dependents(uid).next().is_some();
        if !owners.waiting.is_empty() && has_dependents {
            // If those it owns wait as well, this may be a circle in which each would wait for the next.
            if self.owns_one_that_waits(uid) && self.unblock_owners(node, live).await? {
                self.shared.queue.add(Task::Judge(uid.clone()));
                return Ok(());
            }
            return self.delete(node, live, PropagationPolicy::Foreground).await;
        }
        let finalizers = live.metadata.finalizers.iter().flatten();
        let policy = finalizers.fold(PropagationPolicy::Background, |policy, finalizer| match finalizer.as_str() {
            ORPHAN => PropagationPolicy::Orphan,
            FOREGROUND => PropagationPolicy::Foreground,
            _ => policy,
        });
        self.delete(node, live, policy).await
    }

    /// Lets an object go that waits for those it owns, once there are none that must go first; hurries them otherwise.
    async fn release_if_alone(&self, uid: &Uid, node: &Node, live: &Metadata) -> Result<(), CollectError> {
        let mut blocking = self.shared.graph().blocking_dependents(uid);
        if blocking.is_empty() {
            self.shared.look_everywhere().await?;
            blocking = self.shared.graph().blocking_dependents(uid);
        }
        if blocking.is_empty() {
            return self.remove_finalizer(node, live, FOREGROUND).await;
        }
        self.shared.queue.extend(blocking.into_iter().map(Task::Judge));
        Ok(())
    }

    /// Takes an object away from those it owns, and lets it go.
    async fn orphan(&self, uid: &Uid, node: &Node, live: &Metadata) -> Result<(), CollectError> {
        if !node.abandons_dependents() {
            return Ok(());
        }
        // Those that are not taken away from it now would go later, because it is gone.
        self.shared.look_everywhere().await?;
        let dependents: Vec<_> = {
            let graph = self.shared.graph();
            graph.dependents(uid).filter_map(|uid| Some((uid.clone(), graph.get(uid)?.place.clone()))).collect()
        };
        for (dependent, place) in dependents {
            if let Some(live) = self.read(&place, &dependent).await? {
                self.drop_owners(&Node::new(place.kind, &live.metadata), &live, &[uid.to_string()]).await?;
            }
        }
        self.remove_finalizer(node, live, ORPHAN).await
    }

    /// How it is with the owners that an object names. Who was neither seen nor seen to go is looked for.
    async fn owners(&self, node: &Node) -> Result<Owners, CollectError> {
        let mut owners = Owners::default();
        for owner in &node.owners {
            let seen = self.shared.graph().owner_state(node, owner);
            match seen {
                OwnerState::Solid => owners.solid += 1,
                OwnerState::Waiting => owners.waiting.push(owner.uid.clone()),
                OwnerState::Gone => owners.absent.push(owner.uid.clone()),
                OwnerState::Elsewhere | OwnerState::Unseen => self.look_for(node, owner, &mut owners).await?,
            }
        }
        Ok(owners)
    }

    async fn look_for(&self, node: &Node, owner: &OwnerReference, owners: &mut Owners) -> Result<(), CollectError> {
        let kind = GroupKind::new(&owner.api_version, &owner.kind);
        let served = self.served(&kind)?;
        if served.namespaced && node.place.namespace.is_empty() {
            tracing::warn!(object = ?node.place, owner = ?owner, "an object of the cluster names an owner in a namespace");
            owners.unfindable += 1;
            return Ok(());
        }
        if in_path(&owner.name).is_empty() {
            tracing::warn!(object = ?node.place, owner = ?owner, "an object names an owner as no object can be called");
            owners.unfindable += 1;
            return Ok(());
        }
        let namespace = if served.namespaced { node.place.namespace.clone() } else { String::new() };
        let place = Place { kind: kind.clone(), namespace, name: owner.name.clone() };
        match self.read(&place, &owner.uid).await? {
            Some(found) if Node::new(kind, &found.metadata).waits_for_dependents() => {
                owners.waiting.push(owner.uid.clone());
            }
            Some(_) => owners.solid += 1,
            None => owners.absent.push(owner.uid.clone()),
        }
        Ok(())
    }

    fn owns_one_that_waits(&self, uid: &Uid) -> bool {
        let graph = self.shared.graph();
        graph.dependents(uid).any(|dependent| graph.get(dependent).is_some_and(Node::waits_for_dependents))
    }

    async fn drop_owners(&self, node: &Node, live: &Metadata, uids: &[String]) -> Result<(), CollectError> {
        let stays = |owner: &&OwnerReference| !uids.contains(&owner.uid);
        let left: Vec<_> = node.owners.iter().filter(stays).collect();
        if left.len() == node.owners.len() {
            return Ok(());
        }
        self.patch(node, live, json!({ "ownerReferences": left })).await
    }

    /// Makes its owners free to go before it. Tells whether that was a change, after which it is another version.
    async fn unblock_owners(&self, node: &Node, live: &Metadata) -> Result<bool, CollectError> {
        let unblock = |owner: &OwnerReference| OwnerReference { block_owner_deletion: Some(false), ..owner.clone() };
        if node.owners.iter().all(|owner| owner.block_owner_deletion != Some(true)) {
            return Ok(false);
        }
        let owners: Vec<_> = node.owners.iter().map(unblock).collect();
        self.patch(node, live, json!({ "ownerReferences": owners })).await?;
        Ok(true)
    }

    async fn remove_finalizer(&self, node: &Node, live: &Metadata, finalizer: &str) -> Result<(), CollectError> {
        let left: Vec<_> = live.metadata.finalizers.iter().flatten().filter(|held| *held != finalizer).collect();
        self.patch(node, live, json!({ "finalizers": left })).await
    }

    /// The object, if it is the one that is meant.
    async fn read(&self, place: &Place, uid: &str) -> Result<Option<Metadata>, CollectError> {
        let found = look_up(&self.api(place)?, &place.name).await;
        let found = found.map_err(|source| CollectError::Api { place: place.clone(), source: Box::new(source) })?;
        Ok(found.filter(|found| found.uid().as_deref() == Some(uid)))
    }

    /// Changes the metadata of an object in the state in which it was read.
    async fn patch(&self, node: &Node, live: &Metadata, mut metadata: Value) -> Result<(), CollectError> {
        metadata["uid"] = json!(live.metadata.uid);
        metadata["resourceVersion"] = json!(live.metadata.resource_version);
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let changed = self.api(&node.place)?.patch(&in_path(&node.place.name), &crate::patch(), &patch).await;
        settled(&node.place, changed.map(drop))
    }

    async fn delete(&self, node: &Node, live: &Metadata, policy: PropagationPolicy) -> Result<(), CollectError> {
        let ObjectMeta { uid, resource_version, .. } = live.metadata.clone();
        let parameters = DeleteParams {
            propagation_policy: Some(policy),
            preconditions: Some(Preconditions { uid, resource_version }),
            ..DeleteParams::default()
        };
        let deleted = self.api(&node.place)?.delete(&in_path(&node.place.name), &parameters).await;
        tracing::debug!(object = ?node.place, "nobody owns it any more");
        settled(&node.place, deleted.map(drop))
    }

    fn served(&self, kind: &GroupKind) -> Result<Served, CollectError> {
        let served = self.shared.kinds.borrow().get(kind).cloned();
        served.ok_or_else(|| CollectError::UnknownKind { kind: kind.clone() })
    }

    fn api(&self, place: &Place) -> Result<Api<Metadata>, CollectError> {
        let served = self.served(&place.kind)?;
        let client = self.shared.client.clone();
        Ok(match place.namespace.as_str() {
            "" => Api::all_with(client, &served.resource),
            namespace => Api::namespaced_with(client, namespace, &served.resource),
        })
    }
}

/// An object that is gone needs nothing any more.
fn settled(place: &Place, result: kube::Result<()>) -> Result<(), CollectError> {
    match result {
        Err(kube::Error::Api(status)) if status.is_not_found() && !is_path_absent(&status) => Ok(()),
        other => other.map_err(|source| CollectError::Api { place: place.clone(), source: Box::new(source) }),
    }
}
