//! Which kinds of objects there are, for controllers that look at all of them.

use std::collections::BTreeMap;

use kube::core::discovery::{Scope, verbs};
use kube::discovery::{ApiResource, Discovery};
use kube::{Client, Error};

/// A group and a kind in it: what owners name, whatever the version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GroupKind {
    pub(crate) group: String,
    pub(crate) kind: String,
}

/// A kind that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    verbs: Vec<String>,
}

/// All kinds that are served, each in the version that the server prefers.
pub(crate) type ServedKinds = BTreeMap<GroupKind, Served>;

/// Asks which kinds there are.
pub(crate) async fn discover(client: &Client) -> Result<ServedKinds, Error> {
    let discovery = Discovery::new(client.clone()).run_aggregated().await?;
    let mut kinds = ServedKinds::new();
    for group in discovery.groups() {
        for (resource, capabilities) in group.resources_by_stability() {
            let key = GroupKind { group: resource.group.clone(), kind: resource.kind.clone() };
            let namespaced = capabilities.scope == Scope::Namespaced;
            kinds.entry(key).or_insert(Served { resource, namespaced, verbs: capabilities.operations });
        }
    }
    Ok(kinds)
}

// === impl GroupKind ===

impl GroupKind {
    /// The kind that an owner reference names.
    pub(crate) fn new(api_version: &str, kind: &str) -> Self {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        Self { group: group.to_owned(), kind: kind.to_owned() }
    }
}

// === impl Served ===

impl Served {
    /// Whether its objects can be followed and removed.
    pub(crate) fn can_be_collected(&self) -> bool {
        [verbs::DELETE, verbs::LIST, verbs::WATCH].iter().all(|verb| self.can(verb))
    }

    /// Whether it is served with this verb.
    pub(crate) fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|has| has == verb)
    }
}
