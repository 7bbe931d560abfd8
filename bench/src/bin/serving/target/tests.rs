use super::*;

#[test]
fn objects_of_all_kinds_are_equally_long() {
    for kind in [ENTRY, FLUNDER] {
        for nth in [0, 4_999, 99_999] {
            let object = kind.object(&format!("base-{nth:06}"), nth, "b-042");
            assert_eq!(object.len(), OBJECT_BYTES, "{}", kind.kind);
            let object: Value = serde_json::from_slice(&object).unwrap();
            assert_eq!(object["kind"], kind.kind);
            assert_eq!(object["metadata"]["labels"]["batch"], "b-042");
            assert_eq!(object["spec"], (kind.spec)(nth));
        }
    }
}

#[test]
fn a_collection_has_the_path_of_its_namespace() {
    let path = "/apis/catalog.bailiwick.dev/v1alpha1/namespaces/default/resourcecatalogentries";
    assert_eq!(ENTRY.collection(), path);
}
