//! Entries: what someone publishes for others to claim.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::condition::Condition;
use crate::kind::{TypeMeta, kind};
use crate::requester::Requester;

/// ResourceCatalogEntry publishes resources. It is in each ResourceCatalog that selects its labels and accepts it. Whoever
/// writes one needs to be able to get everything that it exposes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceCatalogEntry {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// Standard object's metadata.
    #[serde(default)]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// What is published. Exactly one of localResources, resourceList and extension says how a claim is satisfied.
    pub spec: ResourceCatalogEntrySpec,
    /// What is exposed, and where. Written by the server and its controllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ResourceCatalogEntryStatus>,
}

kind!(ResourceCatalogEntry, "catalog.bailiwick.dev", "v1alpha1", "resourcecatalogentries", NamespaceResourceScope);

/// What an entry publishes. Only the description is told to those who claim it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceCatalogEntrySpec {
    /// What it provides, for those who choose from the catalog.
    #[schemars(length(max = 4096))]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The service account of this namespace as which exposed resources are read. It must be named for localResources, and it
    /// must be allowed to get and watch each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Resources of this namespace, of which whoever claims gets copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_resources: Option<LocalResourceSpec>,
    /// Resources that are made where they are claimed, and need not exist here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_list: Option<ResourceListSpec>,
    /// Any object, with apiVersion and kind, that tells a controller of yours how to satisfy claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<Map<String, Value>>,
}

/// Resources of the entry's namespace that are exposed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalResourceSpec {
    /// Whether what the resources depend on is exposed, too: what their annotations catalog.bailiwick.dev/depends-on name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transitive: bool,
    /// The resources.
    #[schemars(length(min = 1, max = 100))]
    pub exposed_resources: Vec<ExposedResource>,
}

/// A resource of the entry's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExposedResource {
    /// The resource's apiVersion, such as v1 or apps/v1.
    pub api_version: String,
    /// The resource's kind.
    pub kind: String,
    /// The resource's name.
    pub name: String,
    /// The resource's UID, if only this very one will do. In the status it is always there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// Resources that are made where they are claimed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceListSpec {
    /// The resources, in the order in which they are made. They have no namespace: it is that of the claim.
    #[schemars(length(min = 1, max = 100))]
    pub resources: Vec<Map<String, Value>>,
}

/// What an entry exposes, and where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceCatalogEntryStatus {
    /// What is the case with the entry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The catalogs that the entry is in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub catalogs: Vec<String>,
    /// Why catalogs that select the entry do not accept it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<EntryError>,
    /// The metadata.generation that was accepted into the catalogs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// What localResources come to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_resources: Option<LocalResourceStatus>,
    /// What resourceList comes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_list: Option<ResourceListStatus>,
    /// The service account as which exposed resources are read. One that takes its place under the same name reads nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account: Option<PinnedAccount>,
    /// Who published it as it is: they are asked for the right to publish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requester: Option<Requester>,
}

/// Why a catalog does not accept an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EntryError {
    /// The catalog.
    pub catalog: String,
    /// Why, as one word for programs.
    pub reason: String,
    /// Why, for people.
    pub message: String,
}

/// The resources that are exposed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalResourceStatus {
    /// The resources, each with its UID: another of the same name is not exposed.
    pub exposed_resources: Vec<ExposedResource>,
}

/// The resources that a claim makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceListStatus {
    /// The resources, by name.
    pub resources: Vec<ListedResource>,
}

/// A resource that a claim makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ListedResource {
    /// The resource's apiVersion.
    pub api_version: String,
    /// The resource's kind.
    pub kind: String,
    /// The resource's name.
    pub name: String,
}

/// A service account of a namespace, as it was found there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PinnedAccount {
    /// The account's name.
    pub name: String,
    /// The account's UID.
    pub uid: String,
}

/// How an entry satisfies claims: the one of the three that its spec has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Satisfier<'e> {
    /// By copies of resources.
    LocalResources(&'e LocalResourceSpec),
    /// By resources that are made of a list.
    ResourceList(&'e ResourceListSpec),
    /// By a controller outside of the server.
    Extension(&'e Map<String, Value>),
}

// === impl ResourceCatalogEntry ===

impl ResourceCatalogEntry {
    /// The condition that says whether the entry is in a catalog.
    pub const ACCEPTED: &'static str = "Accepted";
    /// The condition that says whether everything that the entry exposes was found.
    pub const RESOURCES_RESOLVED: &'static str = "ResourcesResolved";
    /// Why an entry is in no catalog if none selects it.
    pub const NOT_SELECTED: &'static str = "NotSelected";
    /// The same, for people.
    pub const NOT_SELECTED_MESSAGE: &'static str = "no catalog selects the labels of the entry";

    /// Whether it was accepted, as it is now, into this catalog.
    pub fn is_in(&self, catalog: &str) -> bool {
        self.status.as_ref().is_some_and(|status| status.catalogs.iter().any(|name| name == catalog))
    }

    /// Whether it was accepted into its catalogs as it is now, and not only as it was before.
    pub fn is_accepted(&self) -> bool {
        let accepted = self.status.as_ref().and_then(|status| status.generation);
        accepted.is_some() && accepted == self.metadata.generation
    }

    /// What is told of it in catalogs. How it describes itself is told once it was accepted so.
    pub fn info(&self) -> crate::ResourceCatalogInfo {
        let accepted = self.status.as_ref().and_then(|status| status.generation);
        crate::ResourceCatalogInfo {
            namespace: self.metadata.namespace.clone().unwrap_or_default(),
            name: self.metadata.name.clone().unwrap_or_default(),
            uid: self.metadata.uid.clone().unwrap_or_default(),
            generation: accepted.unwrap_or_default(),
            description: if self.is_accepted() { self.spec.description.clone() } else { String::new() },
        }
    }
}

// === impl ResourceCatalogEntrySpec ===

impl ResourceCatalogEntrySpec {
    /// How claims are satisfied; `None` if nothing says so, or more than one thing.
    pub fn satisfier(&self) -> Option<Satisfier<'_>> {
        let local = self.local_resources.as_ref().map(Satisfier::LocalResources);
        let list = self.resource_list.as_ref().map(Satisfier::ResourceList);
        let extension = self.extension.as_ref().map(Satisfier::Extension);
        let mut there = [local, list, extension].into_iter().flatten();
        there.next().filter(|_| there.next().is_none())
    }

    /// The kind of the extension: what whoever realizes its claims looks for.
    pub fn realizer(&self) -> Option<&str> {
        self.extension.as_ref()?.get("kind")?.as_str()
    }
}
