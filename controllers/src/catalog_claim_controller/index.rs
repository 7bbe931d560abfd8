//! What is known of claims and of all that decides about them, and which claims a change touches.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use bailiwick_api::{ResourceCatalog, ResourceCatalogClaim, ResourceCatalogEntry};

use crate::place::Place;

/// Labels of a namespace.
type Labels = BTreeMap<String, String>;

/// What is known of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NamespaceState {
    pub(super) labels: Labels,
    /// Whether it is to go, with all that is in it.
    pub(super) is_going: bool,
}

/// What is known.
#[derive(Default)]
pub(super) struct Index {
    claims: BTreeMap<Place, Arc<ResourceCatalogClaim>>,
    entries: HashMap<Place, Arc<ResourceCatalogEntry>>,
    catalogs: HashMap<String, Arc<ResourceCatalog>>,
    /// The UIDs of service accounts.
    accounts: HashMap<Place, String>,
    namespaces: HashMap<String, Arc<NamespaceState>>,
    /// By entry, the claims of it.
    by_entry: HashMap<Place, BTreeSet<Place>>,
    /// By catalog, the claims from it.
    by_catalog: HashMap<String, BTreeSet<Place>>,
}

/// A claim, and all that decides about it.
pub(super) struct State {
    pub(super) claim: Arc<ResourceCatalogClaim>,
    pub(super) entry: Option<Arc<ResourceCatalogEntry>>,
    pub(super) catalog: Option<Arc<ResourceCatalog>>,
    /// The UID of the claim's service account.
    pub(super) account_uid: Option<String>,
    /// The UID of the entry's service account.
    pub(super) publishing_account: Option<String>,
    /// The claim's namespace, if it is there.
    pub(super) namespace: Option<Arc<NamespaceState>>,
}

// === impl State ===

impl State {
    /// Whether the claim's namespace is to go, with all that is in it, or is gone.
    pub(super) fn is_namespace_ending(&self) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| namespace.is_going)
    }
}

// === impl Index ===

impl Index {
    /// A claim is like this now, or gone. Beside what that touches, the entry that nobody follows any more because of it.
    pub(super) fn set_claim(
        &mut self,
        place: Place,
        claim: Option<ResourceCatalogClaim>,
    ) -> (Vec<Place>, Option<Place>) {
        let claim = claim.map(|mut claim| {
            claim.metadata.managed_fields = None;
            Arc::new(claim)
        });
        let old = replace(&mut self.claims, &place, claim.as_ref());
        if let Some(claim) = &old {
            remove(&mut self.by_entry, &entry_of(claim), &place);
            remove(&mut self.by_catalog, &claim.spec.catalog_name, &place);
        }
        if let Some(claim) = &claim {
            self.by_entry.entry(entry_of(claim)).or_default().insert(place.clone());
            self.by_catalog.entry(claim.spec.catalog_name.clone()).or_default().insert(place.clone());
        }
        // What the status says has been written here, or by who realizes an extension.
        let is_same = old.as_ref().zip(claim.as_ref()).is_some_and(|(old, new)| asked(old) == asked(new));
        let followed = old.filter(|claim| claim.spec.keep_synchronized).map(|claim| entry_of(&claim));
        let left = followed.filter(|entry| !self.is_followed(entry));
        (if is_same { Vec::new() } else { vec![place] }, left)
    }

    /// An entry is like this now, or gone.
    pub(super) fn set_entry(&mut self, place: Place, entry: Option<ResourceCatalogEntry>) -> Vec<Place> {
        let entry = entry.map(|mut entry| {
            entry.metadata.managed_fields = None;
            Arc::new(entry)
        });
        let old = match &entry {
            Some(entry) => self.entries.insert(place.clone(), entry.clone()),
            None => self.entries.remove(&place),
        };
        let is_same = old.zip(entry).is_some_and(|(old, new)| published(&old) == published(&new));
        if is_same { Vec::new() } else { listed(self.by_entry.get(&place)) }
    }

    /// A catalog is like this now, or gone.
    pub(super) fn set_catalog(&mut self, name: String, catalog: Option<ResourceCatalog>) -> Vec<Place> {
        let catalog = catalog.map(|mut catalog| {
            // It only shows what entries say.
            catalog.status = None;
            Arc::new(catalog)
        });
        let old = match &catalog {
            Some(catalog) => self.catalogs.insert(name.clone(), catalog.clone()),
            None => self.catalogs.remove(&name),
        };
        let is_same = old.zip(catalog).is_some_and(|(old, new)| old.spec == new.spec);
        if is_same { Vec::new() } else { listed(self.by_catalog.get(&name)) }
    }

    /// A service account has this UID now, or is gone.
    pub(super) fn set_account(&mut self, place: Place, uid: Option<String>) -> Vec<Place> {
        let old = match &uid {
            Some(uid) => self.accounts.insert(place.clone(), uid.clone()),
            None => self.accounts.remove(&place),
        };
        if old == uid {
            return Vec::new();
        }
        let acts = |(_, claim): &(&Place, &Arc<ResourceCatalogClaim>)| claim.spec.account() == place.name;
        self.claims_in(&place.namespace).filter(acts).map(|(place, _)| place.clone()).collect()
    }

    /// A namespace is like this now, or gone.
    pub(super) fn set_namespace(&mut self, name: String, namespace: Option<NamespaceState>) -> Vec<Place> {
        let namespace = namespace.map(Arc::new);
        let old = match &namespace {
            Some(namespace) => self.namespaces.insert(name.clone(), namespace.clone()),
            None => self.namespaces.remove(&name),
        };
        if old == namespace {
            return Vec::new();
        }
        self.claims_in(&name).map(|(place, _)| place.clone()).collect()
    }

    pub(super) fn state(&self, place: &Place) -> Option<State> {
        let claim = self.claims.get(place)?.clone();
        let entry = self.entries.get(&entry_of(&claim)).cloned();
        let account = |namespace: &str, name: &str| {
            self.accounts.get(&Place { namespace: namespace.to_owned(), name: name.to_owned() }).cloned()
        };
        let publishing = entry.as_ref().and_then(|entry| {
            account(entry.metadata.namespace.as_deref()?, entry.spec.service_account_name.as_deref()?)
        });
        Some(State {
            catalog: self.catalogs.get(&claim.spec.catalog_name).cloned(),
            account_uid: account(&place.namespace, claim.spec.account()),
            publishing_account: publishing,
            namespace: self.namespaces.get(&place.namespace).cloned(),
            entry,
            claim,
        })
    }

    /// The claims of an entry that are to follow it.
    pub(super) fn followers(&self, entry: &Place) -> Vec<Place> {
        let follows = |place: &&Place| self.claims.get(place).is_some_and(|claim| claim.spec.keep_synchronized);
        self.by_entry.get(entry).into_iter().flatten().filter(follows).cloned().collect()
    }

    /// Whether an entry is there, and claims are to follow it.
    pub(super) fn is_followed(&self, entry: &Place) -> bool {
        let follows = |place: &Place| self.claims.get(place).is_some_and(|claim| claim.spec.keep_synchronized);
        self.entries.contains_key(entry) && self.by_entry.get(entry).into_iter().flatten().any(follows)
    }

    /// All claims that are to follow their entries.
    pub(super) fn all_followers(&self) -> Vec<Place> {
        let follows = |(_, claim): &(&Place, &Arc<ResourceCatalogClaim>)| claim.spec.keep_synchronized;
        self.claims.iter().filter(follows).map(|(place, _)| place.clone()).collect()
    }

    fn claims_in(&self, namespace: &str) -> impl Iterator<Item = (&Place, &Arc<ResourceCatalogClaim>)> {
        let first = Place { namespace: namespace.to_owned(), name: String::new() };
        self.claims.range(first..).take_while(move |(place, _)| place.namespace == namespace)
    }
}

fn entry_of(claim: &ResourceCatalogClaim) -> Place {
    let reference = &claim.spec.resource_catalog_entry;
    Place { namespace: reference.namespace.clone(), name: reference.name.clone() }
}

fn replace<V: Clone>(map: &mut BTreeMap<Place, V>, place: &Place, value: Option<&V>) -> Option<V> {
    match value {
        Some(value) => map.insert(place.clone(), value.clone()),
        None => map.remove(place),
    }
}

fn listed(places: Option<&BTreeSet<Place>>) -> Vec<Place> {
    places.into_iter().flatten().cloned().collect()
}

fn remove<K: Hash + Eq>(index: &mut HashMap<K, BTreeSet<Place>>, key: &K, place: &Place) {
    if let Some(places) = index.get_mut(key) {
        places.remove(place);
        if places.is_empty() {
            index.remove(key);
        }
    }
}

/// What of a claim asks for something.
fn asked(claim: &ResourceCatalogClaim) -> impl PartialEq {
    let metadata = &claim.metadata;
    (metadata.uid.clone(), metadata.generation, metadata.deletion_timestamp.clone(), metadata.finalizers.clone())
}

/// What of an entry decides what its claims get.
fn published(entry: &ResourceCatalogEntry) -> impl PartialEq {
    let (metadata, status) = (&entry.metadata, entry.status.clone().unwrap_or_default());
    (
        (metadata.uid.clone(), metadata.generation, metadata.labels.clone(), metadata.deletion_timestamp.clone()),
        (status.catalogs, status.generation, status.local_resources, status.service_account),
    )
}

#[cfg(test)]
mod tests;
