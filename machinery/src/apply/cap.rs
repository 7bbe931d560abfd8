//! How many owners an object remembers.

use std::collections::BTreeMap;

use super::managed::{Managed, Manager, Operation, Owned};

/// The most owners that are not appliers. The oldest of more than these are remembered as one.
pub(super) const MAX_UPDATERS: usize = 10;

const MANY: &str = "ancient-changes";

/// Makes one owner of the oldest, one for each version, until there are few enough.
pub(super) fn cap(managed: &mut Managed) {
    let updaters = managed.owners.keys().filter(|manager| manager.operation == Operation::Update);
    let mut updaters: Vec<Manager> = updaters.cloned().collect();
    let mut count = updaters.len();
    if count <= MAX_UPDATERS {
        return;
    }
    // Those of the same second stay in the order of their identifiers.
    updaters.sort_by_key(|manager| managed.times.get(manager).copied().unwrap_or(0));
    let mut firsts: BTreeMap<String, Manager> = BTreeMap::new();
    for manager in updaters {
        if count <= MAX_UPDATERS {
            return;
        }
        let Some(version) = managed.owners.get(&manager).map(|owned| owned.api_version.clone()) else { continue };
        match firsts.get(&version) {
            None => drop(firsts.insert(version, manager)),
            Some(first) => {
                let bucket = Manager::new(MANY, Operation::Update, &version, "");
                merge(managed, first, &manager, bucket);
                count -= 1;
            }
        }
    }
}

fn merge(managed: &mut Managed, first: &Manager, next: &Manager, bucket: Manager) {
    let Some(next_owned) = managed.owners.remove(next) else { return };
    if !managed.owners.contains_key(&bucket)
        && let Some(owned) = managed.owners.remove(first)
    {
        managed.owners.insert(bucket.clone(), owned);
    }
    let before = managed.owners.remove(&bucket).map(|owned| owned.fields).unwrap_or_default();
    let owned = Owned { fields: next_owned.fields.union(before), api_version: next_owned.api_version };
    managed.owners.insert(bucket.clone(), owned);
    // The later of the two times.
    match managed.times.get(next).copied() {
        Some(time) => drop(managed.times.insert(bucket, time)),
        None => drop(managed.times.remove(&bucket)),
    }
}
