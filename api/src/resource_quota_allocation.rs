//! ResourceQuotaAllocations: one cap over many projects, divided among them by their ResourceQuotas.

use std::collections::BTreeMap;

use bailiwick_machinery::Quantity;
use k8s_openapi::api::core::v1::ScopeSelector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::kind::{TypeMeta, kind};

/// ResourceQuotaAllocation sets how much the ResourceQuotas of the selected projects may come to together. Whoever may write
/// these quotas divides it as they like. If several select a project, each must have room: the most restrictive one wins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["spec"]))]
pub struct ResourceQuotaAllocation {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// What is allotted, and to which projects.
    pub spec: ResourceQuotaAllocationSpec,
    /// What the projects' ResourceQuotas come to. Written by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ResourceQuotaAllocationStatus>,
}

kind!(ResourceQuotaAllocation, "quota.bailiwick.dev", "v1alpha1", "resourcequotaallocations", ClusterResourceScope);

/// ResourceQuotaAllocationSpec is what is allotted, and to which projects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["selector", "allocation"]))]
pub struct ResourceQuotaAllocationSpec {
    /// Selects the projects by the labels of their namespaces. An empty selector selects all of them; those of the system
    /// are never selected.
    pub selector: LabelSelector,
    /// The most that the ResourceQuotas of all selected projects may come to.
    pub allocation: AllocationQuota,
    /// What becomes of a project that no ResourceQuota limits in everything that is allotted, and that would be unlimited
    /// so.
    pub uncovered_policy: UncoveredPolicy,
    /// With uncoveredPolicy Default: what the ResourceQuota allows that is made for such a project.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub default: BTreeMap<String, Quantity>,
}

/// AllocationQuota is written like the spec of a ResourceQuota.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["hard"]))]
pub struct AllocationQuota {
    /// The most of each resource, by the names that ResourceQuotas use.
    pub hard: BTreeMap<String, Quantity>,
    /// Count only ResourceQuotas with exactly these scopes. Without scopes all ResourceQuotas count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub scopes: Vec<String>,
    /// The same as scopes, and more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_selector: Option<ScopeSelector>,
}

/// What becomes of a project that is not limited in all that is allotted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UncoveredPolicy {
    /// The condition Uncovered names it.
    #[default]
    Report,
    /// A ResourceQuota "default" is made for it that allows nothing.
    Zero,
    /// A ResourceQuota "default" is made for it that allows what spec.default says.
    Default,
}

/// ResourceQuotaAllocationStatus is what the projects' ResourceQuotas come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceQuotaAllocationStatus {
    /// All projects together.
    pub allocated: AllocatedAmounts,
    /// How many projects are selected.
    pub project_count: i64,
    /// The projects that have most, at most 100 of them, and fewer if these take much room. The subresource "projects" has
    /// all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["namespace"]))]
    pub used_by_project: Vec<ProjectUsage>,
    /// What is the case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// AllocatedAmounts is what all selected projects have together, and what they may have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AllocatedAmounts {
    /// The most that they may have.
    pub hard: BTreeMap<String, Quantity>,
    /// What they have.
    pub used: BTreeMap<String, Quantity>,
}

/// ProjectUsage is what one project has of an allocation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectUsage {
    /// The project's namespace.
    pub namespace: String,
    /// What it has.
    pub used: BTreeMap<String, Quantity>,
    /// The ResourceQuotas of which that is made. A status leaves out those that take much room.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub quotas: Vec<QuotaUsage>,
}

/// QuotaUsage is what one ResourceQuota contributes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct QuotaUsage {
    /// The ResourceQuota's name.
    pub name: String,
    /// The ResourceQuota's UID; empty while it is only about to be made.
    pub uid: String,
    /// Differs between specs that are not the same.
    pub spec_hash: String,
    /// The larger one of what it allows and what is used of it.
    pub charge: BTreeMap<String, Quantity>,
}

/// ResourceQuotaAllocationProjects is what each project has of an allocation, a page of them at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceQuotaAllocationProjects {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The projects, in the order of their names.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["namespace"]))]
    pub projects: Vec<ProjectUsage>,
    /// What to ask for next, as the parameter "continue"; empty on the last page.
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    pub continue_token: String,
}

kind!(
    ResourceQuotaAllocationProjects,
    "quota.bailiwick.dev",
    "v1alpha1",
    "resourcequotaallocationprojects",
    ClusterResourceScope
);
