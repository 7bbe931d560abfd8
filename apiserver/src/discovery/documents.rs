//! What the documents of discovery say.

use std::collections::{BTreeMap, HashSet};

use bailiwick_machinery::discovery::{
    ApiGroup, ApiGroupDiscovery, ApiGroupDiscoveryList, ApiGroupList, ApiResource, ApiResourceDiscovery,
    ApiResourceList, ApiSubresourceDiscovery, ApiVersionDiscovery, ApiVersions, Freshness, GroupMeta,
    GroupVersionForDiscovery, ResponseKind, Scope, storage_version_hash,
};
use bailiwick_machinery::{GroupVersion, Scope as KindScope};
use bailiwick_registry::{ServedKind, SubresourceVerb, VirtualVerb};

use super::version_order::best_first;

/// What can be done with every kind, in order.
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// What can be done with every status, in order.
const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];

/// The documents of discovery.
pub(super) struct Documents {
    /// The groups.
    pub(super) groups: ApiGroupList,
    /// The versions of all groups.
    pub(super) versions: Vec<(GroupVersion, ApiResourceList)>,
    /// All groups that have names in one.
    pub(super) aggregated: ApiGroupDiscoveryList,
    /// The group that has none, if it is served.
    pub(super) core: Option<Core>,
}

/// What is said of the group without a name.
pub(super) struct Core {
    pub(super) versions: ApiVersions,
    pub(super) aggregated: ApiGroupDiscoveryList,
}

/// A group: its versions, the best first, each with its kinds in the order of their plurals.
struct Group<'k> {
    name: &'k str,
    versions: Vec<(&'k GroupVersion, Vec<&'k ServedKind>)>,
}

/// A subresource of a kind.
struct Subresource<'k> {
    name: &'static str,
    kind: &'k str,
    /// The group and version of its kind, if they are not the parent's.
    foreign: Option<&'k GroupVersion>,
    verbs: Vec<String>,
}

// === impl Documents ===

impl Documents {
    pub(super) fn new(served: &[ServedKind]) -> Self {
        let all = groups(served);
        let versions = all.iter().flat_map(|group| &group.versions);
        let versions = versions.map(|(version, kinds)| ((*version).clone(), resource_list(version, kinds))).collect();
        let (core, named): (Vec<_>, Vec<_>) = all.iter().partition(|group| group.name.is_empty());
        Self {
            versions,
            groups: ApiGroupList { groups: named.iter().map(|group| group.document()).collect() },
            aggregated: aggregated(&named),
            core: core.first().map(|group| Core { versions: group.names(), aggregated: aggregated(&[group]) }),
        }
    }
}

fn aggregated(groups: &[&Group<'_>]) -> ApiGroupDiscoveryList {
    ApiGroupDiscoveryList { items: groups.iter().map(|group| group.aggregated()).collect(), ..Default::default() }
}

// === impl Group ===

impl Group<'_> {
    fn document(&self) -> ApiGroup {
        let told = |(version, _): &(&GroupVersion, _)| GroupVersionForDiscovery {
            group_version: version.to_string(),
            version: version.version.to_string(),
        };
        let versions: Vec<_> = self.versions.iter().map(told).collect();
        ApiGroup {
            name: self.name.to_owned(),
            preferred_version: versions.first().cloned().unwrap_or_default(),
            versions,
            server_addresses: Vec::new(),
        }
    }

    fn names(&self) -> ApiVersions {
        let versions = self.versions.iter().map(|(version, _)| version.version.to_string()).collect();
        ApiVersions { versions, server_addresses: Vec::new() }
    }

    fn aggregated(&self) -> ApiGroupDiscovery {
        let told = |(version, kinds): &(&GroupVersion, Vec<&ServedKind>)| ApiVersionDiscovery {
            version: version.version.to_string(),
            resources: kinds.iter().map(|kind| aggregated_resource(kind)).collect(),
            freshness: Freshness::Current,
        };
        ApiGroupDiscovery {
            metadata: GroupMeta { name: self.name.to_owned() },
            versions: self.versions.iter().map(told).collect(),
        }
    }
}

/// The groups by name, with those that are nobody's home last: of two groups with the same resource, clients that name
/// none take the first.
fn groups(served: &[ServedKind]) -> Vec<Group<'_>> {
    let mut by_group: BTreeMap<&str, Vec<&ServedKind>> = BTreeMap::new();
    for kind in served {
        by_group.entry(&kind.gvk().group).or_default().push(kind);
    }
    let homes: HashSet<_> = served.iter().filter_map(|kind| Some(kind.kind().stored_gvk()?.group)).collect();
    let mut groups: Vec<_> =
        by_group.into_iter().map(|(name, kinds)| Group { name, versions: versions(kinds) }).collect();
    groups.sort_by_key(|group| !homes.contains(group.name));
    groups
}

fn versions(kinds: Vec<&ServedKind>) -> Vec<(&GroupVersion, Vec<&ServedKind>)> {
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
        short_names: owned(&names.short_names),
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
        short_names: owned(&names.short_names),
        categories: owned(&names.categories),
        subresources: below.collect(),
    }
}

fn verbs(kind: &ServedKind) -> Vec<String> {
    if let Some(maker) = kind.kind().maker() {
        return maker.verbs().iter().copied().map(VirtualVerb::as_str).map(str::to_owned).collect();
    }
    let offered = |verb: &str| verb != "deletecollection" || kind.kind().allows_delete_collection();
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
    let mut all: Vec<_> = kind.kind().has_status().then_some(status).into_iter().chain(own).collect();
    all.sort_by_key(|subresource| subresource.name);
    all
}

fn owned<T: AsRef<str>>(texts: &[T]) -> Vec<String> {
    texts.iter().map(|text| text.as_ref().to_owned()).collect()
}
