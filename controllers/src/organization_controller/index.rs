//! All that decides what groups and bindings come to, and which of them a change touches.
//!
//! A change of a person touches the groups that name this person, and what is bound to them; a change of a namespace's owner
//! touches the bindings in it. So a change costs what it touches, however much else there is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bailiwick_api::{Group, OWNER_LABEL, OrgGroup, OrgGroupName, OrgRoleBinding, Organization, Owner};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{RoleBinding, Subject};
use kube::api::PartialObjectMeta;

use super::account::Account;
use super::links::Links;
use super::parts::{binding_by_name, binding_of, has_role_of, subject};
use super::verdict::{self, Verdict};
use crate::place::Place;

/// How many users a group names who have nothing by it. The condition counts the others.
const MAX_NON_MEMBERS: usize = 100;

/// What became of an object; it is gone if there is none.
pub(super) enum Change {
    Group(Place, Option<Box<Group>>),
    Organization(Place, Option<Box<Organization>>),
    OrgGroup(Place, Option<Box<OrgGroup>>),
    Binding(Place, Option<Box<OrgRoleBinding>>),
    Namespace(Place, Option<Box<PartialObjectMeta<Namespace>>>),
    RoleBinding(Place, Option<Box<RoleBinding>>),
}

/// What is to be looked at again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Work {
    /// An OrgGroup, by its whole name.
    Group(String),
    Binding(Place),
}

/// What an OrgGroup comes to.
pub(super) struct GroupState {
    pub(super) group: OrgGroup,
    /// Those who have nothing by it, in order; the first of them, if there are many.
    pub(super) non_members: Vec<String>,
    pub(super) verdict: Verdict,
}

/// What an OrgRoleBinding comes to, and what there is of it.
#[derive(Default)]
pub(super) struct BindingState {
    /// None if it is gone.
    pub(super) binding: Option<OrgRoleBinding>,
    pub(super) verdict: Option<Verdict>,
    /// Whose the namespace is.
    pub(super) owner: Option<String>,
    /// Who is to have the role. Nobody, where nothing is to be bound.
    pub(super) subjects: Vec<Subject>,
    /// The RoleBindings that were made for it.
    pub(super) derived: BTreeMap<String, RoleBinding>,
}

/// All that decides.
#[derive(Default)]
pub(super) struct Index {
    groups: HashMap<String, BTreeSet<String>>,
    /// From users to the Groups that name them.
    memberships: Links<String>,
    organizations: HashMap<String, Members>,
    /// From Groups to the organizations whose members their users are.
    takers: Links<String>,
    org_groups: HashMap<String, OrgGroup>,
    /// From users to the OrgGroups that name them.
    groups_with: Links<String>,
    /// The organizations that own namespaces.
    owners: HashMap<String, String>,
    bindings: BTreeMap<Place, OrgRoleBinding>,
    /// From OrgGroups to the bindings that name them.
    bindings_with: Links<Place>,
    /// By the binding that they were made for.
    derived: HashMap<Place, BTreeMap<String, RoleBinding>>,
    /// For which binding a RoleBinding was made.
    derived_from: HashMap<Place, Place>,
    /// RoleBindings that are called like ours and do not say that they are.
    strays: HashMap<Place, RoleBinding>,
}

#[derive(Default)]
struct Members {
    users: BTreeSet<String>,
    groups: BTreeSet<String>,
}

// === impl Work ===

impl Work {
    /// The namespace that it is of: these take turns. Groups are nobody's.
    pub(super) fn namespace(&self) -> &str {
        match self {
            Self::Group(_) => "",
            Self::Binding(place) => &place.namespace,
        }
    }
}

// === impl Index ===

impl Index {
    /// Takes note of a change, and tells what it touches.
    pub(super) fn apply(&mut self, change: Change) -> BTreeSet<Work> {
        match change {
            Change::Group(place, group) => self.group(&place.name, group.map(|group| *group)),
            Change::Organization(place, organization) => self.organization(&place.name, organization.map(|o| *o)),
            Change::OrgGroup(place, group) => self.org_group(place.name, group.map(|group| *group)),
            Change::Binding(place, binding) => self.binding(place, binding.map(|binding| *binding)),
            Change::Namespace(place, namespace) => self.namespace(&place.name, namespace.as_deref()),
            Change::RoleBinding(place, binding) => self.role_binding(place, binding.map(|binding| *binding)),
        }
    }

    /// What an OrgGroup comes to; `None` if there is no such group.
    pub(super) fn group_state(&self, name: &str) -> Option<GroupState> {
        let group = self.org_groups.get(name)?.clone();
        let organization = OrgGroupName::parse(name)?.organization;
        let is_stranger = |user: &&String| !self.is_member(user, organization);
        let non_members: BTreeSet<String> = group.users.iter().filter(is_stranger).cloned().collect();
        let mut non_members: Vec<String> = non_members.into_iter().collect();
        let verdict = verdict::of_group(organization, &non_members);
        non_members.truncate(MAX_NON_MEMBERS);
        Some(GroupState { group, non_members, verdict })
    }

    /// What an OrgRoleBinding comes to: where an account makes RoleBindings for it, only in projects of organizations, and only
    /// for those to whom the account may bind a role.
    pub(super) fn binding_state(&self, place: &Place, bound_by: Option<&Account>) -> BindingState {
        let derived = self.derived.get(place).cloned().unwrap_or_default();
        let owner = self.owners.get(&place.namespace).map(String::as_str);
        let Some(binding) = self.bindings.get(place).cloned() else {
            return BindingState { derived, owner: owner.map(str::to_owned), ..BindingState::default() };
        };
        let missing: Vec<String> =
            binding.org_groups.iter().filter(|group| !self.org_groups.contains_key(*group)).cloned().collect();
        let nowhere = bound_by.and_then(|account| verdict::where_bound(&place.namespace, owner, account));
        let (subjects, left_out) = match (&nowhere, owner, bound_by) {
            (None, Some(owner), Some(account)) => {
                self.subjects(&binding, owner).into_iter().partition(|subject| account.may_bind_to(subject))
            }
            _ => (Vec::new(), Vec::new()),
        };
        let verdict = nowhere
            .or_else(|| verdict::of_left_out(&left_out))
            .unwrap_or_else(|| verdict::of_binding(&place.namespace, owner, &binding, &missing));
        let owner = owner.map(str::to_owned);
        BindingState { binding: Some(binding), verdict: Some(verdict), owner, subjects, derived }
    }

    /// Who has the role where this organization owns the namespace: users rather than groups of the organization, which the
    /// host would believe of anyone whose certificate or token says so.
    fn subjects(&self, binding: &OrgRoleBinding, owner: &str) -> Vec<Subject> {
        let is_owners = |group: &&String| OrgGroupName::parse(group).is_some_and(|name| name.organization == owner);
        let org_groups = binding.org_groups.iter().filter(is_owners).filter_map(|group| self.org_groups.get(group));
        let members = org_groups.flat_map(|group| &group.users).filter(|user| self.is_member(user, owner));
        let users: BTreeSet<&String> = members.chain(&binding.users).collect();
        let groups: BTreeSet<&String> =
            binding.groups.iter().filter(|group| !group.starts_with(OrgGroupName::PREFIX)).collect();
        let users = users.into_iter().map(|user| subject("User", user));
        users.chain(groups.into_iter().map(|group| subject("Group", group))).collect()
    }

    fn is_member(&self, user: &str, organization: &str) -> bool {
        let Some(members) = self.organizations.get(organization) else { return false };
        members.users.contains(user) || self.memberships.of(user).any(|group| members.groups.contains(group))
    }

    fn group(&mut self, name: &str, group: Option<Group>) -> BTreeSet<Work> {
        let now: BTreeSet<String> = group.into_iter().flat_map(|group| group.users).collect();
        let before = self.groups.remove(name).unwrap_or_default();
        self.memberships.change(&name.to_owned(), &before, &now);
        let work = self.people(before.symmetric_difference(&now), |organization| {
            self.takers.of(name).any(|taker| taker == organization)
        });
        if !now.is_empty() {
            self.groups.insert(name.to_owned(), now);
        }
        work
    }

    fn organization(&mut self, name: &str, organization: Option<Organization>) -> BTreeSet<Work> {
        let is_gone = organization.is_none();
        let now = organization.map(Members::of).unwrap_or_default();
        let before = self.organizations.remove(name).unwrap_or_default();
        self.takers.change(&name.to_owned(), &before.groups, &now.groups);
        let groups = before.groups.symmetric_difference(&now.groups);
        let by_groups = groups.filter_map(|group| self.groups.get(group)).flatten();
        let people = before.users.symmetric_difference(&now.users).chain(by_groups);
        let work = self.people(people, |organization| organization == name);
        if !is_gone {
            self.organizations.insert(name.to_owned(), now);
        }
        work
    }

    fn org_group(&mut self, name: String, group: Option<OrgGroup>) -> BTreeSet<Work> {
        let users = |group: Option<&OrgGroup>| -> BTreeSet<String> {
            group.into_iter().flat_map(|group| group.users.iter().cloned()).collect()
        };
        let before = self.org_groups.remove(&name);
        let (then, now) = (users(before.as_ref()), users(group.as_ref()));
        self.groups_with.change(&name, &then, &now);
        let work = if then != now || before.is_some() != group.is_some() {
            self.all_of(&name).collect()
        } else {
            BTreeSet::from([Work::Group(name.clone())])
        };
        if let Some(group) = group {
            self.org_groups.insert(name, group);
        }
        work
    }

    fn binding(&mut self, place: Place, binding: Option<OrgRoleBinding>) -> BTreeSet<Work> {
        let groups = |binding: Option<&OrgRoleBinding>| -> BTreeSet<String> {
            binding.into_iter().flat_map(|binding| binding.org_groups.iter().cloned()).collect()
        };
        let before = self.bindings.remove(&place);
        self.bindings_with.change(&place, &groups(before.as_ref()), &groups(binding.as_ref()));
        if let Some(binding) = binding {
            self.adopt(&place, &binding);
            self.bindings.insert(place.clone(), binding);
        }
        BTreeSet::from([Work::Binding(place)])
    }

    /// Takes for a binding's what its status says was made for it: whoever has taken off all that says so on the RoleBinding
    /// itself, while nobody looked, has not made it their own.
    fn adopt(&mut self, place: &Place, binding: &OrgRoleBinding) {
        for name in binding.status.iter().flat_map(|status| &status.role_bindings) {
            let made = Place { namespace: place.namespace.clone(), name: name.clone() };
            if let Some(stray) = self.strays.remove(&made) {
                match has_role_of(&stray, binding) {
                    true => self.derive(made, place.clone(), stray),
                    false => drop(self.strays.insert(made, stray)),
                }
            }
        }
    }

    /// The binding that says that a RoleBinding was made for it, which does not say so itself.
    fn recorded(&self, place: &Place, role_binding: &RoleBinding) -> Option<String> {
        let name = binding_by_name(&place.name)?;
        let from = Place { namespace: place.namespace.clone(), name: name.to_owned() };
        let binding = self.bindings.get(&from)?;
        let is_named = binding.status.as_ref().is_some_and(|status| status.role_bindings.contains(&place.name));
        (is_named && has_role_of(role_binding, binding)).then_some(from.name)
    }

    fn derive(&mut self, place: Place, from: Place, role_binding: RoleBinding) {
        self.derived.entry(from.clone()).or_default().insert(place.name.clone(), role_binding);
        self.derived_from.insert(place, from);
    }

    fn namespace(&mut self, name: &str, namespace: Option<&PartialObjectMeta<Namespace>>) -> BTreeSet<Work> {
        let owner = namespace.and_then(owner_of).map(str::to_owned);
        let before = match &owner {
            Some(owner) => self.owners.insert(name.to_owned(), owner.clone()),
            None => self.owners.remove(name),
        };
        if before == owner {
            return BTreeSet::new();
        }
        let first = Place { namespace: name.to_owned(), name: String::new() };
        let inside = self.bindings.range(first..).take_while(|(place, _)| place.namespace == name);
        inside.map(|(place, _)| Work::Binding(place.clone())).collect()
    }

    /// One that was made for a binding stays so, whatever becomes of its labels and owners.
    fn role_binding(&mut self, place: Place, binding: Option<RoleBinding>) -> BTreeSet<Work> {
        let mut touched = BTreeSet::new();
        let mut known = None;
        if let Some(from) = self.derived_from.remove(&place) {
            let mut uid = None;
            if let Some(derived) = self.derived.get_mut(&from) {
                uid = derived.remove(&place.name).and_then(|before| before.metadata.uid);
                if derived.is_empty() {
                    self.derived.remove(&from);
                }
            }
            touched.insert(Work::Binding(from.clone()));
            known = uid.map(|uid| (uid, from.name));
        }
        self.strays.remove(&place);
        let Some(binding) = binding else { return touched };
        let name = binding_of(&binding).map(str::to_owned).or_else(|| match known {
            Some((uid, name)) => (binding.metadata.uid.as_ref() == Some(&uid)).then_some(name),
            None => self.recorded(&place, &binding),
        });
        match name {
            Some(name) => {
                let from = Place { namespace: place.namespace.clone(), name };
                self.derive(place, from.clone(), binding);
                touched.insert(Work::Binding(from));
            }
            None if binding_by_name(&place.name).is_some() => drop(self.strays.insert(place, binding)),
            None => {}
        }
        touched
    }

    /// What a change of these people's membership in organizations touches.
    fn people<'p>(
        &self,
        people: impl IntoIterator<Item = &'p String>,
        is_concerned: impl Fn(&str) -> bool,
    ) -> BTreeSet<Work> {
        let groups: BTreeSet<&String> = people.into_iter().flat_map(|user| self.groups_with.of(user)).collect();
        let belongs = |group: &&String| OrgGroupName::parse(group).is_some_and(|name| is_concerned(name.organization));
        groups.into_iter().filter(belongs).flat_map(|group| self.all_of(group)).collect()
    }

    /// An OrgGroup, and what is bound to it.
    fn all_of(&self, group: &str) -> impl Iterator<Item = Work> {
        let bindings = self.bindings_with.of(group).cloned().map(Work::Binding);
        std::iter::once(Work::Group(group.to_owned())).chain(bindings)
    }
}

/// The organization that owns a namespace.
pub(super) fn owner_of(namespace: &PartialObjectMeta<Namespace>) -> Option<&str> {
    Owner::parse(namespace.metadata.labels.as_ref()?.get(OWNER_LABEL)?)?.organization()
}

// === impl Members ===

impl Members {
    fn of(organization: Organization) -> Self {
        Self {
            users: organization.member_users.into_iter().collect(),
            groups: organization.member_groups.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
