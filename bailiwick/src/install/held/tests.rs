//! By which version a kind is listed, and what is made of its objects' metadata.

use super::*;

/// A definition with these versions: the name of each, whether it is served, and whether it is the one that is stored.
fn definition(versions: &[(&str, bool, bool)]) -> Value {
    let versions: Vec<_> = versions
        .iter()
        .map(|(name, served, storage)| json!({ "name": name, "served": served, "storage": storage }))
        .collect();
    json!({ "spec": {
        "group": "example.org", "names": { "kind": "Database", "plural": "databases" }, "versions": versions,
    }})
}

fn databases() -> ApiResource {
    served(&definition(&[("v1", true, true)])).unwrap()
}

fn metadata(namespace: Option<&str>, name: &str, finalizers: &[&str]) -> ObjectMeta {
    ObjectMeta {
        namespace: namespace.map(str::to_owned),
        name: Some(name.to_owned()),
        finalizers: Some(finalizers.iter().map(|&finalizer| finalizer.to_owned()).collect()),
        ..ObjectMeta::default()
    }
}

/// What is stored in the version that is asked for is never converted.
#[test]
fn a_kind_is_listed_in_the_version_that_is_stored() {
    for (versions, expected) in [
        (&[("v1", true, true)][..], Some("v1")),
        (&[("v1alpha1", true, false), ("v1", true, true)], Some("v1")),
        (&[("v1", true, true), ("v2", true, false)], Some("v1")),
        (&[("v1", false, true), ("v2", true, false), ("v3", true, false)], Some("v2")),
        (&[("v1", false, true), ("v2", false, false)], None),
        (&[("v1", false, true)], None),
    ] {
        let found = served(&definition(versions));
        assert_eq!(found.as_ref().map(|resource| resource.version.as_str()), expected, "{versions:?}");
        let api_version = expected.map(|version| format!("example.org/{version}"));
        assert_eq!(found.map(|resource| resource.api_version), api_version, "{versions:?}");
    }
}

#[test]
fn what_has_a_finalizer_of_ours_is_held() {
    let mut holdings = Holdings::default();
    for (name, finalizers) in [
        ("claim", &[CLAIM_FINALIZER][..]),
        ("bound", &["example.org/theirs", BOUND_FINALIZER]),
        ("class", &[CLASS_FINALIZER]),
        ("theirs", &["example.org/theirs"]),
        ("free", &[]),
    ] {
        holdings.add(&databases(), &metadata(Some("shop"), name, finalizers));
    }
    let names: Vec<_> = holdings.objects.iter().map(|held| held.place.name.as_str()).collect();
    assert_eq!(names, ["claim", "bound", "class"]);
    assert!(!holdings.are_none());
    assert_eq!(holdings.claims().into_iter().collect::<Vec<_>>(), ["databases.example.org"]);
}

/// Held or not: what was let go a moment ago is there still.
#[test]
fn every_object_is_in_its_namespace() {
    let mut holdings = Holdings::default();
    holdings.add(&databases(), &metadata(Some("shop"), "first", &[]));
    holdings.add(&databases(), &metadata(Some("shop"), "second", &[CLAIM_FINALIZER]));
    holdings.add(&databases(), &metadata(None, "elsewhere", &[]));
    assert_eq!(holdings.resident("shop").unwrap().to_string(), "Database \"first\" in \"shop\"");
    assert_eq!(holdings.resident("market"), None);
}

/// Nobody knows what there is of a kind that is not listed.
#[test]
fn what_is_unknown_is_not_nothing() {
    let mut holdings = Holdings::default();
    assert!(holdings.are_none());
    holdings.unknown.push("Database (databases.example.org): no version of it is served".to_owned());
    assert!(!holdings.are_none());
}
