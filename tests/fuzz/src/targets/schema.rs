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
    b"{", b"}", b"[", b"]", b",", b":", b"\"", b"null", b"true", b"\"spec\":{", b"\"status\":{", b"\"users\":[\"a\"]", b"\"adminUsers\":",
    b"\"memberGroups\":", b"\"catalogName\":\"c\"", b"\"resourceCatalogEntry\":{\"namespace\":\"n\",\"name\":\"x\"}", b"\"keepSynchronized\":",
    b"\"additionalLabels\":{\"a\":\"b\"}", b"\"deletionPolicy\":\"Orphan\"", b"\"generation\":1", b"\"conditions\":[{\"type\":\"Ready\"}]",
    b"\"errors\":[{}]", b"\"createdResources\":[]", b"\"unknown\":1", b"\"metadata\":{}", b"\"lastTransitionTime\":\"2001-01-01T00:00:00Z\"",
];

static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    let kinds = kinds::all().expect("the kinds are checked by their tests");
    kinds.iter().flat_map(|kind| kind.versions().iter().map(|version| version.schema.clone())).collect()
});

/// See [`check`].
pub fn target(data: &[u8]) {
    let Ok(decoded) = from_json(data) else { return };
    SCHEMAS.iter().for_each(|schema| check(schema, &decoded.value));
}

/// Pruning, dropping nulls and filling in defaults do nothing the second time, and keep a value within the limits; what
/// is wrong with it is told in a bounded way, the same each time.
pub(super) fn check(schema: &Schema, value: &Value) {
    let mut pruned = value.clone();
    let unknown = prune(schema, &mut pruned);
    assert_eq!(unknown.is_empty(), pruned == *value, "what is told is not what was done");
    assert_eq!(unknown_fields(schema, &pruned), [""; 0], "unknown fields were kept");
    let mut once = pruned;
    drop_nulls(schema, &mut once);
    default(schema, &mut once);
    let mut twice = once.clone();
    assert_eq!(prune(schema, &mut twice), [""; 0]);
    drop_nulls(schema, &mut twice);
    default(schema, &mut twice);
    assert_eq!(once, twice, "it is changed each time");
    value::check(&once);
    let (first, second) = (errors(schema, &once), errors(schema, &once));
    assert_eq!(first.to_string(), second.to_string());
    assert!(first.as_slice().len() <= MAX_FIELD_ERRORS);
    let mut update = FieldErrors::default();
    validate_update(schema, &once, &once, &FieldPath::root(), &mut update);
    assert!(!first.is_empty() || update.is_empty(), "a valid value may not take its own place: {update}");
    let _ = errors(schema, value);
}

fn errors(schema: &Schema, value: &Value) -> FieldErrors {
    let mut errors = FieldErrors::default();
    validate(schema, value, &FieldPath::root(), &mut errors);
    errors
}
