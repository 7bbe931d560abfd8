//! OrgGroups: sets of an organization's members that its administrators manage.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

    /// The parts; `None` if it is not two names.
    pub fn parse(name: &'n str) -> Option<Self> {
        let (organization, group) = name.split_once(Self::SEPARATOR)?;
        let whole = !organization.is_empty() && !group.is_empty() && !group.contains(Self::SEPARATOR);
        whole.then_some(Self { organization, group })
    }
}
