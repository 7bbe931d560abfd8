use bailiwick_machinery::{GroupVersion, Object};
use serde_json::{Value, json};

use super::{Encoded, head, metadata_of, stored};

fn object(value: Value) -> Object {
    Object::try_from(value).expect("an object")
}

fn sample() -> Object {
    object(json!({
        "apiVersion": "example.dev/v1", "kind": "Widget",
        "adminUsers": ["a"],
        "metadata": {"name": "x", "resourceVersion": "5", "annotations": {"note": "\"metadata\":{"}},
        "spec": {"size": 1},
    }))
}

#[test]
fn what_is_stored_begins_with_its_head_and_metadata_and_has_no_version() {
    let head = head(&GroupVersion::new("example.dev", "v1").kind("Widget"));
    let stored = stored(&head, &sample());
    let expected = concat!(
        r#"{"apiVersion":"example.dev/v1","kind":"Widget","metadata":{"annotations":{"note":"\"metadata\":{"},"name":"x"}"#,
        r#","adminUsers":["a"],"spec":{"size":1}}"#
    );
    assert_eq!(String::from_utf8_lossy(&stored), expected);
}

#[test]
fn what_is_served_has_the_version_and_can_be_read_as_any_kind() {
    let gvk = GroupVersion::new("example.dev", "v1").kind("Widget");
    let stored = stored(&head(&gvk), &sample());
    let served = Encoded::from_stored(&stored, Some(7)).expect("stored");
    assert!(served.as_bytes().starts_with(br#""metadata":{"resourceVersion":"7","annotations""#));
    let mut expected = sample();
    expected.set_metadata_text("resourceVersion", "7");
    assert_eq!(served.to_object(&gvk).expect("an object"), expected);

    let alias = GroupVersion::new("alias.dev", "v2").kind("Gadget");
    let read = served.at(70).to_object(&alias).expect("an object");
    assert_eq!((read.api_version(), read.kind()), ("alias.dev/v2", "Gadget"));
    assert_eq!(read.metadata().resource_version(), "70");
}

#[test]
fn an_object_that_was_not_written_has_no_version() {
    let gvk = GroupVersion::new("example.dev", "v1").kind("Widget");
    let stored = stored(&head(&gvk), &sample());
    let served = Encoded::from_stored(&stored, None).expect("stored");
    assert_eq!(served.to_object(&gvk).expect("an object").metadata().resource_version(), "");
    assert_eq!(served.at(3), Encoded::from_stored(&stored, Some(3)).expect("stored"));
}

#[test]
fn storing_the_same_again_is_noticed_whatever_the_version_and_the_head() {
    let (home, alias) = (GroupVersion::new("example.dev", "v1"), GroupVersion::new("alias.dev", "v1"));
    let mut object = sample();
    let served = Encoded::from_stored(&stored(&head(&home.kind("Widget")), &object), Some(9)).expect("stored");
    assert!(served.is_stored_as(&stored(&head(&alias.kind("Widget")), &object)));
    object.set_generation(2);
    assert!(!served.is_stored_as(&stored(&head(&home.kind("Widget")), &object)));
}

#[test]
fn bytes_that_are_no_object_are_refused() {
    assert!(metadata_of(b"{}").is_err());
    assert!(metadata_of(&vec![b' '; 1 << 20]).is_err());
}
