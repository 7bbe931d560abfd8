//! Bundles: objects that depend on each other, and how values of some become fields of others.
//!
//! The types are what people write. What follows from a Bundle alone (its graph, its references, what is wrong with it) is
//! in the modules below, as functions of their arguments: who accepts a Bundle and who carries it out ask the same ones.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::condition::Condition;
use crate::kind::{TypeMeta, kind};
use crate::requester::Requester;

mod apply_set;
mod graph;
mod path;
mod plan;
mod reference;
mod secrets;
mod status_room;
mod template;

pub use apply_set::{
    APPLY_SET_ID_LABEL, GROUP_KINDS_ANNOTATION, PART_OF_LABEL, TOOLING_ANNOTATION, apply_set_id, group_kinds,
};
pub use graph::{Cycle, Graph};
pub use path::{MAX_SEGMENTS, ObjectPath, PathError, Segment};
pub use plan::{
    MAX_PROBLEMS, MAX_REFERENCES, MAX_RESOURCES, OBJECT_NAME_FORM, Plan, PlannedResource, Problem, ProblemKind,
};
pub use reference::{Part, Reference, ReferenceError};
pub use secrets::{is_secret, is_secret_kind, may_hold_secrets};
pub use status_room::{MAX_MESSAGE, max_message, status_room};
pub use template::{Form, MAX_VALUE_BYTES, MAX_VALUES_BYTES, RenderError, Template, TemplateError, Use};

/// Bundle is a set of objects that depend on each other. They are created and updated in the order of their dependencies,
/// each once those that it depends on are ready, and deleted in the reverse order. Fields of a dependency can be used in what
/// depends on it: "$(name.path)" is its value as text, "$((name.path))" its value as it is, and "$$(" stands for "$(".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bundle {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[serde(default)]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default)]
    pub spec: BundleSpec,
    /// What became of it. Written by the server and its controllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<BundleStatus>,
}

kind!(Bundle, "bundle.bailiwick.dev", "v1alpha1", "bundles", NamespaceResourceScope);

/// BundleSpec is what a Bundle wants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BundleSpec {
    /// The objects. At most 200.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]), length(max = 200))]
    pub resources: Vec<BundleResource>,
    /// The service account of this namespace as which the objects are read, written and deleted. Whoever writes the Bundle
    /// must be allowed to impersonate it. Absent means "default".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub service_account_name: Option<String>,
    /// Whether a reference to a resource that is not in dependsOn makes it a dependency, instead of being refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub infer_dependencies: bool,
}

/// BundleResource is one object of a Bundle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundleResource {
    /// What the object is called within the Bundle: letters, digits, "-" and "_".
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?$"))]
    pub name: String,
    /// Resources of this Bundle that must be ready before the object is created or updated. Only their fields can be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"), length(max = 200))]
    pub depends_on: Vec<String>,
    /// What becomes of the object when it is not wanted any more: Delete, Orphan, Retain or Protect. Absent means Delete.
    #[serde(default, skip_serializing_if = "Lifecycle::is_default")]
    pub lifecycle: Lifecycle,
    /// Whether values that come from Secrets may be used in fields of this object in which others than Secrets' readers see
    /// them. Without it, such a value may only become data of a Secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_secret_values: bool,
    /// The object: apiVersion, kind, metadata.name and whatever else it has. It is always in the Bundle's own namespace.
    #[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub spec: Value,
}

/// What becomes of an object when it is taken out of its Bundle, and when the Bundle goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Lifecycle {
    /// It is deleted.
    #[default]
    Delete,
    /// It stays, and is nobody's from then on.
    Orphan,
    /// It is deleted when it is taken out of the Bundle, and stays when the Bundle goes.
    Retain,
    /// It stays, and so does all that it needs: the Bundle does not go before this has been changed.
    Protect,
}

/// BundleStatus is what became of a Bundle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BundleStatus {
    /// What is the case with each resource, in the order of the spec.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub resources: Vec<BundleResourceStatus>,
    /// How many resources are ready, of how many: "3/4".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// What the Bundle waits for the longest. Absent if it waits for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<CriticalPath>,
    /// What was created for this Bundle and may still exist, whether or not it is still wanted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inventory: Vec<InventoryItem>,
    /// What resources have put out and others of this Bundle use, or still name though another output has taken its place.
    /// Whoever made it should keep it for as long as it is named here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputInUse>,
    /// What is the case with the Bundle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The metadata.generation of the Bundle that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The UID that the service account had when the spec was written. Another account of its name is not used.
    #[serde(rename = "serviceAccountUID", skip_serializing_if = "Option::is_none")]
    pub service_account_uid: Option<String>,
    /// Who last wrote the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requester: Option<Requester>,
}

/// BundleResourceStatus is what is the case with one resource of a Bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BundleResourceStatus {
    /// The resource.
    pub name: String,
    /// How far it has come: Blocked, InProgress, Ready or Error.
    pub phase: Phase,
    /// Why, as one word for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, for people: exactly what is missing, or wrong.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Since when that is the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub since: Option<String>,
    /// How many seconds it took to become ready, the last time that it was made or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_after_seconds: Option<i64>,
    /// The object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<BundleObject>,
}

/// CriticalPath is what a Bundle waits for the longest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CriticalPath {
    /// Resources that are not ready, each of which waits for the one before it. The first is what holds up the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// When the last of them should be ready: if each takes as long as it took before, or as others of its kind took in this
    /// Bundle. Absent if that is not known, or if something is wrong or waits for what is not of this Bundle. A time that has
    /// passed means that it takes longer this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub estimated_ready_time: Option<String>,
}

/// How far a resource of a Bundle has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// It waits for something else.
    #[default]
    Blocked,
    /// The object is as wanted, and not ready yet.
    InProgress,
    /// The object is as wanted, and ready.
    Ready,
    /// It cannot be made as wanted.
    Error,
}

/// BundleObject names an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BundleObject {
    /// The object's apiVersion.
    pub api_version: String,
    /// The object's kind.
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// The object's UID. Empty if it is not known whether the object was created.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// InventoryItem is an object that was created for a Bundle, or was about to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InventoryItem {
    /// The resource that it was created for.
    pub resource: String,
    /// The object.
    pub object: BundleObject,
    /// The resources that it depended on. They are deleted after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// What becomes of it when it is not wanted any more.
    #[serde(skip_serializing_if = "Lifecycle::is_default")]
    pub lifecycle: Lifecycle,
}

/// OutputInUse is a Secret or ConfigMap that a resource has put out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OutputInUse {
    /// The resource that has put it out.
    pub resource: String,
    /// The name of the Secret or ConfigMap.
    pub name: String,
}

// === impl Lifecycle ===

impl Lifecycle {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

// === impl Bundle ===

impl Bundle {
    /// The group under which the same objects are served to those who know them by it.
    pub const ALIAS_GROUP: &'static str = "smith.atlassian.com";
    /// The version of it.
    pub const ALIAS_VERSION: &'static str = "v1";
    /// Keeps a Bundle until what it created is gone.
    pub const FINALIZER: &'static str = "bundle.bailiwick.dev/cleanup";
    /// What precedes the keys of annotations that say of a type when its objects are ready, and what they put out.
    pub const ANNOTATION_PREFIX: &'static str = "smith.atlassian.com/";
}

// === impl BundleSpec ===

impl BundleSpec {
    /// The service account that acts, if none is named.
    pub const DEFAULT_SERVICE_ACCOUNT: &'static str = "default";

    /// The service account that acts.
    pub fn service_account_name(&self) -> &str {
        self.service_account_name.as_deref().unwrap_or(Self::DEFAULT_SERVICE_ACCOUNT)
    }
}

// === impl BundleResource ===

impl BundleResource {
    /// The object, which is all of `spec`, or its field `object`, as Smith had it in the end.
    pub fn object(&self) -> &Value {
        match self.spec.get("object") {
            Some(object @ Value::Object(_)) if self.spec.get("apiVersion").is_none() => object,
            Some(_) | None => &self.spec,
        }
    }
}

// === impl BundleObject ===

impl BundleObject {
    /// The group of its kind, whatever the version.
    pub fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// Whether both names mean the same place, whatever the version and whoever is there.
    pub fn is_at(&self, other: &Self) -> bool {
        (self.group(), &self.kind, &self.name) == (other.group(), &other.kind, &other.name)
    }
}

impl fmt::Display for BundleObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} \"{}\"", self.kind, self.name)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocked => "Blocked",
            Self::InProgress => "InProgress",
            Self::Ready => "Ready",
            Self::Error => "Error",
        })
    }
}
