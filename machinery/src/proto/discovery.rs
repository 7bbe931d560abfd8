//! The messages of discovery.

use prost::Message;
use serde::{Serialize, Serializer};

use super::meta::{ListMeta, ObjectMeta};
use super::{Encode, Readable, envelope};
use crate::discovery::{self, Document};

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct ApiVersions {
    #[prost(string, repeated, tag = "1")]
    versions: Vec<String>,
    #[prost(message, repeated, tag = "2")]
    #[serde(rename = "serverAddressByClientCIDRs")]
    server_addresses: Vec<ServerAddress>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct ApiGroupList {
    #[prost(message, repeated, tag = "1")]
    groups: Vec<ApiGroup>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiGroup {
    #[prost(string, required, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "2")]
    versions: Vec<GroupVersion>,
    #[prost(message, required, tag = "3")]
    preferred_version: GroupVersion,
    #[prost(message, repeated, tag = "4")]
    #[serde(rename = "serverAddressByClientCIDRs", skip_serializing_if = "Vec::is_empty")]
    server_addresses: Vec<ServerAddress>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerAddress {
    #[prost(string, required, tag = "1")]
    #[serde(rename = "clientCIDR")]
    client_cidr: String,
    #[prost(string, required, tag = "2")]
    server_address: String,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion {
    #[prost(string, required, tag = "1")]
    group_version: String,
    #[prost(string, required, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiResourceList {
    #[prost(string, required, tag = "1")]
    group_version: String,
    #[prost(message, repeated, tag = "2")]
    resources: Vec<ApiResource>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResource {
    #[prost(string, required, tag = "1")]
    name: String,
    #[prost(bool, required, tag = "2")]
    namespaced: bool,
    #[prost(string, required, tag = "3")]
    kind: String,
    #[prost(message, optional, tag = "4")]
    #[serde(serialize_with = "as_list")]
    verbs: Option<Verbs>,
    #[prost(string, repeated, tag = "5")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    short_names: Vec<String>,
    #[prost(string, required, tag = "6")]
    singular_name: String,
    #[prost(string, repeated, tag = "7")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    categories: Vec<String>,
    #[prost(string, required, tag = "8")]
    #[serde(skip_serializing_if = "String::is_empty")]
    group: String,
    #[prost(string, required, tag = "9")]
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    #[prost(string, required, tag = "10")]
    #[serde(skip_serializing_if = "String::is_empty")]
    storage_version_hash: String,
}

/// A list that can be absent.
#[derive(Clone, PartialEq, Message)]
struct Verbs {
    #[prost(string, repeated, tag = "1")]
    items: Vec<String>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct ApiGroupDiscoveryList {
    #[prost(message, required, tag = "1")]
    metadata: ListMeta,
    #[prost(message, repeated, tag = "2")]
    items: Vec<ApiGroupDiscovery>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
struct ApiGroupDiscovery {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, repeated, tag = "2")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    versions: Vec<ApiVersionDiscovery>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
struct ApiVersionDiscovery {
    #[prost(string, required, tag = "1")]
    version: String,
    #[prost(message, repeated, tag = "2")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resources: Vec<ApiResourceDiscovery>,
    #[prost(string, required, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    freshness: String,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResourceDiscovery {
    #[prost(string, required, tag = "1")]
    resource: String,
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    response_kind: Option<GroupVersionKind>,
    #[prost(string, required, tag = "3")]
    scope: String,
    #[prost(string, required, tag = "4")]
    singular_resource: String,
    #[prost(string, repeated, tag = "5")]
    verbs: Vec<String>,
    #[prost(string, repeated, tag = "6")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    short_names: Vec<String>,
    #[prost(string, repeated, tag = "7")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    categories: Vec<String>,
    #[prost(message, repeated, tag = "8")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<ApiSubresourceDiscovery>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiSubresourceDiscovery {
    #[prost(string, required, tag = "1")]
    subresource: String,
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    response_kind: Option<GroupVersionKind>,
    #[prost(message, repeated, tag = "3")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    accepted_types: Vec<GroupVersionKind>,
    #[prost(string, repeated, tag = "4")]
    verbs: Vec<String>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
struct GroupVersionKind {
    #[prost(string, required, tag = "1")]
    group: String,
    #[prost(string, required, tag = "2")]
    version: String,
    #[prost(string, required, tag = "3")]
    kind: String,
}

// === the older documents ===

impl From<&discovery::ApiVersions> for ApiVersions {
    fn from(document: &discovery::ApiVersions) -> Self {
        Self { versions: document.versions.clone(), server_addresses: all(&document.server_addresses) }
    }
}

impl From<&discovery::ApiGroupList> for ApiGroupList {
    fn from(document: &discovery::ApiGroupList) -> Self {
        Self { groups: all(&document.groups) }
    }
}

impl From<&discovery::ApiGroup> for ApiGroup {
    fn from(group: &discovery::ApiGroup) -> Self {
        Self {
            name: group.name.clone(),
            versions: all(&group.versions),
            preferred_version: (&group.preferred_version).into(),
            server_addresses: all(&group.server_addresses),
        }
    }
}

impl From<&discovery::ServerAddress> for ServerAddress {
    fn from(address: &discovery::ServerAddress) -> Self {
        Self { client_cidr: address.client_cidr.clone(), server_address: address.server_address.clone() }
    }
}

impl From<&discovery::GroupVersionForDiscovery> for GroupVersion {
    fn from(version: &discovery::GroupVersionForDiscovery) -> Self {
        Self { group_version: version.group_version.clone(), version: version.version.clone() }
    }
}

impl From<&discovery::ApiResourceList> for ApiResourceList {
    fn from(list: &discovery::ApiResourceList) -> Self {
        Self { group_version: list.group_version.clone(), resources: all(&list.resources) }
    }
}

impl From<&discovery::ApiResource> for ApiResource {
    fn from(resource: &discovery::ApiResource) -> Self {
        Self {
            name: resource.name.clone(),
            namespaced: resource.namespaced,
            kind: resource.kind.clone(),
            verbs: Some(Verbs { items: resource.verbs.clone() }),
            short_names: resource.short_names.clone(),
            singular_name: resource.singular_name.clone(),
            categories: resource.categories.clone(),
            group: resource.group.clone(),
            version: resource.version.clone(),
            storage_version_hash: resource.storage_version_hash.clone(),
        }
    }
}

// === the document of everything ===

impl From<&discovery::ApiGroupDiscoveryList> for ApiGroupDiscoveryList {
    fn from(document: &discovery::ApiGroupDiscoveryList) -> Self {
        Self { metadata: (&document.metadata).into(), items: all(&document.items) }
    }
}

impl From<&discovery::ApiGroupDiscovery> for ApiGroupDiscovery {
    fn from(group: &discovery::ApiGroupDiscovery) -> Self {
        let metadata = ObjectMeta { name: group.metadata.name.clone(), ..ObjectMeta::default() };
        Self { metadata, versions: all(&group.versions) }
    }
}

impl From<&discovery::ApiVersionDiscovery> for ApiVersionDiscovery {
    fn from(version: &discovery::ApiVersionDiscovery) -> Self {
        Self {
            version: version.version.clone(),
            resources: all(&version.resources),
            freshness: version.freshness.as_str().to_owned(),
        }
    }
}

impl From<&discovery::ApiResourceDiscovery> for ApiResourceDiscovery {
    fn from(resource: &discovery::ApiResourceDiscovery) -> Self {
        Self {
            resource: resource.resource.clone(),
            response_kind: resource.response_kind.as_ref().map(GroupVersionKind::from),
            scope: resource.scope.as_str().to_owned(),
            singular_resource: resource.singular_resource.clone(),
            verbs: resource.verbs.clone(),
            short_names: resource.short_names.clone(),
            categories: resource.categories.clone(),
            subresources: all(&resource.subresources),
        }
    }
}

impl From<&discovery::ApiSubresourceDiscovery> for ApiSubresourceDiscovery {
    fn from(subresource: &discovery::ApiSubresourceDiscovery) -> Self {
        Self {
            subresource: subresource.subresource.clone(),
            response_kind: subresource.response_kind.as_ref().map(GroupVersionKind::from),
            accepted_types: all(&subresource.accepted_types),
            verbs: subresource.verbs.clone(),
        }
    }
}

impl From<&discovery::ResponseKind> for GroupVersionKind {
    fn from(kind: &discovery::ResponseKind) -> Self {
        Self { group: kind.group.clone(), version: kind.version.clone(), kind: kind.kind.clone() }
    }
}

impl Encode for discovery::ApiVersions {
    fn to_protobuf(&self) -> Vec<u8> {
        envelope(self.api_version(), Self::KIND, &ApiVersions::from(self))
    }
}

impl Encode for discovery::ApiGroupList {
    fn to_protobuf(&self) -> Vec<u8> {
        envelope(self.api_version(), Self::KIND, &ApiGroupList::from(self))
    }
}

impl Encode for discovery::ApiGroup {
    fn to_protobuf(&self) -> Vec<u8> {
        envelope(self.api_version(), Self::KIND, &ApiGroup::from(self))
    }
}

impl Encode for discovery::ApiResourceList {
    fn to_protobuf(&self) -> Vec<u8> {
        envelope(self.api_version(), Self::KIND, &ApiResourceList::from(self))
    }
}

impl Encode for discovery::ApiGroupDiscoveryList {
    fn to_protobuf(&self) -> Vec<u8> {
        envelope(self.api_version(), Self::KIND, &ApiGroupDiscoveryList::from(self))
    }
}

impl Readable for ApiVersions {}
impl Readable for ApiGroupList {}
impl Readable for ApiGroup {}
impl Readable for ApiResourceList {}

impl Readable for ApiGroupDiscoveryList {
    fn json_parts(&self) -> usize {
        self.items.iter().map(|group| group.metadata.json_parts()).sum()
    }
}

fn all<'i, I, M: From<&'i I>>(items: &'i [I]) -> Vec<M> {
    items.iter().map(M::from).collect()
}

fn as_list<S: Serializer>(verbs: &Option<Verbs>, serializer: S) -> Result<S::Ok, S::Error> {
    verbs.as_ref().map(|verbs| &verbs.items).serialize(serializer)
}
