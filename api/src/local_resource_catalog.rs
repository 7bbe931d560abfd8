//! What someone can claim in a namespace.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kind::{TypeMeta, kind};
use crate::resource_catalog::ResourceCatalogInfo;

/// LocalResourceCatalog is a ResourceCatalog that whoever asks can claim from in its namespace. It can only be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalResourceCatalog {
    /// What kind of object this is.
    #[serde(flatten)]
    #[schemars(skip)]
    pub types: TypeMeta<Self>,
    /// The name of the catalog, in the namespace that it can be claimed from.
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The first 1,000 entries by namespace and name, or fewer if these say much. All are below this, at "entries".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<ResourceCatalogInfo>,
    /// How many entries there are.
    pub entry_count: i64,
}

kind!(LocalResourceCatalog, "catalog.bailiwick.dev", "v1alpha1", "localresourcecatalogs", NamespaceResourceScope);
