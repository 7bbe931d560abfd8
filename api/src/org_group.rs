//! OrgGroups: sets of an organization's members that its administrators manage.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::kind::{TypeMeta, kind};

/// OrgGroup is a set of members of one Organization, managed by its administrators. Roles can be bound to it in the
/// projects of that Organization only. Its name is "<organization>:<group>".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OrgGroup {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// Names of the users in the group.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"), length(max = 10_000))]
    pub users: Vec<String>,
    /// What is the case with the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<OrgGroupStatus>,
}

/// OrgGroupStatus is what is the case with an OrgGroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OrgGroupStatus {
    /// Users of the group who are no members of the Organization any more. The group has no effect for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub non_members: Vec<String>,
    /// What is the case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

kind!(OrgGroup, "org.bailiwick.dev", "v1alpha1", "orggroups", ClusterResourceScope);

/// The two parts of an OrgGroup's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrgGroupName<'n> {
    /// The Organization.
    pub organization: &'n str,
    /// The group within it.
    pub group: &'n str,
}

// === impl OrgGroupName ===

impl<'n> OrgGroupName<'n> {
    /// What separates them. No name of an Organization, and no name of a Group, contains it.
    pub const SEPARATOR: char = ':';
    /// What precedes the names of OrgGroups where they stand among other groups of a user. Nobody else's group is believed
    /// if it begins like this.
    pub const PREFIX: &'static str = "org:";

    /// The parts; `None` if it is not two names.
    pub fn parse(name: &'n str) -> Option<Self> {
        let (organization, group) = name.split_once(Self::SEPARATOR)?;
        let whole = !organization.is_empty() && !group.is_empty() && !group.contains(Self::SEPARATOR);
        whole.then_some(Self { organization, group })
    }
}

/// The name of an OrgGroup among the groups of a user: `org:Acme:developers`.
pub fn group_of_user(org_group: &str) -> String {
    format!("{}{org_group}", OrgGroupName::PREFIX)
}
