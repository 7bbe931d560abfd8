//! Who is a member of an organization, from its objects.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bailiwick_api::{Group, Organization, OrganizationMember, OrganizationMembers};
use bailiwick_storage::At;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::guard::find;
use crate::error::Result;
use crate::registry::Registry;
use crate::typed::typed;

/// Who is a member of an organization.
pub(crate) struct Members {
    organization: Organization,
    /// The users of its member groups; none of a group that is not known.
    groups: BTreeMap<String, Option<Vec<String>>>,
}

// === impl Members ===

impl Members {
    /// The members, as new as is asked for.
    pub(crate) async fn of(registry: &Registry, organization: Organization, at: At) -> Result<Self> {
        let mut groups = BTreeMap::new();
        for name in &organization.member_groups {
            let found = find(registry, "groups", name, at).await?;
            let users = found.map(|found| typed::<Group>(&found.object)).transpose()?.map(|group| group.users);
            groups.insert(name.clone(), users);
        }
        Ok(Self { organization, groups })
    }

    /// Those of some users who are no members.
    pub(crate) fn strangers<'u>(&self, users: impl IntoIterator<Item = &'u str>) -> Vec<&'u str> {
        let direct = self.organization.member_users.iter();
        let all: HashSet<&str> = direct.chain(self.groups.values().flatten().flatten()).map(String::as_str).collect();
        users.into_iter().filter(|user| !all.contains(user)).collect()
    }

    /// For people to read.
    pub(crate) fn view(&self) -> OrganizationMembers {
        let mut via: HashMap<&str, BTreeSet<String>> = HashMap::new();
        for user in &self.organization.member_users {
            via.entry(user).or_default().insert("memberUsers".to_owned());
        }
        let known = self.groups.iter().filter_map(|(group, users)| Some((group, users.as_ref()?)));
        for (group, user) in known.flat_map(|(group, users)| users.iter().map(move |user| (group, user))) {
            via.entry(user).or_default().insert(format!("Group/{group}"));
        }
        let member = |(user, via): (&str, BTreeSet<String>)| OrganizationMember {
            user: user.to_owned(),
            // Whoever belongs directly is told so first.
            via: via.into_iter().rev().collect(),
        };
        let mut members: Vec<OrganizationMember> = via.into_iter().map(member).collect();
        members.sort_by(|a, b| a.user.cmp(&b.user));
        let unknown = self.groups.iter().filter(|(_, users)| users.is_none());
        OrganizationMembers {
            metadata: ObjectMeta { name: self.organization.metadata.name.clone(), ..ObjectMeta::default() },
            members,
            unresolved_groups: unknown.map(|(group, _)| group.clone()).collect(),
            ..OrganizationMembers::default()
        }
    }
}
