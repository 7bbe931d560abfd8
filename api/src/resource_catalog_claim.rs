//! Claims: copies of what a catalog's entry publishes, wanted in a namespace.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::kind::{TypeMeta, kind};

/// ResourceCatalogClaim asks for the resources of a catalog's entry in its own namespace.
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
    /// The catalog to claim from.
    pub catalog_name: String,
    /// The entry of that catalog.
    pub resource_catalog_entry: EntryReference,
    /// Whether later changes of the entry are followed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_synchronized: bool,
    /// The service account of this namespace as which the resources are created. Absent means "default".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Labels that the created resources get in addition to their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub additional_labels: BTreeMap<String, String>,
    /// What the names of the created resources begin with.
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
    /// Its UID, where only this very entry will do.
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
    /// The generation of the entry they were made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_generation: Option<i64>,
    /// The spec.generation they were made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The metadata.generation of the claim that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
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
