//! Discovery: what a server serves, told in two ways. The older one is a document for each group and each version, the
//! newer one a single document for all of them.
//!
//! The fields are serialized in upstream's order, so that the text of a document, and with it its ETag, is the same as
//! there.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256, Sha512};

use crate::group::GroupVersionKind;
use crate::partial::ListMeta;

/// A document of discovery.
pub trait Document: Serialize {
    /// Its kind.
    const KIND: &'static str;

    /// Its `apiVersion`. The oldest documents have none, and still must not have one.
    fn api_version(&self) -> &'static str;

    /// The document as JSON text.
    fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(&typed(self)).expect("its maps have texts as keys, and writing to memory does not fail")
    }

    /// The document as JSON text for people: indented by two spaces.
    fn to_json_pretty(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(&typed(self))
            .expect("its maps have texts as keys, and writing to memory does not fail")
    }
}

fn typed<D: Document + ?Sized>(document: &D) -> Typed<'_, D> {
    Typed { kind: D::KIND, api_version: document.api_version(), document }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Typed<'d, D: ?Sized> {
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'static str,
    #[serde(flatten)]
    document: &'d D,
}

/// The versions of the core group: `/api`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiVersions {
    /// The versions.
    pub versions: Vec<String>,
    /// Where to reach the server.
    #[serde(rename = "serverAddressByClientCIDRs")]
    pub server_addresses: Vec<ServerAddress>,
}

/// All groups but the core group: `/apis`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiGroupList {
    /// The groups.
    pub groups: Vec<ApiGroup>,
}

/// One group: `/apis/<group>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiGroup {
    /// Its name.
    pub name: String,
    /// Its versions, the best first.
    pub versions: Vec<GroupVersionForDiscovery>,
    /// The version to prefer.
    pub preferred_version: GroupVersionForDiscovery,
    /// Where to reach the server; said in the list of groups only.
    #[serde(rename = "serverAddressByClientCIDRs", skip_serializing_if = "Vec::is_empty")]
    pub server_addresses: Vec<ServerAddress>,
}

/// Where clients of a network reach the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerAddress {
    /// The network, such as `0.0.0.0/0`.
    #[serde(rename = "clientCIDR")]
    pub client_cidr: String,
    /// Host and port.
    pub server_address: String,
}

/// A version of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupVersionForDiscovery {
    /// The group and the version, as `apiVersion` writes them.
    pub group_version: String,
    /// The version.
    pub version: String,
}

/// The resources of one version: `/apis/<group>/<version>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiResourceList {
    /// The group and the version, as `apiVersion` writes them.
    pub group_version: String,
    /// The resources, and their subresources as resources of their own.
    pub resources: Vec<ApiResource>,
}

/// A resource, or a subresource such as `widgets/status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiResource {
    /// Its plural name.
    pub name: String,
    /// Its singular name; empty for a subresource.
    pub singular_name: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// The group of its objects, if it is another one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The version of its objects, if it is another one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The kind of its objects.
    pub kind: String,
    /// What it can do, sorted.
    pub verbs: Vec<String>,
    /// Shorter names for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<String>,
    /// Names that it shares with others, such as `all`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// In which version it is stored; see [`storage_version_hash`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub storage_version_hash: String,
}

/// Everything in one document: `/apis` or `/api`, if asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiGroupDiscoveryList {
    /// Always empty.
    pub metadata: ListMeta,
    /// The groups.
    pub items: Vec<ApiGroupDiscovery>,
}

/// A group, with its versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiGroupDiscovery {
    /// Its name.
    pub metadata: GroupMeta,
    /// Its versions, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<ApiVersionDiscovery>,
}

/// The metadata of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupMeta {
    /// Its name; empty for the core group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A version, with its resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiVersionDiscovery {
    /// The version.
    pub version: String,
    /// Its resources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ApiResourceDiscovery>,
    /// Whether what is said is true now.
    pub freshness: Freshness,
}

/// Whether what is said of a version is true now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Freshness {
    /// It is.
    #[default]
    Current,
    /// It was, when last heard of.
    Stale,
}

/// A resource, with its subresources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiResourceDiscovery {
    /// Its plural name.
    pub resource: String,
    /// The kind of its objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_kind: Option<ResponseKind>,
    /// Whether its objects are in namespaces.
    pub scope: Scope,
    /// Its singular name.
    #[serde(default)]
    pub singular_resource: String,
    /// What it can do, sorted.
    pub verbs: Vec<String>,
    /// Shorter names for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<String>,
    /// Names that it shares with others, such as `all`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Its subresources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subresources: Vec<ApiSubresourceDiscovery>,
}

/// Whether objects are in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// They are.
    Namespaced,
    /// They are not.
    Cluster,
}

/// A subresource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiSubresourceDiscovery {
    /// Its name, such as `status`.
    pub subresource: String,
    /// The kind that it answers with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_kind: Option<ResponseKind>,
    /// The kinds that it takes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_types: Vec<ResponseKind>,
    /// What it can do, sorted.
    pub verbs: Vec<String>,
}

/// A kind in one version, with its parts as fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResponseKind {
    /// The group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl Document for ApiVersions {
    const KIND: &'static str = "APIVersions";

    fn api_version(&self) -> &'static str {
        ""
    }
}

impl Document for ApiGroupList {
    const KIND: &'static str = "APIGroupList";

    fn api_version(&self) -> &'static str {
        ""
    }
}

impl Document for ApiGroup {
    const KIND: &'static str = "APIGroup";

    fn api_version(&self) -> &'static str {
        "v1"
    }
}

impl Document for ApiResourceList {
    const KIND: &'static str = "APIResourceList";

    fn api_version(&self) -> &'static str {
        // That of the core group is as old as the lists above.
        if self.group_version.contains('/') { "v1" } else { "" }
    }
}

impl Document for ApiGroupDiscoveryList {
    const KIND: &'static str = "APIGroupDiscoveryList";

    fn api_version(&self) -> &'static str {
        "apidiscovery.k8s.io/v2"
    }
}

impl From<&GroupVersionKind> for ResponseKind {
    fn from(gvk: &GroupVersionKind) -> Self {
        Self { group: gvk.group.to_string(), version: gvk.version.to_string(), kind: gvk.kind.to_string() }
    }
}

impl Scope {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaced => "Namespaced",
            Self::Cluster => "Cluster",
        }
    }
}

impl Freshness {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "Current",
            Self::Stale => "Stale",
        }
    }
}

/// Tells whether the version in which a resource is stored has changed. Clients compare it and read nothing from it.
pub fn storage_version_hash(stored: &GroupVersionKind) -> String {
    let hash = Sha256::digest(format!("{}/{}/{}", stored.group, stored.version, stored.kind));
    STANDARD.encode(hash.get(..8).unwrap_or_default())
}

impl ApiGroupDiscoveryList {
    /// Its `ETag` header. Upstream computes it from the document before its kind is known, and so does this: servers that
    /// serve the same have the same.
    pub fn etag(&self) -> String {
        etag(&serde_json::to_vec(self).expect("its maps have texts as keys, and writing to memory does not fail"))
    }
}

/// The `ETag` header of a text, with its quotes.
pub fn etag(json: &[u8]) -> String {
    let mut etag = String::with_capacity(2 + 2 * 64);
    etag.push('"');
    for byte in Sha512::digest(json) {
        for digit in [byte >> 4, byte & 0xf] {
            etag.push(char::from_digit(digit.into(), 16).unwrap_or_default().to_ascii_uppercase());
        }
    }
    etag.push('"');
    etag
}

#[cfg(test)]
mod tests;
