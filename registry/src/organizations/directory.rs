//! Who is in which group, and who administers which organization: asked with every request.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use bailiwick_api::{Group, OrgGroup, OrgGroupName, Organization, group_of_user};

use super::Memberships;
use super::currency::{Currency, Standing};
use super::sets::Sets;
use crate::User;
use crate::follow::{Change, Picture};
use crate::typed::typed_or_told;

/// Who is in which group, and who administers which organization.
///
/// A question costs what the groups cost that the user is in, however many others there are.
#[derive(Debug)]
pub struct Directory {
    index: RwLock<Index>,
    count: GroupsCount,
    currency: Currency,
}

/// Whether Groups are groups of their users in authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupsCount {
    /// They are: this server decides who may what.
    Yes,
    /// They only make members and administrators: a cluster decides, which knows nothing of them.
    ForOrganizations,
}

#[derive(Debug, Default)]
struct Index {
    groups: Sets,
    /// By their whole names.
    org_groups: Sets,
    organizations: HashMap<String, People>,
}

/// Who belongs to an organization, and who runs it.
#[derive(Debug)]
struct People {
    admin_users: HashSet<String>,
    admin_groups: HashSet<String>,
    member_users: HashSet<String>,
    member_groups: HashSet<String>,
}

/// What the directory is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Groups,
    Organizations,
    OrgGroups,
}

/// Puts the objects of one kind into the directory.
pub(super) struct Follower {
    directory: Arc<Directory>,
    part: Part,
    standing: Standing,
}

// === impl Directory ===

impl Directory {
    /// An empty one.
    pub fn new(count: GroupsCount) -> Self {
        Self { index: RwLock::default(), count, currency: Currency::default() }
    }

    /// Whether a user administers an organization: by name, by a Group, or by a group that came with the request.
    pub fn is_administrator(&self, user: &User, organization: &str) -> bool {
        let index = self.read();
        let Some(people) = index.organizations.get(organization) else { return false };
        people.admin_users.contains(&user.name)
            || user.groups.iter().any(|group| people.admin_groups.contains(group))
            || index.groups.of(&user.name).any(|group| people.admin_groups.contains(&**group))
    }

    pub(super) fn follower(self: &Arc<Self>, part: Part) -> Follower {
        Follower { directory: self.clone(), part, standing: Standing::default() }
    }

    /// Whether it, and what else is followed with it, is what is stored.
    pub(super) fn currency(&self) -> &Currency {
        &self.currency
    }

    fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memberships for Directory {
    /// Groups that begin like those of organizations are believed of nobody, and stated for those who are in them.
    fn groups(&self, user: &User) -> Option<Vec<String>> {
        let index = self.read();
        let is_ours = |group: &String| group.starts_with(OrgGroupName::PREFIX);
        let mut more: Vec<String> = match self.count {
            GroupsCount::Yes => index.groups.of(&user.name).map(ToString::to_string).collect(),
            GroupsCount::ForOrganizations => Vec::new(),
        };
        more.retain(|group| !user.groups.contains(group));
        more.extend(index.effective(&user.name).map(group_of_user));
        if more.is_empty() && !user.groups.iter().any(is_ours) {
            return None;
        }
        let mut groups = user.groups.clone();
        groups.retain(|group| !is_ours(group));
        groups.extend(more);
        Some(groups)
    }
}

// === impl Index ===

impl Index {
    /// The OrgGroups that name a user who is a member of their organization.
    fn effective<'i>(&'i self, user: &'i str) -> impl Iterator<Item = &'i str> {
        self.org_groups
            .of(user)
            .map(|name| &**name)
            .filter(move |name| OrgGroupName::parse(name).is_some_and(|name| self.is_member(user, name.organization)))
    }

    fn is_member(&self, user: &str, organization: &str) -> bool {
        let Some(people) = self.organizations.get(organization) else { return false };
        people.member_users.contains(user) || self.groups.of(user).any(|group| people.member_groups.contains(&**group))
    }

    fn apply(&mut self, part: Part, change: Change) {
        let object = match change {
            Change::Removed(place) => return self.remove(part, &place.name),
            Change::Set(object) => object,
        };
        let name = object.metadata().name();
        let is_known = match part {
            Part::Groups => typed_or_told(&object).map(|group: Group| self.groups.put(name, group.users)).is_some(),
            Part::OrgGroups => {
                typed_or_told(&object).map(|group: OrgGroup| self.org_groups.put(name, group.users)).is_some()
            }
            Part::Organizations => {
                let people = typed_or_told(&object).map(People::of);
                people.map(|people| self.organizations.insert(name.to_owned(), people)).is_some()
            }
        };
        if !is_known {
            self.remove(part, name);
        }
    }

    fn remove(&mut self, part: Part, name: &str) {
        match part {
            Part::Groups => self.groups.remove(name),
            Part::OrgGroups => self.org_groups.remove(name),
            Part::Organizations => drop(self.organizations.remove(name)),
        }
    }
}

// === impl People ===

impl People {
    fn of(organization: Organization) -> Self {
        Self {
            admin_users: organization.admin_users.into_iter().collect(),
            admin_groups: organization.admin_groups.into_iter().collect(),
            member_users: organization.member_users.into_iter().collect(),
            member_groups: organization.member_groups.into_iter().collect(),
        }
    }
}

// === impl Part ===

impl Part {
    /// Whoever is put into a group is known as a member first.
    pub(super) const ALL: [Self; 3] = [Self::Groups, Self::Organizations, Self::OrgGroups];

    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Groups => "groups",
            Self::Organizations => "organizations",
            Self::OrgGroups => "orggroups",
        }
    }
}

// === impl Follower ===

impl Picture for Follower {
    fn apply(&mut self, changes: Vec<Change>) {
        let mut index = self.directory.index.write().unwrap_or_else(PoisonError::into_inner);
        changes.into_iter().for_each(|change| index.apply(self.part, change));
    }

    fn reached(&mut self, _: u64) {
        self.directory.currency.find(&mut self.standing);
    }

    fn lost(&mut self) {
        self.directory.currency.lose(&mut self.standing);
    }
}

#[cfg(test)]
mod tests;
