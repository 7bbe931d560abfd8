use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Schema, default, drop_nulls, lenient, prune, unknown_fields, validate, validate_update};
use crate::{FieldErrors, FieldPath};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        Just(json!("2020-01-01T00:00:00Z")),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("a"), Just("b"), Just("apiVersion"), Just("kind"), Just("metadata"), Just("é.x")]
        .prop_map(str::to_owned)
}

fn schema() -> impl Strategy<Value = Value> {
    let formats =
        ["date-time", "date", "uri", "email", "duration", "cidr", "mac", "hostname", "isbn", "creditcard", "byte"];
    let leaf = prop_oneof![
        (prop::sample::select(formats.to_vec()), prop::option::of(-1_i64..4), prop::option::of(-1_i64..4)).prop_map(
            |(format, least, most)| json!({"type": "string", "format": format, "minLength": least, "maxLength": most})
        ),
        (any::<f64>(), any::<f64>(), any::<f64>(), any::<bool>()).prop_map(|(low, high, factor, flag)| json!({
            "type": if flag { "integer" } else { "number" }, "minimum": low, "maximum": high, "multipleOf": factor,
            "exclusiveMinimum": flag, "format": if flag { "int32" } else { "float" },
        })),
        value()
            .prop_map(|value| json!({"x-kubernetes-preserve-unknown-fields": true, "enum": [value], "default": value})),
        Just(json!({"x-kubernetes-int-or-string": true, "default": 5})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let object = (
            prop::collection::btree_map(name(), inner.clone(), 0..4),
            prop::option::of(inner.clone()),
            any::<[bool; 4]>(),
        );
        prop_oneof![
            object.prop_map(|(properties, additional, [nullable, preserve, embedded, required])| {
                let mut schema = json!({"type": "object", "properties": properties, "nullable": nullable});
                if let Some(additional) = additional {
                    schema["additionalProperties"] = additional;
                }
                if preserve {
                    schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
                }
                schema["x-kubernetes-embedded-resource"] = json!(embedded);
                schema["required"] = if required { json!(["a"]) } else { json!([]) };
                schema
            }),
            (inner.clone(), 0_u8..3).prop_map(|(items, kind)| json!({
                "type": "array", "items": items, "uniqueItems": kind == 0,
                "x-kubernetes-list-type": (["atomic", "set", "map"][usize::from(kind)]),
                "x-kubernetes-list-map-keys": ["a", "b"],
            })),
            prop::collection::vec(inner, 1..3).prop_map(|branches| json!({
                "x-kubernetes-preserve-unknown-fields": true,
                "anyOf": branches, "oneOf": branches, "allOf": branches, "not": branches[0],
            })),
        ]
    })
}

fn errors(schema: &Schema, value: &Value) -> String {
    let mut errors = FieldErrors::default();
    validate(schema, value, &FieldPath::root(), &mut errors);
    errors.to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn nothing_panics_and_nothing_is_done_twice(schema in schema(), object in value(), old in value()) {
        let schema = lenient(&schema);
        prop_assert_eq!(errors(&schema, &object), errors(&schema, &object));
        let mut noted = FieldErrors::default();
        validate_update(&schema, &object, &old, &FieldPath::root(), &mut noted);

        let mut pruned = object.clone();
        prop_assert_eq!(unknown_fields(&schema, &object), prune(&schema, &mut pruned));
        let mut again = pruned.clone();
        prop_assert_eq!(prune(&schema, &mut again), Vec::<String>::new());
        prop_assert_eq!(&again, &pruned);

        drop_nulls(&schema, &mut pruned);
        default(&schema, &mut pruned);
        let mut again = pruned.clone();
        default(&schema, &mut again);
        prop_assert_eq!(&again, &pruned);
    }

    #[test]
    fn an_update_has_no_errors_of_its_own(schema in schema(), object in value(), old in value()) {
        let schema = lenient(&json!({"type": "object", "properties": {"x": schema}}));
        let (object, old) = (json!({ "x": object }), json!({ "x": old }));
        let (mut errors, mut update) = (FieldErrors::default(), FieldErrors::default());
        validate(&schema, &object, &FieldPath::root(), &mut errors);
        validate_update(&schema, &object, &old, &FieldPath::root(), &mut update);
        prop_assert!(update.as_slice().iter().all(|error| errors.as_slice().contains(error)), "{update}");
    }

    #[test]
    fn a_schema_is_written_as_it_is_read(schema in schema()) {
        let schema = lenient(&schema);
        prop_assert_eq!(lenient(&schema.to_json()).to_json(), schema.to_json());
    }

    #[test]
    fn any_pattern_is_taken_or_refused(source in ".{0,12}", dense in r"[a-z\[\]^(){}*+?|.\\1,:<>P-]{0,12}", text in ".{0,8}") {
        for source in [source, dense] {
            if let Ok(pattern) = super::pattern::Pattern::new(&source, &mut Default::default()) {
                pattern.matches(&text);
            }
        }
    }

    #[test]
    fn any_text_has_a_format_or_not(text in ".{0,24}", dense in "[0-9a-zTZ:./@<>()\" %+-]{0,24}") {
        for text in [text, dense] {
            let formats = ["bsonobjectid", "byte", "cidr", "creditcard", "date", "datetime", "duration", "email", "hexcolor",
                "hostname", "ipv4", "ipv6", "isbn", "mac", "rgbcolor", "ssn", "uri", "uuid", "k8s-long-name"];
            for format in formats {
                super::Format::of(format).unwrap().holds(&text);
            }
        }
    }
}
