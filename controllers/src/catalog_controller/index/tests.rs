use serde_json::{Value, json};

use super::*;

fn catalog(name: &str, spec: Value) -> ResourceCatalog {
    serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
}

fn entry(name: &str, tier: &str, catalogs: &[&str]) -> ResourceCatalogEntry {
    let metadata =
        json!({ "name": name, "namespace": "shop", "uid": name, "generation": 1, "labels": { "tier": tier } });
    let status = json!({ "catalogs": catalogs, "generation": 1 });
    serde_json::from_value(json!({ "metadata": metadata, "spec": { "description": name }, "status": status })).unwrap()
}

fn place(name: &str) -> Place {
    Place { namespace: "shop".to_owned(), name: name.to_owned() }
}

/// CAT-11, CAT-16, CAT-24: a change touches the entries it can concern, and no others.
#[test]
fn a_change_touches_what_it_concerns() {
    let mut index = Index::default();
    for (name, tier) in [("a", "gold"), ("b", "silver")] {
        assert_eq!(index.set_entry(place(name), Some(entry(name, tier, &[]))), [Work::Entry(place(name))]);
    }
    let gold = catalog("gold", json!({ "selector": { "tier": "gold" } }));
    let touched = index.set_catalog("gold".to_owned(), Some(gold.clone()));
    assert_eq!(touched, [Work::Entry(place("a")), Work::Catalog("gold".to_owned())]);
    assert_eq!(index.entry_state(&place("a")).unwrap().selected_by, std::slice::from_ref(&gold));
    // Its status says that it is in the catalog from now on.
    let touched = index.set_entry(place("a"), Some(entry("a", "gold", &["gold"])));
    assert_eq!(touched, [Work::Catalog("gold".to_owned()), Work::Entry(place("a"))]);
    let state = index.catalog_state("gold").unwrap();
    assert_eq!((state.count, state.infos[0].name.as_str()), (1, "a"));
    // Nothing that a catalog shows of it has changed.
    assert_eq!(index.set_entry(place("a"), Some(entry("a", "gold", &["gold"]))), [Work::Entry(place("a"))]);
    let silver = catalog("gold", json!({ "selector": { "tier": "silver" } }));
    let touched = index.set_catalog("gold".to_owned(), Some(silver));
    assert_eq!(touched, [Work::Entry(place("a")), Work::Entry(place("b")), Work::Catalog("gold".to_owned())]);
    assert_eq!(index.set_entry(place("a"), None), [Work::Catalog("gold".to_owned())]);
    assert_eq!(index.catalog_state("gold").unwrap().count, 0);
}

/// CAT-20, CAT-24: what an entry says of itself is shown once it was accepted so; until then, what was accepted before.
#[test]
fn a_catalog_shows_what_was_accepted() {
    let mut index = Index::default();
    index.set_catalog("gold".to_owned(), Some(catalog("gold", json!({ "selector": {} }))));
    let written = |description: &str, generation: i64, accepted: i64| {
        let mut entry = entry("a", "gold", &["gold"]);
        entry.spec.description = description.to_owned();
        entry.metadata.generation = Some(generation);
        entry.status.as_mut().unwrap().generation = Some(accepted);
        entry
    };
    let shown = |index: &Index| index.catalog_state("gold").unwrap().infos[0].description.clone();
    // Someone who begins to look knows nothing of it that was accepted.
    index.set_entry(place("a"), Some(written("new", 2, 1)));
    assert_eq!(shown(&index), "");
    index.set_entry(place("a"), Some(written("new", 2, 2)));
    assert_eq!(shown(&index), "new");
    let touched = index.set_entry(place("a"), Some(written("newer", 3, 2)));
    assert_eq!((shown(&index).as_str(), touched), ("new", vec![Work::Entry(place("a"))]));
    let touched = index.set_entry(place("a"), Some(written("newer", 3, 3)));
    assert_eq!((shown(&index).as_str(), touched.len()), ("newer", 2));
    // Another of the same name is another.
    let mut other = written("other", 2, 1);
    other.metadata.uid = Some("b".to_owned());
    index.set_entry(place("a"), Some(other));
    assert_eq!(shown(&index), "");
}

/// A catalog that asks what publishers may do is concerned by roles; others are not.
#[test]
fn rights_touch_those_who_ask_for_them() {
    let mut index = Index::default();
    index.set_entry(place("a"), Some(entry("a", "gold", &[])));
    let all = json!({ "selector": { "tier": "gold" }, "accept": { "policy": "All" } });
    index.set_catalog("all".to_owned(), Some(catalog("all", all)));
    assert_eq!(index.touched_by_rights(None), []);
    index.set_catalog("asks".to_owned(), Some(catalog("asks", json!({ "selector": { "tier": "gold" } }))));
    assert_eq!(index.touched_by_rights(Some("shop")), [Work::Entry(place("a"))]);
    assert_eq!(index.touched_by_rights(Some("other")), []);
    assert_eq!(index.set_namespace("shop".to_owned(), Some(BTreeMap::new())), [Work::Entry(place("a"))]);
    assert_eq!(index.set_namespace("shop".to_owned(), Some(BTreeMap::new())), []);
}

/// CAT-20: a catalog shows as many entries as one object can hold, in number and in size, and counts all.
#[test]
fn a_catalog_shows_what_fits() {
    let shown = |count: usize, description: &str| {
        let mut index = Index::default();
        index.set_catalog("gold".to_owned(), Some(catalog("gold", json!({ "selector": {} }))));
        for number in 0..count {
            let name = format!("e{number:04}");
            let mut entry = entry(&name, "gold", &["gold"]);
            entry.spec.description = description.to_owned();
            index.set_entry(place(&name), Some(entry));
        }
        let state = index.catalog_state("gold").unwrap();
        assert_eq!(state.count, count);
        assert!(serde_json::to_vec(&state.infos).unwrap().len() < 600_000);
        state.infos.len()
    };
    assert_eq!(shown(1_000, "short"), 1_000);
    assert_eq!(shown(1_001, "short"), 1_000);
    let fitting = shown(1_000, &"x".repeat(4_096));
    assert!((100..200).contains(&fitting), "{fitting}");
    // Some characters are longer where they are written.
    assert!(shown(200, &"\u{1}".repeat(4_096)) < fitting);
}
