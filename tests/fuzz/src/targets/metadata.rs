//! The metadata of an object.

use bailiwick_machinery::decode::{Decoded, from_json};
use bailiwick_machinery::metadata::coerce;
use bailiwick_machinery::{
    FieldErrors, MAX_FIELD_ERRORS, NameRule, Object, Scope, validate_object_metadata, validate_object_metadata_update,
};

use super::value;

/// Words of metadata.
pub const DICTIONARY: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"null",
    b"\"metadata\":",
    b"\"name\":",
    b"\"generateName\":",
    b"\"namespace\":",
    b"\"uid\":",
    b"\"labels\":{\"a\":\"b\"}",
    b"\"annotations\":{\"a\":\"b\"}",
    b"\"finalizers\":[\"a/b\"]",
    b"\"ownerReferences\":[{}]",
    b"\"managedFields\":[{}]",
    b"\"creationTimestamp\":\"2001-01-01T00:00:00Z\"",
    b"\"deletionTimestamp\":",
    b"\"generation\":1",
    b"\"resourceVersion\":\"1\"",
    b"\"selfLink\":",
    b"\"controller\":true",
    b"\"blockOwnerDeletion\":",
    b"\"apiVersion\":\"v1\"",
    b"\"kind\":\"X\"",
    b"\"orphan\"",
    b"\"foregroundDeletion\"",
    b"\"fieldsV1\":{\"f:a\":{}}",
];

/// What has typed metadata has it still after another look, without anything unknown. Everything that is said of it is
/// bounded, and an object that is valid may take its own place.
pub fn target(data: &[u8]) {
    let Ok((mut object, _)) = from_json(data).and_then(Decoded::into_object) else { return };
    if coerce(&mut object).is_err() {
        return;
    }
    let mut again = object.clone();
    assert_eq!(coerce(&mut again).expect("what was typed is typed"), [""; 0], "unknown fields were kept");
    assert_eq!(again, object, "it was changed again");
    value::check(object.as_value());
    read_all(&object);
    for (scope, rule) in [(Scope::Cluster, NameRule::PathSegment), (Scope::Namespaced, NameRule::DnsSubdomain)] {
        let mut errors = FieldErrors::default();
        validate_object_metadata(&object, scope, rule, &mut errors);
        assert!(errors.as_slice().len() <= MAX_FIELD_ERRORS, "too many errors");
        assert!(errors.to_string().len() < 64 * data.len() + 64 * 1024, "long errors");
        if errors.is_empty() {
            let mut errors = FieldErrors::default();
            validate_object_metadata_update(&object, &object, &mut errors);
            let unset = object.metadata().resource_version().is_empty();
            assert!(errors.is_empty() || unset, "it may not take its own place: {errors}");
        }
    }
}

fn read_all(object: &Object) {
    let metadata = object.metadata();
    assert!(metadata.labels().all(|(name, value)| metadata.label(name) == Some(value)));
    assert!(metadata.annotations().all(|(name, value)| metadata.annotation(name) == Some(value)));
    let _ = (metadata.finalizers().count(), metadata.owner_references().count(), metadata.generation());
    let mut changed = object.clone();
    changed.set_metadata_text("name", "x");
    changed.set_finalizers(&[]);
    assert_eq!((changed.metadata().name(), changed.metadata().finalizers().count()), ("x", 0));
}
