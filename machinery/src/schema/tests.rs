use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::{FieldErrorKind, FieldErrors, FieldPath};

mod properties;
mod types;

/// What upstream says: type, field and message.
type Recorded = (String, String, String);

#[derive(Deserialize)]
struct Group {
    schema: Value,
    objects: Vec<Answer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    object: Value,
    #[serde(default)]
    unknown: Vec<String>,
    pruned: Option<Value>,
    defaulted: Option<Value>,
    #[serde(default)]
    errors: Vec<Recorded>,
    old: Option<Value>,
    #[serde(default)]
    update_errors: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Structural {
    schema: Value,
    #[serde(default)]
    errors: Vec<Recorded>,
}

fn recorded<T: for<'de> Deserialize<'de>>(text: &str) -> Vec<T> {
    serde_json::from_str(text).unwrap()
}

fn upstream_kind(kind: FieldErrorKind) -> &'static str {
    kind.cause()
}

fn listed(errors: &FieldErrors) -> Vec<Recorded> {
    let error =
        |error: &crate::FieldError| (upstream_kind(error.kind).to_owned(), error.field.to_string(), error.body());
    let mut errors: Vec<Recorded> = errors.as_slice().iter().map(error).collect();
    errors.sort();
    errors
}

fn sorted(mut errors: Vec<Recorded>) -> Vec<Recorded> {
    errors.sort();
    errors
}

fn validated(schema: &Schema, value: &Value) -> Vec<Recorded> {
    let mut errors = FieldErrors::default();
    validate(schema, value, &FieldPath::root(), &mut errors);
    listed(&errors)
}

/// Reads a schema without the rules that make it structural, which the recorded ones do not all keep.
fn lenient(json: &Value) -> Schema {
    parse::unchecked(json, &FieldPath::root()).unwrap()
}

#[test]
fn objects_are_judged_as_upstream_judges_them() {
    let mut differences = Vec::new();
    let mut count = 0;
    for group in recorded::<Group>(include_str!("../../../tests/data/go/schema-cases.json")) {
        let schema = lenient(&group.schema);
        for answer in group.objects {
            count += 1;
            let mut note = |what: &str, ours: String, theirs: String| {
                if ours != theirs {
                    differences.push(format!(
                        "{what}\n  schema {}\n  object {}\n  ours   {ours}\n  theirs {theirs}",
                        group.schema, answer.object
                    ));
                }
            };
            let mut object = answer.object.clone();
            let unknown = prune(&schema, &mut object);
            note("unknown", format!("{unknown:?}"), format!("{:?}", answer.unknown));
            note("pruned", object.to_string(), answer.pruned.as_ref().unwrap_or(&answer.object).to_string());
            let theirs = answer.defaulted.as_ref().or(answer.pruned.as_ref()).unwrap_or(&answer.object).to_string();
            drop_nulls(&schema, &mut object);
            default(&schema, &mut object);
            note("defaulted", object.to_string(), theirs);
            let errors = validated(&schema, &answer.object);
            note("errors", format!("{errors:#?}"), format!("{:#?}", sorted(answer.errors.clone())));
            if let Some(old) = &answer.old {
                let mut errors = FieldErrors::default();
                validate_update(&schema, &answer.object, old, &FieldPath::root(), &mut errors);
                let errors = listed(&errors);
                note("update", format!("{errors:#?}"), format!("{:#?}", sorted(answer.update_errors.clone())));
            }
        }
    }
    assert!(count > 1300, "{count} cases");
    assert!(
        differences.is_empty(),
        "{} of {count}:\n{}",
        differences.len(),
        differences[..differences.len().min(5)].join("\n")
    );
}

#[test]
fn schemas_are_judged_as_upstream_judges_them() {
    for case in recorded::<Structural>(include_str!("../../../tests/data/go/schema-structural.json")) {
        let errors = match Schema::from_json(&case.schema) {
            Ok(_) => Vec::new(),
            Err(errors) => listed(&errors),
        };
        assert_eq!(errors, sorted(case.errors), "{}", case.schema);
    }
}

#[test]
fn patterns_match_as_in_go() {
    #[derive(Deserialize)]
    struct Recorded {
        pattern: String,
        #[serde(default)]
        error: String,
        #[serde(default)]
        matches: BTreeSet<String>,
    }
    let answers: Vec<Recorded> = recorded(include_str!("../../../tests/data/go/schema-patterns.json"));
    let texts = answers[0].matches.clone();
    let mut differences = Vec::new();
    for answer in &answers {
        match pattern::Pattern::new(&answer.pattern, &mut pattern::PatternBudget::default()) {
            Ok(pattern) => {
                let matches: BTreeSet<String> = texts.iter().filter(|text| pattern.matches(text)).cloned().collect();
                if matches != answer.matches || !answer.error.is_empty() {
                    differences
                        .push(format!("{}: {matches:?} for {:?} {}", answer.pattern, answer.matches, answer.error));
                }
            }
            Err(error) if error.to_string() == answer.error => {}
            Err(error) => differences.push(format!("{}: {error} for {}", answer.pattern, answer.error)),
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn formats_hold_as_in_upstream() {
    #[derive(Deserialize)]
    struct Recorded {
        format: String,
        holds: BTreeSet<String>,
    }
    let answers: Vec<Recorded> = recorded(include_str!("../../../tests/data/go/schema-formats.json"));
    let texts = answers[0].holds.clone();
    let mut differences = Vec::new();
    for answer in &answers[1..] {
        let format = Format::of(&answer.format).unwrap();
        for text in &texts {
            if format.holds(text) != answer.holds.contains(text) {
                differences.push(format!("{} {text:?}: upstream {}", answer.format, answer.holds.contains(text)));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn what_no_definition_may_use_is_refused() {
    for (schema, message) in [
        (json!({"type": "object", "$ref": "#/x"}), "$ref: Forbidden: $ref is not supported"),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "definitions": {"x": {}}}}}),
            "properties[a].definitions: Forbidden: definitions is not supported",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "array", "items": [{}]}}}),
            "properties[a].items: Forbidden: items must be a schema object and not an array",
        ),
        (
            json!({"type": "map"}),
            "type: Unsupported value: \"map\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \
             \"object\", \"string\"",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}),
            "properties[a].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: \
             error parsing regexp: missing closing ): `(`",
        ),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}),
            "x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
        (
            json!({"type": "object", "maxProperties": "x"}),
            "maxProperties: Invalid value: \"x\": must be a whole number",
        ),
    ] {
        assert_eq!(Schema::from_json(&schema).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_schema_is_only_so_deep() {
    let nest = |depth: usize| {
        let mut schema = json!({"type": "string"});
        for _ in 0..depth {
            schema = json!({"type": "object", "properties": {"a": schema}});
        }
        Schema::from_json(&schema)
    };
    let schema = nest(MAX_DEPTH).unwrap();
    assert!(nest(MAX_DEPTH + 1).is_err());
    let mut object = json!(1);
    for _ in 0..MAX_DEPTH {
        object = json!({"a": object, "b": null});
    }
    assert_eq!(validated(&schema, &object).len(), 1);
    assert_eq!(prune(&schema, &mut object).len(), MAX_DEPTH);
}

/// Go turns a bound that no whole number can have into the smallest one on some machines and into the largest on others.
/// Here it is the nearest.
#[test]
fn a_bound_beyond_whole_numbers_is_kept() {
    let schema = lenient(&json!({"type": "object", "properties": {"a": {"type": "number", "maximum": 1e30}}}));
    assert!(validated(&schema, &json!({"a": 5})).is_empty());
    assert!(validated(&schema, &json!({"a": 5.5})).is_empty());
    assert_eq!(validated(&schema, &json!({"a": 1e31})).len(), 1);
}

#[test]
fn errors_stand_below_the_path_that_is_given() {
    let schema = Schema::from_json(&json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}}));
    let mut errors = FieldErrors::default();
    validate(&schema.unwrap(), &json!({"a": -1}), &FieldPath::new("status"), &mut errors);
    assert_eq!(errors.to_string(), "status.a: Invalid value: -1: a in body should be greater than or equal to 0");
}

#[test]
fn the_walk_tells_how_lists_and_maps_merge() {
    let schema = Schema::from_json(&json!({"type": "object", "properties": {
        "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                  "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "ref": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
    }}));
    let schema = schema.unwrap();
    let parts = schema.field("parts").unwrap();
    assert_eq!((parts.list_type(), parts.map_keys().collect::<Vec<_>>()), (ListType::Map, vec!["name"]));
    assert_eq!(parts.items().unwrap().field("name").unwrap().kind(), Some(Type::String));
    assert_eq!(schema.field("tags").unwrap().list_type(), ListType::Set);
    assert_eq!(schema.field("labels").unwrap().field("any").unwrap().kind(), Some(Type::String));
    assert_eq!(schema.field("labels").unwrap().map_type(), MapType::Granular);
    assert_eq!(schema.field("ref").unwrap().map_type(), MapType::Atomic);
    assert!(schema.field("none").is_none());
}

#[test]
fn very_many_errors_are_cut_short() {
    let schema = lenient(&json!({"type": "object", "properties": {
        "l": {"type": "array", "items": {"type": "string"}},
        "s": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
        "m": {"type": "object", "additionalProperties": true},
    }}));
    let many: Vec<u32> = (0..200_000).collect();
    let twice: Vec<u32> = many.iter().flat_map(|n| [*n, *n]).collect();
    let long = "x".repeat(100_000);
    let fields: Map<String, Value> = (0..20_000).map(|n| (n.to_string(), Value::Null)).collect();
    let mut object = json!({"l": many, "s": twice, "m": {long: fields}});
    let mut errors = FieldErrors::default();
    validate(&schema, &object, &FieldPath::root(), &mut errors);
    assert_eq!(errors.as_slice().len(), crate::MAX_FIELD_ERRORS);
    assert!(
        errors.to_string().ends_with(&format!("and {} more]", notes::MAX_ERRORS)),
        "each of the two walks is cut short"
    );
    let unknown = prune(&schema, &mut object);
    assert!(unknown.iter().map(String::len).sum::<usize>() < 2 * notes::MAX_ERROR_BYTES);
    assert!(unknown_fields(&schema, &object).is_empty());
}

#[derive(Deserialize)]
struct Read {
    schema: Value,
    object: Value,
    #[serde(default)]
    unknown: Vec<String>,
    result: Option<Value>,
    #[serde(default)]
    error: String,
}

/// Fields that nobody knows are told of wherever an object stands inside of another one, and go.
#[test]
fn embedded_objects_are_read_as_upstream_reads_them() {
    let cases: Vec<Read> = recorded(include_str!("../../../tests/data/go/schema-embedded.json"));
    assert!(cases.len() > 200);
    for case in cases {
        let schema = Schema::from_json(&case.schema).unwrap();
        let mut value = case.object.clone();
        let mut unknown = prune(&schema, &mut value);
        drop_nulls(&schema, &mut value);
        match coerce_embedded(&schema, &mut value) {
            Ok(more) => {
                unknown.extend(more);
                assert_eq!((unknown, Some(value)), (case.unknown, case.result), "{}", case.object);
            }
            Err(error) => assert_eq!(error.to_string(), case.error, "{}", case.object),
        }
    }
}

#[test]
fn all_patterns_of_a_schema_share_a_budget() {
    let with = |count: usize| {
        let field = |i: usize| (format!("f{i}"), json!({"type": "string", "pattern": format!("^(ab{i}){{900}}$")}));
        let properties: serde_json::Map<String, Value> = (0..count).map(field).collect();
        Schema::from_json(&json!({"type": "object", "properties": properties}))
    };
    assert!(with(50).is_ok());
    let errors = with(300).unwrap_err();
    assert!(errors.to_string().contains("too large beside the others of its schema"), "{errors}");
}

#[test]
fn embedded_objects_are_shown() {
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true});
    let schema = lenient(&json!({"type": "object", "properties": {
        "list": {"type": "array", "items": embedded}, "map": {"type": "object", "additionalProperties": embedded},
    }}));
    let mut seen = Vec::new();
    let object = json!({"list": [{"kind": "A"}, 1], "map": {"x": {"kind": "B"}}});
    visit_embedded(&schema, &object, &FieldPath::root(), |path, fields| {
        seen.push(format!("{path} {}", fields["kind"]));
    });
    assert_eq!(seen, ["list[0] \"A\"", "map[x] \"B\""]);
}

#[test]
fn items_are_unique_up_to_the_kind_of_number() {
    let schema = lenient(&json!({"type": "object", "properties": {
        "u": {"type": "array", "uniqueItems": true, "items": {"x-kubernetes-preserve-unknown-fields": true}},
    }}));
    let duplicates = |extra: &[Value]| {
        let few: Vec<Value> = extra.to_vec();
        let many: Vec<Value> = (0..50).map(Value::from).chain(few.clone()).collect();
        let found = [few, many].map(|items| validated(&schema, &json!({ "u": items })).len());
        assert_eq!(found[0], found[1]);
        found[0] == 1
    };
    assert!(!duplicates(&[json!({"a": 1}), json!({"a": 1.0}), json!([1]), json!("x"), json!(null)]));
    assert!(duplicates(&[json!({"a": 1}), json!({"a": 1.0}), json!({"a": 1})]));
    assert!(duplicates(&[json!("x"), json!("y"), json!("x")]));
    assert!(!duplicates(&[json!(70), json!(70.0), json!("70")]));
}
