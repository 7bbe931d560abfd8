//! Any JSON against the schemas of our kinds.

use std::sync::LazyLock;

use bailiwick_machinery::decode::from_json;
use bailiwick_machinery::schema::{Schema, default, drop_nulls, prune, unknown_fields, validate, validate_update};
use bailiwick_machinery::{FieldErrors, FieldPath, MAX_FIELD_ERRORS};
use bailiwick_registry::kinds;
use serde_json::Value;

use super::value;

/// Words of our kinds.
pub const DICTIONARY: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"null",
    b"true",
    b"\"spec\":{",
    b"\"status\":{",
    b"\"users\":[\"a\"]",
    b"\"adminUsers\":",
    b"\"memberGroups\":",
    b"\"catalogName\":\"c\"",
    b"\"resourceCatalogEntry\":{\"namespace\":\"n\",\"name\":\"x\"}",
    b"\"keepSynchronized\":",
    b"\"additionalLabels\":{\"a\":\"b\"}",
    b"\"deletionPolicy\":\"Orphan\"",
    b"\"generation\":1",
    b"\"conditions\":[{\"type\":\"Ready\"}]",
    b"\"errors\":[{}]",
    b"\"createdResources\":[]",
    b"\"unknown\":1",
    b"\"metadata\":{}",
    b"\"lastTransitionTime\":\"2001-01-01T00:00:00Z\"",
];

static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    let kinds = kinds::all().expect("the kinds are checked by their tests");
    kinds.iter().flat_map(|kind| kind.versions().iter().map(|version| version.schema.clone())).collect()
});

/// What [`check`] and [`check_defaults`] say.
pub fn target(data: &[u8]) {
    let Ok(decoded) = from_json(data) else { return };
    for schema in SCHEMAS.iter() {
        check(schema, &decoded.value);
        check_defaults(schema, &decoded.value);
    }
}

/// Pruning does nothing the second time, and tells whether it did something the first time. What is wrong with a value is
/// told in a bounded way, the same each time, and a valid value may take its own place.
pub(super) fn check(schema: &Schema, value: &Value) {
    let mut pruned = value.clone();
    let unknown = prune(schema, &mut pruned);
    assert_eq!(unknown.is_empty(), pruned == *value, "what is told is not what was done");
    assert_eq!(unknown_fields(schema, &pruned), [""; 0], "unknown fields were kept");
    let mut defaulted = pruned;
    drop_nulls(schema, &mut defaulted);
    default(schema, &mut defaulted);
    for value in [value, &defaulted] {
        let (first, second) = (errors(schema, value), errors(schema, value));
        assert_eq!(first.to_string(), second.to_string());
        assert!(first.as_slice().len() <= MAX_FIELD_ERRORS);
        let mut update = FieldErrors::default();
        validate_update(schema, value, value, &FieldPath::root(), &mut update);
        assert!(!first.is_empty() || update.is_empty(), "a valid value may not take its own place: {update}");
    }
}

/// Pruning, dropping nulls and filling in defaults do nothing the second time, and leave a value within the limits. That
/// is so if the defaults themselves are as the schema has it, which only those of our own kinds are known to be.
pub(super) fn check_defaults(schema: &Schema, value: &Value) {
    let settle = |value: &mut Value| {
        let unknown = prune(schema, value);
        drop_nulls(schema, value);
        default(schema, value);
        unknown
    };
    let mut once = value.clone();
    settle(&mut once);
    let mut twice = once.clone();
    assert_eq!(settle(&mut twice), [""; 0], "unknown fields were kept");
    assert_eq!(once, twice, "it is changed each time");
    value::check(&once);
}

fn errors(schema: &Schema, value: &Value) -> FieldErrors {
    let mut errors = FieldErrors::default();
    validate(schema, value, &FieldPath::root(), &mut errors);
    errors
}
