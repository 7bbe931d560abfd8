use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn rendered(template: &Value, values: &Value) -> Result<Value, RenderError> {
    let find = |reference: &Reference| {
        reference.path.find(values.get(&reference.resource)?).map(|found| Cow::Owned(found.clone()))
    };
    Template::read(template).unwrap().render(&find)
}

/// SMITH-6, SMITH-8, SMITH-10, SMITH-13: values as text and as they are, several from several dependencies, whole trees.
#[test]
fn values_take_their_places() {
    let values = json!({
        "a": {"n": 3, "t": true, "f": 1.5, "s": "text", "spec": {"deep": [1, {"x": null}]}, "null": null},
        "b": {"s": "other"},
    });
    let template = json!({
        "number": "$(a.n)", "boolean": "$(a.t)", "fraction": "$(a.f)", "mixed": "<$(a.s)/$(b.s)/$(a.n)>",
        "raw": "$((a.n))", "rawBoolean": "$((a.t))", "tree": "$((a.spec))", "list": ["$((a.spec.deep[1]))", "$$(a.n)"],
        "null": "$((a.null))",
    });
    assert_eq!(
        rendered(&template, &values),
        Ok(json!({
            "number": "3", "boolean": "true", "fraction": "1.5", "mixed": "<text/other/3>",
            "raw": 3, "rawBoolean": true, "tree": {"deep": [1, {"x": null}]}, "list": [{"x": null}, "$(a.n)"],
            "null": null,
        }))
    );
    assert_eq!(Template::read(&template).unwrap().uses().len(), 11);
}

/// SMITH-9, SMITH-11: what has no text, and what is not there, is neither empty nor guessed.
#[test]
fn what_does_not_fit_is_told() {
    let values = json!({"a": {"object": {"k": "secret-value"}, "list": ["secret-value"], "null": null}});
    for (text, found) in [("$(a.object)", "an object"), ("x$(a.list)", "a list"), ("$(a.null)", "null")] {
        let error = rendered(&json!({"f": text}), &values).unwrap_err();
        assert!(matches!(&error, RenderError::NotText { found: told, .. } if *told == found), "{error}");
        assert!(!error.to_string().contains("secret-value"), "{error}");
    }
    let error = rendered(&json!({"f": ["$(a.status.message)"]}), &values).unwrap_err();
    let RenderError::Missing { at, reference } = &error else { panic!("{error}") };
    assert_eq!((at.to_string(), reference.to_string()), ("f[0]".to_owned(), "a.status.message".to_owned()));
}

/// B-06: a value has a bound.
#[test]
fn large_values_are_refused() {
    let values = json!({"a": {"fits": "x".repeat(MAX_VALUE_BYTES), "large": "x".repeat(MAX_VALUE_BYTES + 1), "many": vec![1; 20_000]}});
    assert!(rendered(&json!("$(a.fits)"), &values).is_ok());
    for text in ["$(a.large)", "$((a.large))", "$((a.many))"] {
        assert!(matches!(rendered(&json!(text), &values), Err(RenderError::TooLarge { .. })), "{text}");
    }
}

/// B-06: many values of which each is small enough are too much together, in a list as well as in one text.
#[test]
fn many_values_have_a_bound_together() {
    let values = json!({"a": {"large": "x".repeat(MAX_VALUE_BYTES)}});
    let fits = MAX_VALUES_BYTES / MAX_VALUE_BYTES;
    for text in ["$(a.large)", "$((a.large))"] {
        assert!(rendered(&json!(vec![text; fits]), &values).is_ok());
        let error = rendered(&json!({"list": vec![text; fits + 1]}), &values).unwrap_err();
        let RenderError::TooMuch { at } = &error else { panic!("{error}") };
        assert_eq!(at.to_string(), format!("list[{fits}]"));
    }
    let long = json!({"text": "$(a.large)".repeat(fits + 1)});
    assert!(matches!(rendered(&long, &values), Err(RenderError::TooMuch { .. })));
}

/// B-07: what looks like a reference in a value is data, and stays what it is.
#[test]
fn values_are_not_read_again() {
    let values =
        json!({"a": {"s": "$(b.secret)", "o": {"k": "$((b.secret))", "$(b.secret)": 1}}, "b": {"secret": "leaked"}});
    let template = json!({"text": "$(a.s)$(a.s)", "tree": "$((a.o))", "joined": "$$$(a.s)"});
    assert_eq!(
        rendered(&template, &values),
        Ok(json!({
            "text": "$(b.secret)$(b.secret)", "tree": {"k": "$((b.secret))", "$(b.secret)": 1}, "joined": "$$(a.s)",
        }))
    );
}

#[test]
fn names_of_fields_have_no_references() {
    let errors = Template::read(&json!({"x": {"$(a.b)": 1}, "y": "$(a"})).unwrap_err();
    assert_eq!(errors.iter().map(|(at, _)| at.to_string()).collect::<Vec<_>>(), ["x['$(a.b)']", "y"]);
    let deep = (0..MAX_DEPTH + 2).fold(json!("$(a.b)"), |inner, _| json!([inner]));
    assert!(Template::read(&deep).unwrap_err().iter().any(|(_, error)| *error == TemplateError::TooDeep));
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[$(){}.a-c ]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-d]{1,2}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Any value goes through a raw reference unchanged, also one that is full of what looks like references.
    #[test]
    fn any_value_is_carried_whole(value in json_value()) {
        let template = json!({"spec": "$((a.v))"});
        prop_assert_eq!(rendered(&template, &json!({"a": {"v": value.clone()}})), Ok(json!({"spec": value})));
    }

    /// An object without references stays what it is, and no object does harm.
    #[test]
    fn objects_without_references_stay(value in json_value()) {
        if let Ok(template) = Template::read(&value)
            && template.uses().is_empty()
            && !value.to_string().contains("$$(")
        {
            prop_assert_eq!(template.render(&|_| None), Ok(value));
        }
    }
}
