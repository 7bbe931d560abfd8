//! Catalogs: which entries of all namespaces belong together, and who can have what they publish.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::grant::{Grant, Grantee};
use crate::kind::{TypeMeta, kind};
use crate::label_selector::selects;

/// ResourceCatalog gathers the ResourceCatalogEntries of all namespaces whose labels match its selector and that are accepted
/// into it. Cluster administrators decide which catalogs exist, who publishes in them, and where they can be claimed from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceCatalog {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[serde(default)]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// What belongs to the catalog, and where it can be claimed from.
    #[serde(default)]
    pub spec: ResourceCatalogSpec,
    /// What is in the catalog. Written by the server's controllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ResourceCatalogStatus>,
}

kind!(ResourceCatalog, "catalog.bailiwick.dev", "v1alpha1", "resourcecatalogs", ClusterResourceScope);

/// What belongs to a catalog, and where it can be claimed from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceCatalogSpec {
    /// Labels that entries must have. Absent selects nothing; {} selects every entry of every namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<BTreeMap<String, String>>,
    /// Which of the selected entries are accepted. Absent means policy Authorization.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<AcceptanceRule>,
    /// The namespaces that the catalog can be claimed from, by their labels. Absent means all. Whoever claims needs the verb
    /// "claim" on the catalog in the claim's namespace, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimable_from: Option<LabelSelector>,
}

/// Which selected entries are accepted into a catalog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AcceptanceRule {
    /// How it is decided. Absent means Authorization.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<AcceptancePolicy>,
    /// The namespaces whose entries are accepted, by their labels, for policy NamespaceSelector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
}

/// How it is decided which selected entries are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AcceptancePolicy {
    /// Those whose publisher may "publish" in the catalog, in the entry's namespace.
    #[default]
    Authorization,
    /// Those of selected namespaces.
    NamespaceSelector,
    /// All of them.
    All,
}

/// What is in a catalog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceCatalogStatus {
    /// What is the case with the catalog.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The first 1,000 entries by namespace and name, or fewer if these say much. All are below the catalog, at "entries".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<ResourceCatalogInfo>,
    /// How many entries there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_count: Option<i64>,
    /// The metadata.generation of the catalog that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// What is told of an entry to those who can claim it. How a claim is satisfied is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceCatalogInfo {
    /// The namespace of the entry.
    pub namespace: String,
    /// The name of the entry.
    pub name: String,
    /// The UID of the entry.
    pub uid: String,
    /// The generation of the entry that was accepted.
    pub generation: i64,
    /// What the entry's publisher says that it provides.
    pub description: String,
}

/// ResourceCatalogEntries is a part of what is in a catalog: as much as was asked for, behind what "continue" names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceCatalogEntries {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// The name of the catalog.
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The entries, in the order of namespaces and names.
    pub entries: Vec<ResourceCatalogInfo>,
    /// What to ask for to get those that follow; absent if there are none.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continue_: Option<String>,
}

kind!(ResourceCatalogEntries, "catalog.bailiwick.dev", "v1alpha1", "", ClusterResourceScope);

// === impl ResourceCatalogInfo ===

impl ResourceCatalogInfo {
    /// How many bytes it has as it is written. What publishers say of their entries can be long.
    pub fn written_bytes(&self) -> usize {
        serde_json::to_vec(self).map_or(usize::MAX, |written| written.len())
    }
}

// === impl ResourceCatalog ===

impl ResourceCatalog {
    /// The condition that says whether the catalog selects anything.
    pub const READY: &'static str = "Ready";
    /// How many entries the status holds at most.
    pub const MAX_ENTRIES: usize = 1_000;
    /// How many bytes these have at most, as they are written: half of what any object may have.
    pub const MAX_ENTRY_BYTES: usize = 512 * 1024;
    /// The verb that whoever claims from a catalog needs on it, in the claim's namespace.
    pub const CLAIM: &'static str = "claim";
    /// The verb that whoever publishes in a catalog needs on it, in the entry's namespace.
    pub const PUBLISH: &'static str = "publish";

    /// How a user is allowed to use a catalog in a namespace: one of the verbs above.
    pub fn how_to_allow(verb: &str, catalog: &str, namespace: &str, user: &str) -> String {
        let grant = Grant {
            role: &format!("{verb}-{catalog}"),
            namespace,
            verbs: verb,
            resource: "resourcecatalogs.catalog.bailiwick.dev",
            resource_name: Some(catalog),
            to: Grantee::User(user),
        };
        format!("whoever may, allows it with: {grant}")
    }

    /// Whether the selector takes an entry with these labels.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        let matches = |(key, value): (&String, &String)| labels.get(key) == Some(value);
        self.spec.selector.as_ref().is_some_and(|selector| selector.iter().all(matches))
    }

    /// Whether a namespace with these labels may have claims of it.
    pub fn is_claimable_from(&self, labels: &BTreeMap<String, String>) -> bool {
        self.spec.claimable_from.as_ref().is_none_or(|selector| selects(selector, labels))
    }

    /// How it is decided which selected entries are accepted.
    pub fn policy(&self) -> AcceptancePolicy {
        self.spec.accept.as_ref().and_then(|accept| accept.policy).unwrap_or_default()
    }

    /// Whether entries of a namespace with these labels are accepted, by the policy that looks at these only.
    pub fn accepts_namespace(&self, labels: &BTreeMap<String, String>) -> bool {
        let selector = self.spec.accept.as_ref().and_then(|accept| accept.namespace_selector.as_ref());
        selector.is_some_and(|selector| selects(selector, labels))
    }
}
