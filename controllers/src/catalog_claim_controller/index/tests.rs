use bailiwick_api::{ResourceCatalogClaim, ResourceCatalogEntry};
use serde_json::json;

use super::{Index, NamespaceState};
use crate::place::Place;

fn place(namespace: &str, name: &str) -> Place {
    Place { namespace: namespace.to_owned(), name: name.to_owned() }
}

fn claim(name: &str, follows: bool) -> Option<ResourceCatalogClaim> {
    let reference = json!({ "namespace": "shop", "name": "hammer" });
    let spec = json!({ "catalogName": "tools", "resourceCatalogEntry": reference, "keepSynchronized": follows });
    serde_json::from_value(json!({ "metadata": { "name": name, "namespace": "a" }, "spec": spec })).unwrap()
}

/// Whoever follows an entry for its claims ends with the last of them that is to follow, however that comes.
#[test]
fn it_is_told_when_nobody_follows_an_entry_any_more() {
    let (mut index, hammer) = (Index::default(), place("shop", "hammer"));
    let entry: ResourceCatalogEntry =
        serde_json::from_value(json!({ "metadata": { "name": "hammer", "namespace": "shop" }, "spec": {} })).unwrap();
    index.set_entry(hammer.clone(), Some(entry));
    for name in ["x", "y"] {
        assert_eq!(index.set_claim(place("a", name), claim(name, true)).1, None);
    }
    assert_eq!(index.set_claim(place("a", "z"), claim("z", false)).1, None);
    assert_eq!(index.set_claim(place("a", "x"), claim("x", false)).1, None, "y follows");
    assert!(index.is_followed(&hammer));
    assert_eq!(index.set_claim(place("a", "y"), None).1, Some(hammer.clone()));
    assert_eq!(index.set_claim(place("a", "z"), None).1, None, "it has not followed");
    assert!(!index.is_followed(&hammer));
    // Nobody follows what is gone.
    index.set_claim(place("a", "x"), claim("x", true));
    index.set_entry(hammer.clone(), None);
    assert!(!index.is_followed(&hammer));
}

/// Claims are looked at when their namespace begins to go.
#[test]
fn a_namespace_that_goes_touches_its_claims() {
    let mut index = Index::default();
    index.set_claim(place("a", "x"), claim("x", false));
    let is_ending = |index: &Index| index.state(&place("a", "x")).unwrap().is_namespace_ending();
    assert!(is_ending(&index), "there is none");
    let there = NamespaceState::default();
    assert_eq!(index.set_namespace("a".to_owned(), Some(there.clone())), [place("a", "x")]);
    assert_eq!(index.set_namespace("a".to_owned(), Some(there.clone())), []);
    assert!(!is_ending(&index));
    let going = NamespaceState { is_going: true, ..there };
    assert_eq!(index.set_namespace("a".to_owned(), Some(going)), [place("a", "x")]);
    assert!(is_ending(&index));
    index.set_namespace("a".to_owned(), None);
    assert!(is_ending(&index));
}
