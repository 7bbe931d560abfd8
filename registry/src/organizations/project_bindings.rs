//! What OrgRoleBindings come to, in the namespaces that organizations own.
//!
//! Each becomes a binding of the policy, with those of its groups that belong to the organization that owns its namespace.
//! When a namespace changes hands, what its OrgRoleBindings come to changes in the same step.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use bailiwick_api::{OrgGroupName, OrgRoleBinding, OrgRoleRef, group_of_user};
use k8s_openapi::api::rbac::v1::{RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::projects::organization_of;
use crate::follow::{Change, Picture, Place};
use crate::rbac::{LivePolicy, PolicyChange, PolicyKey, PolicyKind, PolicyObject};
use crate::typed::typed_or_told;

/// Keeps a policy up to date with OrgRoleBindings.
pub(super) struct ProjectBindings {
    policy: Arc<LivePolicy>,
    /// Held while the policy is changed, so that both sides agree on what it has.
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The organization that owns a namespace.
    owners: HashMap<String, String>,
    bindings: HashMap<String, BTreeMap<String, OrgRoleBinding>>,
}

/// What it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Namespaces,
    Bindings,
}

/// Puts the objects of one kind into it.
pub(super) struct Follower {
    bindings: Arc<ProjectBindings>,
    side: Side,
}

// === impl ProjectBindings ===

impl ProjectBindings {
    pub(super) fn new(policy: Arc<LivePolicy>) -> Arc<Self> {
        Arc::new(Self { policy, known: Mutex::default() })
    }

    pub(super) fn follower(self: &Arc<Self>, side: Side) -> Follower {
        Follower { bindings: self.clone(), side }
    }
}

// === impl Known ===

impl Known {
    /// What a change of a namespace changes in the policy.
    fn namespace(&mut self, change: Change) -> Vec<PolicyChange> {
        let (name, owner) = match change {
            Change::Set(object) => {
                let owner = organization_of(&object).map(str::to_owned);
                (object.metadata().name().to_owned(), owner)
            }
            Change::Removed(place) => (place.name, None),
        };
        let before = match &owner {
            Some(owner) => self.owners.insert(name.clone(), owner.clone()),
            None => self.owners.remove(&name),
        };
        if before == owner {
            return Vec::new();
        }
        let bindings = self.bindings.get(&name).into_iter().flat_map(BTreeMap::values);
        bindings.map(|binding| self.set(&name, binding)).collect()
    }

    /// What a change of an OrgRoleBinding changes in the policy.
    fn binding(&mut self, change: Change) -> PolicyChange {
        let (place, binding) = match change {
            Change::Set(object) => (Place::of(&object), typed_or_told::<OrgRoleBinding>(&object)),
            Change::Removed(place) => (place, None),
        };
        let Place { namespace, name } = place;
        match binding {
            Some(binding) => {
                let change = self.set(&namespace, &binding);
                self.bindings.entry(namespace).or_default().insert(name, binding);
                change
            }
            None => {
                if let Some(bindings) = self.bindings.get_mut(&namespace) {
                    bindings.remove(&name);
                    if bindings.is_empty() {
                        self.bindings.remove(&namespace);
                    }
                }
                PolicyChange::Remove(PolicyKey { kind: PolicyKind::OrgBinding, namespace, name })
            }
        }
    }

    fn set(&self, namespace: &str, binding: &OrgRoleBinding) -> PolicyChange {
        let owner = self.owners.get(namespace).map(String::as_str);
        PolicyChange::Set(Box::new(PolicyObject::OrgRoleBinding(equivalent(namespace, owner, binding))))
    }
}

/// The role, as a RoleBinding names it.
pub(super) fn role(role: &OrgRoleRef) -> RoleRef {
    RoleRef { api_group: Some(role.api_group.clone()), kind: role.kind.clone(), name: role.name.clone() }
}

/// The binding that an OrgRoleBinding stands for, where an organization owns the namespace.
fn equivalent(namespace: &str, owner: Option<&str>, binding: &OrgRoleBinding) -> RoleBinding {
    let subject = |kind: &str, name: String| Subject {
        api_group: Some(binding.role_ref.api_group.clone()),
        kind: kind.to_owned(),
        name,
        namespace: None,
    };
    let is_owners = |group: &&String| OrgGroupName::parse(group).is_some_and(|name| Some(name.organization) == owner);
    let org_groups = binding.org_groups.iter().filter(is_owners).map(|group| subject("Group", group_of_user(group)));
    // Others could have this name only if it was written past the rules.
    let groups = binding.groups.iter().filter(|group| !group.starts_with(OrgGroupName::PREFIX));
    let groups = groups.map(|group| subject("Group", group.clone()));
    let users = binding.users.iter().map(|user| subject("User", user.clone()));
    RoleBinding {
        metadata: ObjectMeta {
            name: binding.metadata.name.clone(),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        role_ref: role(&binding.role_ref),
        subjects: Some(org_groups.chain(users).chain(groups).collect()),
    }
}

// === impl Side ===

impl Side {
    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Bindings => "orgrolebindings",
        }
    }
}

// === impl Follower ===

impl Picture for Follower {
    fn apply(&mut self, changes: Vec<Change>) {
        let mut known = self.bindings.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut effects = Vec::new();
        for change in changes {
            match self.side {
                Side::Namespaces => effects.extend(known.namespace(change)),
                Side::Bindings => effects.push(known.binding(change)),
            }
        }
        if !effects.is_empty() {
            self.bindings.policy.apply(effects);
        }
    }
}

#[cfg(test)]
mod tests;
