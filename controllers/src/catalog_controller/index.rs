//! What is known of catalogs and entries, and what a change of one touches.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_api::{AcceptancePolicy, ResourceCatalog, ResourceCatalogEntry, ResourceCatalogInfo};

use crate::place::Place;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Work {
    /// Which catalogs an entry is in.
    Entry(Place),
    /// What a catalog shows.
    Catalog(String),
}

/// Labels of a namespace.
type Labels = BTreeMap<String, String>;

/// What is known.
#[derive(Default)]
pub(super) struct Index {
    catalogs: BTreeMap<String, ResourceCatalog>,
    /// Without what they publish.
    entries: BTreeMap<Place, ResourceCatalogEntry>,
    /// What catalogs show of them: as they were when they were last accepted.
    infos: BTreeMap<Place, ResourceCatalogInfo>,
    namespaces: BTreeMap<String, Labels>,
    /// By catalog, the entries that say that they are in it.
    members: BTreeMap<String, BTreeSet<Place>>,
}

/// An entry, and what decides which catalogs it is in.
pub(super) struct EntryState {
    pub(super) entry: ResourceCatalogEntry,
    /// In the order of their names.
    pub(super) selected_by: Vec<ResourceCatalog>,
    pub(super) namespace_labels: Option<Labels>,
}

/// A catalog, and what is in it.
pub(super) struct CatalogState {
    pub(super) catalog: ResourceCatalog,
    /// The first of them, in the order of namespaces and names.
    pub(super) infos: Vec<ResourceCatalogInfo>,
    pub(super) count: usize,
}

// === impl Work ===

impl Work {
    /// Whose work it is; catalogs are nobody's.
    pub(super) fn namespace(&self) -> &str {
        match self {
            Self::Entry(place) => &place.namespace,
            Self::Catalog(_) => "",
        }
    }
}

// === impl Index ===

impl Index {
    /// A catalog is like this now, or gone.
    pub(super) fn set_catalog(&mut self, name: String, catalog: Option<ResourceCatalog>) -> Vec<Work> {
        let old = match &catalog {
            Some(catalog) => self.catalogs.insert(name.clone(), catalog.clone()),
            None => self.catalogs.remove(&name),
        };
        let mut touched = Vec::new();
        let is_same = old.as_ref().zip(catalog.as_ref()).is_some_and(|(old, new)| old.spec == new.spec);
        if !is_same {
            let is_selected = |entry: &ResourceCatalogEntry| {
                let labels = entry.metadata.labels.clone().unwrap_or_default();
                [&old, &catalog].into_iter().flatten().any(|catalog| catalog.selects(&labels))
            };
            let members = self.members.get(&name).into_iter().flatten().cloned();
            let selected = self.entries.iter().filter(|(_, entry)| is_selected(entry)).map(|(place, _)| place.clone());
            let places: BTreeSet<Place> = members.chain(selected).collect();
            touched.extend(places.into_iter().map(Work::Entry));
        }
        touched.push(Work::Catalog(name));
        touched
    }

    /// An entry is like this now, or gone.
    pub(super) fn set_entry(&mut self, place: Place, entry: Option<ResourceCatalogEntry>) -> Vec<Work> {
        let is_there = entry.is_some();
        let entry = entry.map(without_content);
        let catalogs = |entry: &Option<ResourceCatalogEntry>| -> BTreeSet<String> {
            let status = entry.as_ref().and_then(|entry| entry.status.as_ref());
            status.map(|status| status.catalogs.iter().cloned().collect()).unwrap_or_default()
        };
        let now = catalogs(&entry);
        let shown_before = self.infos.remove(&place);
        let info = entry.as_ref().map(|entry| {
            let info = entry.info();
            let last = shown_before.as_ref().filter(|last| !entry.is_accepted() && last.uid == info.uid);
            last.cloned().unwrap_or(info)
        });
        let is_same = shown_before == info;
        self.infos.extend(info.map(|info| (place.clone(), info)));
        let old = match entry {
            Some(entry) => self.entries.insert(place.clone(), entry),
            None => self.entries.remove(&place),
        };
        let before = catalogs(&old);
        for left in before.difference(&now) {
            if let Some(members) = self.members.get_mut(left) {
                members.remove(&place);
            }
        }
        for joined in now.difference(&before) {
            self.members.entry(joined.clone()).or_default().insert(place.clone());
        }
        let shown = |catalog: &&String| !is_same || before.contains(*catalog) != now.contains(*catalog);
        let mut touched: Vec<Work> = before.union(&now).filter(shown).cloned().map(Work::Catalog).collect();
        if is_there {
            touched.push(Work::Entry(place));
        }
        touched
    }

    /// A namespace has these labels now, or is gone.
    pub(super) fn set_namespace(&mut self, name: String, labels: Option<Labels>) -> Vec<Work> {
        let old = match &labels {
            Some(labels) => self.namespaces.insert(name.clone(), labels.clone()),
            None => self.namespaces.remove(&name),
        };
        if old == labels {
            return Vec::new();
        }
        self.entries_in(&name).map(Work::Entry).collect()
    }

    /// What is to be looked at again when rights in a namespace, or in all, have changed.
    pub(super) fn touched_by_rights(&self, namespace: Option<&str>) -> Vec<Work> {
        let asks: Vec<&ResourceCatalog> =
            self.catalogs.values().filter(|catalog| catalog.policy() == AcceptancePolicy::Authorization).collect();
        let is_asked_for = |entry: &ResourceCatalogEntry| {
            let labels = entry.metadata.labels.clone().unwrap_or_default();
            asks.iter().any(|catalog| catalog.selects(&labels))
        };
        let entries = self.entries.iter().filter(|(place, entry)| {
            namespace.is_none_or(|namespace| place.namespace == namespace) && is_asked_for(entry)
        });
        entries.map(|(place, _)| Work::Entry(place.clone())).collect()
    }

    pub(super) fn entry_state(&self, place: &Place) -> Option<EntryState> {
        let entry = self.entries.get(place)?.clone();
        let labels = entry.metadata.labels.clone().unwrap_or_default();
        let is_going = entry.metadata.deletion_timestamp.is_some();
        let selected_by =
            self.catalogs.values().filter(|catalog| !is_going && catalog.selects(&labels)).cloned().collect();
        Some(EntryState { entry, selected_by, namespace_labels: self.namespaces.get(&place.namespace).cloned() })
    }

    pub(super) fn catalog_state(&self, name: &str) -> Option<CatalogState> {
        let catalog = self.catalogs.get(name)?.clone();
        let members = self.members.get(name);
        let infos = first(members.into_iter().flatten().filter_map(|place| self.infos.get(place)).cloned());
        Some(CatalogState { catalog, infos, count: members.map_or(0, BTreeSet::len) })
    }

    fn entries_in(&self, namespace: &str) -> impl Iterator<Item = Place> {
        let first = Place { namespace: namespace.to_owned(), name: String::new() };
        self.entries
            .range(first..)
            .map(|(place, _)| place)
            .take_while(move |place| place.namespace == namespace)
            .cloned()
    }
}

/// As many as a status can hold. What publishers say of their entries can be long.
fn first(infos: impl Iterator<Item = ResourceCatalogInfo>) -> Vec<ResourceCatalogInfo> {
    let mut left = ResourceCatalog::MAX_ENTRY_BYTES;
    let fits = |info: &ResourceCatalogInfo| {
        let rest = left.checked_sub(info.written_bytes());
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    infos.take(ResourceCatalog::MAX_ENTRIES).take_while(fits).collect()
}

/// An entry, without what does not matter here and may be large.
fn without_content(mut entry: ResourceCatalogEntry) -> ResourceCatalogEntry {
    entry.metadata.managed_fields = None;
    entry.metadata.annotations = None;
    entry.spec.local_resources = None;
    entry.spec.resource_list = None;
    entry.spec.extension = None;
    entry
}

#[cfg(test)]
mod tests;
