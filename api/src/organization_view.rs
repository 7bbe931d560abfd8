//! What can be read of an organization below it: its members, and its projects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kind::{TypeMeta, kind};

/// OrganizationMembers is everyone who is a member of an Organization, with how they belong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OrganizationMembers {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// The name of the Organization.
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The members, in the order of their names.
    pub members: Vec<OrganizationMember>,
    /// Groups among the memberGroups of which there is no Group: only an identity provider can know who is in them, so
    /// nobody is a member by them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unresolved_groups: Vec<String>,
}

/// OrganizationMember is a user who is a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationMember {
    /// The user's name.
    pub user: String,
    /// How the user belongs: "memberUsers", or "Group/<name>" for a Group among the memberGroups.
    pub via: Vec<String>,
}

/// OrganizationProjects is every namespace that an Organization owns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OrganizationProjects {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// The name of the Organization.
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The names of the namespaces, in order.
    pub projects: Vec<String>,
}

kind!(OrganizationMembers, "org.bailiwick.dev", "v1alpha1", "", ClusterResourceScope);
kind!(OrganizationProjects, "org.bailiwick.dev", "v1alpha1", "", ClusterResourceScope);
