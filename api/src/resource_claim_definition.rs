//! Definitions of claims: the purpose of a kind of claim, from which its CustomResourceDefinition is made.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::condition::Condition;
use crate::kind::{TypeMeta, kind};

/// ResourceClaimDefinition defines a kind of claim: a wish for something, such as a database, that does not say how it comes
/// true. What all claims have in common (selecting a class, references, a connection secret, a binding phase, conditions,
/// columns) is filled in; the definition states the fields that are special to its purpose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimDefinition {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[serde(default)]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The kind of claim.
    pub spec: ResourceClaimDefinitionSpec,
    /// What became of it. Written by the server and its controllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ResourceClaimDefinitionStatus>,
}

kind!(ResourceClaimDefinition, "claim.bailiwick.dev", "v1alpha1", "resourceclaimdefinitions", ClusterResourceScope);

/// A kind of claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimDefinitionSpec {
    /// The API group of the claims. It cannot be changed.
    pub group: String,
    /// What the claims are called.
    pub names: ClaimNames,
    /// The version in which the claims are served. It cannot be changed.
    pub version: String,
    /// The fields that are special to the purpose of the claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<ClaimValidation>,
}

/// What a kind of claim is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimNames {
    /// The kind of a claim, in CamelCase. It cannot be changed.
    pub kind: String,
    /// The kind of a list. Absent means the kind with "List" behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_kind: Option<String>,
    /// The name in paths, in lower case. It cannot be changed.
    pub plural: String,
    /// The name of one, in lower case. Absent means the kind in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub singular: Option<String>,
    /// Shorter names for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<String>,
    /// Sets of kinds that it belongs to, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

/// What claims consist of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimValidation {
    /// The structural schema of a claim, with the fields of its spec that are special to it. A missing "type: object" is
    /// filled in.
    #[serde(rename = "openAPIV3Schema", default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub open_api_v3_schema: Option<Map<String, Value>>,
}

/// What became of a definition of claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceClaimDefinitionStatus {
    /// What is the case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The CustomResourceDefinition that serves the claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_resource_definition: Option<String>,
    /// ClusterRoles by which people who work in a namespace, and the provisioner, can use the claims, as a List that can be
    /// applied. They are not made by themselves: whoever administers the cluster decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub cluster_roles: Option<Map<String, Value>>,
    /// The metadata.generation that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

// === impl ResourceClaimDefinitionSpec ===

impl ResourceClaimDefinitionSpec {
    /// What the CustomResourceDefinition is called.
    pub fn custom_resource_definition(&self) -> String {
        format!("{}.{}", self.names.plural, self.group)
    }

    /// The apiVersion of claims.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }
}
