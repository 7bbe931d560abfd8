//! What the documents of discovery say.

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_machinery::discovery::{
    ApiGroup, ApiGroupDiscovery, ApiResource, ApiResourceDiscovery, ApiResourceList, ApiSubresourceDiscovery,
    ApiVersionDiscovery, ApiVersions, Freshness, GroupMeta, GroupVersionForDiscovery, ResponseKind, Scope,
    storage_version_hash,
};
use bailiwick_machinery::{GroupVersion, Scope as KindScope};
use bailiwick_registry::{ServedKind, SubresourceVerb, VirtualVerb};

use super::encodings::Encodings;
use super::version_order::best_first;

/// What can be done with every kind, in order.
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// What can be done with every status, in order.
const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];

/// What is said of a group. It is made anew only if one of its kinds has changed.
pub(super) struct GroupDocuments {
    pub(super) name: String,
    /// What it was made of.
    pub(super) kinds: Vec<Arc<ServedKind>>,
    /// Of two groups with the same resource, clients that name none take the first.
    pub(super) rank: Rank,
    /// Its versions, the best first.
    pub(super) document: ApiGroup,
    /// What is served in each of them.
    pub(super) versions: Vec<(GroupVersion, Arc<Encodings>)>,
    /// All of it in one.
    pub(super) aggregated: ApiGroupDiscovery,
}

/// Which groups come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Where kinds of the program are at home.
    Home,
    /// Where they are served, too.
    Elsewhere,
    /// Where all kinds are defined by data.
    Defined,
}

/// A subresource of a kind.
struct Subresource<'k> {
    name: &'static str,
    kind: &'k str,
    /// The group and version of its kind, if they are not the parent's.
    foreign: Option<&'k GroupVersion>,
    verbs: Vec<String>,
}

// === impl GroupDocuments ===

impl GroupDocuments {
    pub(super) fn new(name: &str, kinds: Vec<Arc<ServedKind>>) -> Self {
        let versions = versions(&kinds);
        let lists = versions
            .iter()
            .map(|(version, kinds)| ((*version).clone(), Arc::new(Encodings::new(resource_list(version, kinds)))));
        Self {
            name: name.to_owned(),
            rank: rank(name, &kinds),
            document: group(name, &versions),
            versions: lists.collect(),
            aggregated: aggregated(name, &versions),
            kinds,
        }
    }

    /// The names of its versions.
    pub(super) fn version_names(&self) -> ApiVersions {
        let versions = self.versions.iter().map(|(version, _)| version.version.to_string()).collect();
        ApiVersions { versions, server_addresses: Vec::new() }
    }
}

/// The kinds of a version, in the order of their plurals.
type KindsOfVersion<'k> = (&'k GroupVersion, Vec<&'k ServedKind>);

fn rank(name: &str, kinds: &[Arc<ServedKind>]) -> Rank {
    let native = || kinds.iter().filter(|kind| !kind.kind().is_defined());
    let is_home = |kind: &Arc<ServedKind>| kind.kind().stored_gvk().is_some_and(|stored| stored.group == name);
    match (native().any(is_home), native().next()) {
        (true, _) => Rank::Home,
        (false, Some(_)) => Rank::Elsewhere,
        (false, None) => Rank::Defined,
    }
}

fn group(name: &str, versions: &[KindsOfVersion<'_>]) -> ApiGroup {
    let told = |(version, _): &KindsOfVersion<'_>| GroupVersionForDiscovery {
        group_version: version.to_string(),
        version: version.version.to_string(),
    };
    let versions: Vec<_> = versions.iter().map(told).collect();
    ApiGroup {
        name: name.to_owned(),
        preferred_version: versions.first().cloned().unwrap_or_default(),
        versions,
        server_addresses: Vec::new(),
    }
}

fn aggregated(name: &str, versions: &[KindsOfVersion<'_>]) -> ApiGroupDiscovery {
    let told = |(version, kinds): &KindsOfVersion<'_>| ApiVersionDiscovery {
        version: version.version.to_string(),
        resources: kinds.iter().map(|kind| aggregated_resource(kind)).collect(),
        freshness: Freshness::Current,
    };
    ApiGroupDiscovery { metadata: GroupMeta { name: name.to_owned() }, versions: versions.iter().map(told).collect() }
}

fn versions(kinds: &[Arc<ServedKind>]) -> Vec<KindsOfVersion<'_>> {
    let mut by_version: BTreeMap<&GroupVersion, Vec<&ServedKind>> = BTreeMap::new();
    for kind in kinds {
        by_version.entry(&kind.version().group_version).or_default().push(kind);
    }
    let mut versions: Vec<_> = by_version.into_iter().collect();
    versions.sort_by(|(one, _), (other, _)| best_first(&one.version, &other.version));
    for (_, kinds) in &mut versions {
        kinds.sort_by(|one, other| one.kind().names().plural.cmp(&other.kind().names().plural));
    }
    versions
}

fn resource_list(version: &GroupVersion, kinds: &[&ServedKind]) -> ApiResourceList {
    let mut resources: Vec<_> = kinds.iter().flat_map(|kind| resources(kind)).collect();
    resources.sort_by(|one, other| one.name.cmp(&other.name));
    ApiResourceList { group_version: version.to_string(), resources }
}

/// A kind, and its subresources.
fn resources(kind: &ServedKind) -> Vec<ApiResource> {
    let (names, namespaced) = (kind.kind().names(), kind.kind().scope() == KindScope::Namespaced);
    let below = subresources(kind).into_iter().map(|subresource| ApiResource {
        name: format!("{}/{}", names.plural, subresource.name),
        namespaced,
        kind: subresource.kind.to_owned(),
        group: subresource.foreign.map(|version| version.group.to_string()).unwrap_or_default(),
        version: subresource.foreign.map(|version| version.version.to_string()).unwrap_or_default(),
        verbs: subresource.verbs,
        ..Default::default()
    });
    let itself = ApiResource {
        name: names.plural.to_string(),
        singular_name: names.singular.to_string(),
        namespaced,
        kind: names.kind.to_string(),
        verbs: verbs(kind),
        short_names: short_names(kind),
        categories: owned(&names.categories),
        storage_version_hash: storage_hash(kind),
        ..Default::default()
    };
    [itself].into_iter().chain(below).collect()
}

fn aggregated_resource(kind: &ServedKind) -> ApiResourceDiscovery {
    let names = kind.kind().names();
    let response_kind = |name: &str| Some(ResponseKind::from(&kind.version().group_version.kind(name.to_owned())));
    let below = subresources(kind).into_iter().map(|subresource| ApiSubresourceDiscovery {
        subresource: subresource.name.to_owned(),
        response_kind: match subresource.foreign {
            Some(version) => Some(ResponseKind::from(&version.kind(subresource.kind.to_owned()))),
            None => response_kind(subresource.kind),
        },
        accepted_types: Vec::new(),
        verbs: subresource.verbs,
    });
    ApiResourceDiscovery {
        resource: names.plural.to_string(),
        response_kind: response_kind(&names.kind),
        scope: match kind.kind().scope() {
            KindScope::Namespaced => Scope::Namespaced,
            KindScope::Cluster => Scope::Cluster,
        },
        singular_resource: names.singular.to_string(),
        verbs: verbs(kind),
        short_names: short_names(kind),
        categories: owned(&names.categories),
        subresources: below.collect(),
    }
}

/// An alias has none: kubectl warns whenever a short name is used that several groups have.
fn short_names(kind: &ServedKind) -> Vec<String> {
    if kind.is_alias() { Vec::new() } else { owned(&kind.kind().names().short_names) }
}

fn verbs(kind: &ServedKind) -> Vec<String> {
    if let Some(maker) = kind.kind().maker() {
        return maker.verbs().iter().copied().map(VirtualVerb::as_str).map(str::to_owned).collect();
    }
    let offered = |verb: &str| match verb {
        "deletecollection" => kind.kind().allows_delete_collection(),
        "create" | "patch" | "update" => !kind.kind().is_terminating(),
        _ => true,
    };
    VERBS.iter().filter(|verb| offered(verb)).map(|verb| (*verb).to_owned()).collect()
}

/// What changes when objects are stored in another version; nothing where nothing is stored.
fn storage_hash(kind: &ServedKind) -> String {
    let stored = kind.kind().stored_gvk().filter(|_| kind.kind().maker().is_none());
    stored.map(|stored| storage_version_hash(&stored)).unwrap_or_default()
}

/// The subresources of a kind, by name.
fn subresources(kind: &ServedKind) -> Vec<Subresource<'_>> {
    let status =
        Subresource { name: "status", kind: &kind.kind().names().kind, foreign: None, verbs: owned(&STATUS_VERBS) };
    let own = kind.kind().subresources().iter().map(|own| {
        let mut verbs: Vec<_> = own.verbs().iter().copied().map(SubresourceVerb::as_str).map(str::to_owned).collect();
        verbs.sort_unstable();
        let foreign = own.foreign().map(|version| &version.group_version);
        let foreign = foreign.filter(|version| **version != kind.version().group_version);
        Subresource { name: own.name(), kind: own.kind(), foreign, verbs }
    });
    let mut all: Vec<_> = kind.has_status().then_some(status).into_iter().chain(own).collect();
    all.sort_by_key(|subresource| subresource.name);
    all
}

fn owned<T: AsRef<str>>(texts: &[T]) -> Vec<String> {
    texts.iter().map(|text| text.as_ref().to_owned()).collect()
}
