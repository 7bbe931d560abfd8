//! Claims: copies of what a catalog's entry publishes, wanted in a namespace.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::kind::{TypeMeta, kind};
use crate::requester::Requester;
use crate::resource_catalog_entry::{ListedResource, PinnedAccount};
use crate::service_account::ServiceAccountRef;

/// ResourceCatalogClaim asks for the resources of a catalog's entry in its own namespace. They are made there as a service
/// account of the namespace, and so never more than that account may make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceCatalogClaim {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[serde(default)]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: ResourceCatalogClaimSpec,
    /// What became of it. Written by the server and its controllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ResourceCatalogClaimStatus>,
}

kind!(ResourceCatalogClaim, "catalog.bailiwick.dev", "v1alpha1", "resourcecatalogclaims", NamespaceResourceScope);

/// What a claim asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceCatalogClaimSpec {
    /// The catalog to claim from. It cannot be changed.
    pub catalog_name: String,
    /// The entry of that catalog. Only its UID can be changed.
    pub resource_catalog_entry: EntryReference,
    /// Whether the resources are kept as the entry has them, now and later: they can change without warning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_synchronized: bool,
    /// The service account of this namespace as which the resources are created, changed and deleted. Absent means "default".
    /// Whoever writes the claim must be allowed to "impersonate" it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Labels that the created resources get, in addition to their own and instead of those of the same name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub additional_labels: BTreeMap<String, String>,
    /// What the names of the created resources begin with. Long names can become too long by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_prefix: Option<String>,
    /// Another number makes the resources anew once, without keepSynchronized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// What becomes of the created resources when the claim is deleted. Absent means Delete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
}

/// An entry of a catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryReference {
    /// The namespace it lies in.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID. If it is left out, it becomes that of the entry there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// What becomes of created resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// They are deleted with the claim.
    #[default]
    Delete,
    /// They stay.
    Orphan,
}

/// What became of a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceCatalogClaimStatus {
    /// What is the case with the claim.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Resources that could not be made, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ClaimError>,
    /// Resources that were made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub created_resources: Vec<CreatedResource>,
    /// Resources that are about to be made, or may have been without anyone having told of it. Of these the claim has made what it
    /// owns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_resources: Vec<ListedResource>,
    /// The generation of the entry they were made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_generation: Option<i64>,
    /// The spec.generation they were made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The metadata.generation of the claim that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The kind of the entry's extension, if it is one: whoever realizes such claims finds them by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realizer: Option<String>,
    /// The service account as which the resources are made. One that takes its place under the same name makes nothing,
    /// until the spec is written again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account: Option<PinnedAccount>,
    /// Who last wrote what the claim asks for: what they have lost the right to is not done any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requester: Option<Requester>,
}

/// A resource that could not be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimError {
    /// The resource's apiVersion.
    pub api_version: String,
    /// The resource's kind.
    pub kind: String,
    /// The resource's name.
    pub name: String,
    /// Why, as one word for programs.
    pub reason: String,
    /// Why, for people.
    pub message: String,
}

/// A resource that was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CreatedResource {
    /// The resource's apiVersion.
    pub api_version: String,
    /// The resource's kind.
    pub kind: String,
    /// The resource's name.
    pub name: String,
    /// The resource's UID.
    pub uid: String,
}

// === impl ResourceCatalogClaim ===

impl ResourceCatalogClaim {
    /// The condition that says whether all resources are there.
    pub const READY: &'static str = "Ready";
    /// The condition that says whether a claim follows its entry that is to.
    pub const SYNCED: &'static str = "Synced";
    /// What keeps a claim until its resources have been let go that are to stay.
    pub const ORPHAN_FINALIZER: &'static str = "catalog.bailiwick.dev/orphan-resources";

    /// Who owns the fields of its resources: no other claim is called so.
    pub fn field_manager(&self) -> String {
        format!("catalog-claim/{}", self.metadata.uid.as_deref().unwrap_or_default())
    }
}

// === impl ResourceCatalogClaimSpec ===

impl ResourceCatalogClaimSpec {
    /// The service account as which the resources are made.
    pub fn account(&self) -> &str {
        self.service_account_name.as_deref().unwrap_or(ServiceAccountRef::DEFAULT)
    }
}
