//! LocalResourceQuotaAllocations: what a project is told of the allocations that apply to it.

use std::collections::BTreeMap;

use bailiwick_machinery::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kind::{TypeMeta, kind};

/// LocalResourceQuotaAllocation shows a project one ResourceQuotaAllocation that applies to it. A change of the project's
/// ResourceQuotas is allowed if what they then come to is, for each resource, at most "remaining" or at most "usedHere".
/// It has the name of the allocation, and cannot be written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalResourceQuotaAllocation {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The allocation.
    pub allocation_name: String,
    /// The scopes of the ResourceQuotas that count; all of them count if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The most that all its projects may have together.
    pub hard: BTreeMap<String, Quantity>,
    /// What they have.
    pub used: BTreeMap<String, Quantity>,
    /// What this project has of that.
    pub used_here: BTreeMap<String, Quantity>,
    /// The most that this project can have at present: what is left by the others.
    pub remaining: BTreeMap<String, Quantity>,
}

kind!(
    LocalResourceQuotaAllocation,
    "quota.bailiwick.dev",
    "v1alpha1",
    "localresourcequotaallocations",
    NamespaceResourceScope
);
