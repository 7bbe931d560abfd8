//! Who owns whom, as far as it has been seen. No I/O: what happens to objects goes in, and which of them to look at comes out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::departed::Departed;
use crate::served_kinds::GroupKind;

/// Holds an object until those it owns have lost it as their owner.
pub(super) const ORPHAN: &str = "orphan";
/// Holds an object until those it owns are gone.
pub(super) const FOREGROUND: &str = "foregroundDeletion";

/// What tells objects apart for all time.
pub(super) type Uid = Arc<str>;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Task {
    /// Whether the object may stay.
    Judge(Uid),
    /// Take the object away from those it owns, as whoever deleted it wanted.
    Orphan(Uid),
}

/// Where an object can be found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) kind: GroupKind,
    /// Empty for objects of the cluster.
    pub(super) namespace: String,
    pub(super) name: String,
}

/// What is known of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) owners: Vec<OwnerReference>,
    /// It is to go once its finalizers are gone.
    pub(super) deleting: bool,
    holds_orphan: bool,
    holds_foreground: bool,
}

/// How it is with an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerState {
    /// It is there.
    Solid,
    /// It is there, and goes when those it owns are gone.
    Waiting,
    /// There is an object with that UID, but not where the reference says.
    Elsewhere,
    /// It was there, and has been deleted.
    Gone,
    /// It has not been seen.
    Unseen,
}

/// Why an object is not known any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// It has been deleted.
    Deleted,
    /// Its kind is not followed any more, which proves nothing: it may still be there.
    Unfollowed,
}

/// All objects that have been seen, and who owns whom.
#[derive(Default)]
pub(super) struct Graph {
    nodes: HashMap<Uid, Node>,
    departed: Departed,
    /// Those who name an owner, whether it has been seen or not.
    dependents: HashMap<Uid, HashSet<Uid>>,
}

// === impl Place ===

impl Place {
    /// Whether this is where `node` says that its owner is.
    fn is_named_by(&self, node: &Node, owner: &OwnerReference) -> bool {
        let is_reachable = self.namespace.is_empty() || self.namespace == node.place.namespace;
        is_reachable && self.name == owner.name && self.kind == GroupKind::new(&owner.api_version, &owner.kind)
    }
}

// === impl Node ===

impl Node {
    pub(super) fn new(kind: GroupKind, metadata: &ObjectMeta) -> Self {
        let holds = |wanted: &str| metadata.finalizers.iter().flatten().any(|finalizer| finalizer == wanted);
        Self {
            place: Place {
                kind,
                namespace: metadata.namespace.clone().unwrap_or_default(),
                name: metadata.name.clone().unwrap_or_default(),
            },
            owners: metadata.owner_references.clone().unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            holds_orphan: holds(ORPHAN),
            holds_foreground: holds(FOREGROUND),
        }
    }

    /// Whether it goes as soon as those it owns are gone.
    pub(super) fn waits_for_dependents(&self) -> bool {
        self.deleting && self.holds_foreground
    }

    /// Whether those it owns shall stay when it goes.
    pub(super) fn abandons_dependents(&self) -> bool {
        self.deleting && self.holds_orphan
    }

    /// Whether the owner cannot go before this object is gone.
    fn blocks(&self, owner: &str) -> bool {
        let blocking = |reference: &&OwnerReference| reference.block_owner_deletion == Some(true);
        self.owners.iter().filter(blocking).any(|reference| reference.uid == owner)
    }
}

// === impl Graph ===

impl Graph {
    pub(super) fn get(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// Takes in how an object is now. Gives what follows from the difference.
    pub(super) fn observe(&mut self, uid: Uid, node: Node) -> Vec<Task> {
        let old = self.nodes.get(&uid).cloned();
        if old.as_ref() == Some(&node) {
            return Vec::new();
        }
        if old.is_none() {
            self.departed.take_back(&uid);
        }
        let mut tasks = Vec::new();
        let named: HashSet<&str> = node.owners.iter().map(|owner| &*owner.uid).collect();
        for former in old.iter().flat_map(|old| &old.owners) {
            if !named.contains(&*former.uid) {
                self.unlink(&former.uid, &uid);
            }
            // An owner that waits may have waited for this.
            if !node.blocks(&former.uid) && self.nodes.get(&*former.uid).is_some_and(Node::waits_for_dependents) {
                tasks.push(Task::Judge(former.uid.as_str().into()));
            }
        }
        for owner in &node.owners {
            self.dependents.entry(owner.uid.as_str().into()).or_default().insert(uid.clone());
        }
        let before = |state: fn(&Node) -> bool| old.as_ref().is_some_and(state);
        if node.abandons_dependents() && !before(Node::abandons_dependents) {
            tasks.push(Task::Orphan(uid.clone()));
        }
        if node.waits_for_dependents() && !before(Node::waits_for_dependents) {
            tasks.push(Task::Judge(uid.clone()));
            tasks.extend(self.dependents(&uid).cloned().map(Task::Judge));
        }
        let all_solid = node.owners.iter().all(|owner| self.owner_state(&node, owner) == OwnerState::Solid);
        if !all_solid && old.as_ref().is_none_or(|old| old.owners != node.owners) {
            tasks.push(Task::Judge(uid.clone()));
        }
        self.nodes.insert(uid.clone(), node);
        if old.is_none() {
            tasks.extend(
                self.dependents(&uid).filter(|dependent| self.misnames(dependent, &uid)).cloned().map(Task::Judge),
            );
        }
        tasks
    }

    /// Takes in that an object is gone, or out of sight. Gives what follows from it.
    pub(super) fn forget(&mut self, uid: &str, loss: Loss) -> Vec<Task> {
        let Some(node) = self.nodes.remove(uid) else { return Vec::new() };
        let gone: Uid = uid.into();
        let mut tasks: Vec<_> = self.dependents(uid).cloned().map(Task::Judge).collect();
        for owner in &node.owners {
            self.unlink(&owner.uid, &gone);
            if self.nodes.get(&*owner.uid).is_some_and(Node::waits_for_dependents) {
                tasks.push(Task::Judge(owner.uid.as_str().into()));
            }
        }
        if loss == Loss::Deleted {
            self.departed.add(gone, node.place);
        }
        tasks
    }

    /// All objects of a kind.
    pub(super) fn of_kind(&self, kind: &GroupKind) -> HashSet<Uid> {
        self.nodes.iter().filter(|(_, node)| node.place.kind == *kind).map(|(uid, _)| uid.clone()).collect()
    }

    /// Those that an object owns.
    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = &Uid> {
        self.dependents.get(uid).into_iter().flatten()
    }

    /// Those that an object owns and that must be gone before it goes.
    pub(super) fn blocking_dependents(&self, uid: &str) -> Vec<Uid> {
        let blocks = |dependent: &&Uid| self.nodes.get(&***dependent).is_some_and(|node| node.blocks(uid));
        self.dependents(uid).filter(blocks).cloned().collect()
    }

    /// How it is with an owner that `node` names.
    pub(super) fn owner_state(&self, node: &Node, owner: &OwnerReference) -> OwnerState {
        let departed = || self.departed.place_of(&owner.uid);
        match self.nodes.get(&*owner.uid) {
            None if departed().is_some_and(|place| place.is_named_by(node, owner)) => OwnerState::Gone,
            None => OwnerState::Unseen,
            Some(found) if !found.place.is_named_by(node, owner) => OwnerState::Elsewhere,
            Some(found) if found.waits_for_dependents() => OwnerState::Waiting,
            Some(_) => OwnerState::Solid,
        }
    }

    /// Whether an object names an owner by its UID, but not where it is.
    fn misnames(&self, dependent: &str, owner: &str) -> bool {
        let Some(node) = self.nodes.get(dependent) else { return false };
        let mut references = node.owners.iter().filter(|reference| reference.uid == owner);
        references.any(|reference| self.owner_state(node, reference) == OwnerState::Elsewhere)
    }

    fn unlink(&mut self, owner: &str, dependent: &Uid) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(dependent);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }
}

#[cfg(test)]
mod tests;
