//! OrgRoleBindings: what an organization's groups may do in a project that it owns.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::kind::{TypeMeta, kind};

/// OrgRoleBinding gives a ClusterRole, in its namespace, to OrgGroups of the Organization that owns the namespace, and to
/// users and groups. Whoever writes one needs the rights that writing a RoleBinding of that role would need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OrgRoleBinding {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The role that is given. It cannot be changed: delete the binding and make another.
    #[schemars(required)]
    pub role_ref: OrgRoleRef,
    /// OrgGroups that have the role, by their whole names, "<organization>:<group>". They have it for as long as their
    /// Organization owns the namespace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"), length(max = 1_000))]
    pub org_groups: Vec<String>,
    /// Users who have the role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"), length(max = 1_000))]
    pub users: Vec<String>,
    /// Groups whose users have the role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"), length(max = 1_000))]
    pub groups: Vec<String>,
    /// What has become of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<OrgRoleBindingStatus>,
}

/// OrgRoleRef names a role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrgRoleRef {
    /// The group of the role: rbac.authorization.k8s.io.
    #[serde(default = "rbac_group")]
    pub api_group: String,
    /// The kind of the role: ClusterRole.
    #[serde(default = "cluster_role")]
    pub kind: String,
    /// The name of the role.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// OrgRoleBindingStatus is what has become of an OrgRoleBinding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OrgRoleBindingStatus {
    /// What is the case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The RoleBindings that carry it out where the cluster's own authorization decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub role_bindings: Vec<String>,
}

kind!(OrgRoleBinding, "org.bailiwick.dev", "v1alpha1", "orgrolebindings", NamespaceResourceScope);

// === impl OrgRoleBinding ===

impl OrgRoleBinding {
    /// How namespaces begin in which nothing is given to anyone by organizations: whoever holds them holds the server.
    pub const RESERVED_NAMESPACES: &'static str = "kube-";
    /// What names of RoleBindings begin with that were made for one. No name of an OrgRoleBinding has a colon, so no two share a
    /// RoleBinding.
    pub const DERIVED_PREFIX: &'static str = "org-role-binding:";
}

// === impl OrgRoleRef ===

impl OrgRoleRef {
    /// The group of roles.
    pub const GROUP: &'static str = "rbac.authorization.k8s.io";
    /// The only kind of role that can be given: what a project's people can change themselves is no measure.
    pub const KIND: &'static str = "ClusterRole";
}

fn rbac_group() -> String {
    OrgRoleRef::GROUP.to_owned()
}

fn cluster_role() -> String {
    OrgRoleRef::KIND.to_owned()
}
