//! ReadinessRules: when objects of a kind are ready, for kinds whose definition one cannot annotate.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kind::{TypeMeta, kind};

/// ReadinessRule says when objects of a kind are ready, for Bundles that contain them. It counts more than annotations of the
/// kind's definition. Of several rules for one kind, the first by name counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadinessRule {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[serde(default)]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The rule.
    pub spec: ReadinessRuleSpec,
}

kind!(ReadinessRule, "bundle.bailiwick.dev", "v1alpha1", "readinessrules", ClusterResourceScope);

/// ReadinessRuleSpec is a rule: a path and a value, or a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadinessRuleSpec {
    /// The kind that the rule is about.
    pub selector: KindSelector,
    /// The field that says whether an object is ready: "status.phase".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1_024))]
    pub path: Option<String>,
    /// What the field is when the object is ready. Numbers and booleans are compared by what they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1_024))]
    pub value: Option<String>,
    /// The type of a condition in status.conditions that is "True" when the object is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 316))]
    pub condition: Option<String>,
}

/// KindSelector names a kind in all its versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KindSelector {
    /// The group. Absent means the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind.
    #[schemars(length(min = 1))]
    pub kind: String,
}
