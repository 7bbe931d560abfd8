//! Definitions of bindings: which resources satisfy a kind of claim, and how they are chosen and made.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::claims::Transforms;
use crate::condition::Condition;
use crate::kind::{TypeMeta, kind};
use crate::requester::Requester;

/// ResourceBindingDefinition says which kinds of resources satisfy a kind of claim, which classes they are made from, how a
/// class is selected, and how a resource is formed from claim and class. There may be several for one kind of claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceBindingDefinition {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[serde(default)]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// What satisfies which claims.
    pub spec: ResourceBindingDefinitionSpec,
    /// What became of it. Written by the server and its controllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ResourceBindingDefinitionStatus>,
}

kind!(ResourceBindingDefinition, "claim.bailiwick.dev", "v1alpha1", "resourcebindingdefinitions", ClusterResourceScope);

/// What satisfies which claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceBindingDefinitionSpec {
    /// The kind of claim. It cannot be changed.
    pub claim: KindReference,
    /// The resources that together satisfy a claim, in the order in which they are made. A kind that is needed more than once
    /// is repeated.
    #[schemars(length(min = 1, max = 16))]
    pub resources: Vec<BoundResource>,
    /// The namespaces whose claims it is for. Absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimable_from: Option<LabelSelector>,
    /// Which resources a claim may be bound to by naming them in its spec.resourceRef. Absent means Consented.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_ref_policy: Option<ResourceRefPolicy>,
}

/// A kind of object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KindReference {
    /// The group and version: "database.example.org/v1".
    pub api_version: String,
    /// The kind.
    pub kind: String,
}

/// Which resources claims may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ResourceRefPolicy {
    /// Those that already name the claim.
    #[default]
    Consented,
    /// Any that is not bound.
    Any,
}

/// One of the resources that satisfy a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoundResource {
    /// The kind of the resource.
    pub resource: KindReference,
    /// What it is made from.
    pub class: ClassReference,
    /// What the next resource waits for: that this one was created, or that it is ready. Absent means Created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_for: Option<WaitFor>,
    /// Whether an unbound resource that satisfies the claim is bound before one is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prefer_existing: bool,
}

/// What the next resource waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WaitFor {
    /// That this one was created.
    #[default]
    Created,
    /// That this one is ready.
    Ready,
}

/// A kind of class, and how it is used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClassReference {
    /// The group and version: "database.example.org/v1".
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// How a class is selected, and a resource is formed. Absent means that the class's .specTemplate becomes the resource's
    /// .spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategies: Option<Strategies>,
}

/// How a class is selected, and a resource is formed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Strategies {
    /// The strategies that constrain which classes can satisfy a claim.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub selection: Vec<SelectionStrategy>,
    /// A field of the claim equals a field of the class.
    #[serde(rename = "match", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub matches: Vec<Match>,
    /// The strategies by which a resource is formed, in this order. None at all means an overlay of the class's .specTemplate
    /// on the resource's .spec.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub provisioning: Vec<ProvisioningStrategy>,
    /// A field of the class becomes a field of the resource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub overlay: Vec<Overlay>,
    /// A field of the claim becomes a field of the resource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub translate: Vec<Translate>,
}

/// A strategy of selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SelectionStrategy {
    /// Fields of the claim equal fields of the class.
    Match,
}

/// A strategy of provisioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProvisioningStrategy {
    /// Fields of the class become fields of the resource.
    Overlay,
    /// Fields of the claim become fields of the resource.
    Translate,
}

/// A field of the claim that equals a field of the class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Match {
    /// The field of the claim: ".spec.engineVersion". A claim that does not have it wants nothing in particular.
    pub from_claim_field: String,
    /// The field of the class. A class that does not have it is not eligible.
    pub to_class_field: String,
    /// What is done with the claim's value before it is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transforms: Option<Transforms>,
}

/// A field of the class that becomes a field of the resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overlay {
    /// The field of the class. A class that does not have it contributes nothing.
    pub from_class_field: String,
    /// The field of the resource. Objects are merged into what is there.
    pub to_resource_field: String,
}

/// A field of the claim that becomes a field of the resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Translate {
    /// The field of the claim. A claim that does not have it contributes nothing.
    pub from_claim_field: String,
    /// The field of the resource.
    pub to_resource_field: String,
    /// What is done with the value on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transforms: Option<Transforms>,
}

/// What became of a definition of bindings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceBindingDefinitionStatus {
    /// What is the case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// How many claims are satisfied by it, or about to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<i64>,
    /// The classes that claims use, and how many do; at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassUse>,
    /// What it named before, and claims may still have by it: that is looked after until they have gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub former_resources: Vec<FormerResource>,
    /// A ClusterRole that lets the provisioner handle these kinds, as it can be applied. It is not made by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub cluster_role: Option<Map<String, Value>>,
    /// Who wrote the spec: what the definition makes the provisioner do, they must be allowed themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requester: Option<Requester>,
    /// The metadata.generation that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// What a definition of bindings named before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormerResource {
    /// The kind of the resource.
    pub resource: KindReference,
    /// The kind of what it was made from.
    pub class: KindReference,
}

/// A class that claims use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClassUse {
    /// The kind of the class.
    pub kind: String,
    /// The namespace of the class, if it has one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name of the class.
    pub name: String,
    /// How many claims use it.
    pub claims: i64,
}

// === impl ResourceBindingDefinition ===

impl ResourceBindingDefinition {
    /// What it named before, and does not name any more; and what `old` named besides, in whose place it is.
    pub fn former_resources(&self, old: &Self) -> Vec<FormerResource> {
        let before = |definition: &Self| {
            let status = definition.status.as_ref();
            status.map(|status| status.former_resources.clone()).unwrap_or_default()
        };
        let mut former = before(self);
        former.extend(old.spec.resources.iter().map(FormerResource::of));
        let now: Vec<FormerResource> = self.spec.resources.iter().map(FormerResource::of).collect();
        let mut kept: Vec<FormerResource> = Vec::new();
        for entry in former {
            if !now.iter().chain(&kept).any(|other| other.is_same(&entry)) {
                kept.push(entry);
            }
        }
        kept
    }
}

// === impl FormerResource ===

impl FormerResource {
    /// The kinds that an entry names.
    fn of(entry: &BoundResource) -> Self {
        Self { resource: entry.resource.clone(), class: entry.class.reference() }
    }

    /// Whether it is the same kinds, whatever the versions.
    fn is_same(&self, other: &Self) -> bool {
        self.resource.is_same_kind(&other.resource.api_version, &other.resource.kind)
            && self.class.is_same_kind(&other.class.api_version, &other.class.kind)
    }
}

// === impl KindReference ===

impl KindReference {
    /// The group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// The version.
    pub fn version(&self) -> &str {
        self.api_version.rsplit_once('/').map_or(&self.api_version, |(_, version)| version)
    }

    /// Whether it is the same kind, whatever the version.
    pub fn is_same_kind(&self, api_version: &str, kind: &str) -> bool {
        self.kind == kind && self.group() == api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }
}

// === impl ClassReference ===

impl ClassReference {
    /// The kind alone.
    pub fn reference(&self) -> KindReference {
        KindReference { api_version: self.api_version.clone(), kind: self.kind.clone() }
    }
}
