//! A definition of a custom resource, and another one whose place it takes.

use bailiwick_machinery::crd::{
    Definition, TakenNames, Version, accept_names, columns, set_defaults, validate, validate_status_update,
    validate_update, warnings,
};
use bailiwick_machinery::decode::from_json;
use bailiwick_machinery::schema::{Schema, selectable_field};
use bailiwick_machinery::{FieldErrors, Object};
use serde_json::Value;

use super::first_line;

/// Words of definitions and of their schemas.
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
    b"false",
    b"\"spec\":",
    b"\"status\":",
    b"\"group\":\"example.dev\"",
    b"\"scope\":\"Cluster\"",
    b"\"names\":{\"plural\":\"widgets\",\"kind\":\"Widget\"}",
    b"\"versions\":[",
    b"\"storage\":true",
    b"\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}",
    b"\"subresources\":{\"status\":{}}",
    b"\"additionalPrinterColumns\":[{\"name\":\"A\",\"type\":\"string\",\"jsonPath\":\".spec.a\"}]",
    b"\"selectableFields\":[{\"jsonPath\":\".spec.a\"}]",
    b"\"deprecationWarning\":\"\\u0001\"",
    b"\"conversion\":{\"strategy\":\"None\"}",
    b"\"preserveUnknownFields\":true",
    b"\"storedVersions\":[\"v1\"]",
    b"\"properties\":{\"a\":{\"type\":\"string\"}}",
    b"\"items\":[{\"type\":\"string\"}]",
    b"\"additionalProperties\":{\"type\":\"string\"}",
    b"\"default\":{\"a\":1}",
    b"\"pattern\":\"(a*)*b\"",
    b"\"format\":\"strange\"",
    b"\"allOf\":[{\"properties\":{\"a\":{}}}]",
    b"\"definitions\":{\"a\":{}}",
    b"\"x-kubernetes-list-type\":\"map\"",
    b"\"x-kubernetes-list-map-keys\":[\"a\",\"a\"]",
    b"\"x-kubernetes-embedded-resource\":true",
    b"\"x-kubernetes-int-or-string\":true",
    b"\"x-kubernetes-validations\":[{\"rule\":\"true\",\"fieldPath\":\".a['b']\"}]",
];

/// The first line is a definition, the rest another one. What is taken can be served, and can take its own place.
pub fn target(data: &[u8]) {
    let (first, rest) = first_line(data);
    let Some(new) = definition(first) else { return };
    let mut again = new.clone();
    set_defaults(&mut again);
    assert_eq!(again, new, "filled in twice");
    let mut errors = FieldErrors::default();
    if let Some(old) = definition(rest) {
        validate_update(&new, &old, &mut errors);
        validate_status_update(&new, &mut errors);
        let _ = errors.to_string();
    }
    let mut errors = FieldErrors::default();
    validate(&new, &mut errors);
    let _ = errors.to_string();
    let Ok(read) = Definition::from_object(&new) else {
        assert!(!errors.is_empty(), "what cannot be read was taken");
        return;
    };
    warnings(&read, None);
    let mut taken = TakenNames::default();
    taken.add(&read.status.accepted_names);
    accept_names(&read, &taken);
    if errors.is_empty() {
        read.spec.versions.iter().for_each(serve);
        let mut errors = FieldErrors::default();
        validate_update(&new, &new, &mut errors);
        assert!(errors.is_empty(), "it cannot take its own place: {errors}");
    }
}

fn definition(json: &[u8]) -> Option<Object> {
    let mut object = Object::try_from(from_json(json).ok()?.value).ok()?;
    set_defaults(&mut object);
    Some(object)
}

fn serve(version: &Version) {
    let schema = version.written_schema().expect("a version that was taken has a schema");
    Schema::from_json(&Value::Object(schema.clone())).expect("a schema that was taken can be used");
    columns(&version.additional_printer_columns);
    for field in &version.selectable_fields {
        selectable_field(schema, &field.json_path).expect("a field that was taken can be selected by");
    }
}
