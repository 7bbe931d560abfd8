//! Organizations: who may manage groups of users for a set of projects, and of which users.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kind::{TypeMeta, kind};

/// Organization owns projects and groups of users. Its administrators manage its groups, out of its members. Membership
/// itself is changed by whoever may update the Organization.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Organization {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// Users who may manage the OrgGroups of this Organization. They may not change its members.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"), length(max = 10_000))]
    pub admin_users: Vec<String>,
    /// Groups whose users may manage the OrgGroups of this Organization. They may not change its members.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"), length(max = 10_000))]
    pub admin_groups: Vec<String>,
    /// Users who are members. Only members may be in an OrgGroup.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"), length(max = 10_000))]
    pub member_users: Vec<String>,
    /// Groups whose users are members. Only members may be in an OrgGroup.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"), length(max = 10_000))]
    pub member_groups: Vec<String>,
}

kind!(Organization, "org.bailiwick.dev", "v1alpha1", "organizations", ClusterResourceScope);
