use serde_json::{Value, json};

use super::{Transform, Transforms};

fn apply(transforms: Value, value: Value) -> Result<Value, String> {
    let steps = Transforms(transforms).steps().map_err(|error| error.to_string())?;
    Transform::apply_all(&steps, &value).map_err(|error| error.to_string())
}

/// RCD-31, RCD-32, RCD-33, M-RCD-5, D-RCD-7: the transforms of the seed, alone and together.
#[test]
fn an_object_has_a_fixed_order() {
    assert_eq!(apply(json!({ "toupper": true }), json!("mysql")), Ok(json!("MYSQL")));
    assert_eq!(apply(json!({ "replace": { "string": ".", "with": "_" } }), json!("5.7")), Ok(json!("5_7")));
    let both = json!({ "toupper": true, "replace": { "string": ".", "with": "_" } });
    assert_eq!(apply(both, json!("v5.7.x")), Ok(json!("V5_7_X")));
    let all = json!({
        "suffix": "!", "prefix": "MYSQL_", "map": { "5-7": "five" }, "tolower": true,
        "replace": { "string": ".", "with": "-" },
    });
    assert_eq!(apply(all, json!("5.7")), Ok(json!("MYSQL_five!")));
    assert_eq!(apply(json!({}), json!({ "as": "it is" })), Ok(json!({ "as": "it is" })));
    assert_eq!(apply(json!({ "toupper": false }), json!([1])), Ok(json!([1])));
}

#[test]
fn a_list_has_its_own_order() {
    let replaced_first = json!([{ "replace": { "string": "a", "with": "b" } }, { "toupper": true }]);
    assert_eq!(apply(replaced_first, json!("aA")), Ok(json!("BA")));
    let upper_first = json!([{ "toupper": true }, { "replace": { "string": "a", "with": "b" } }]);
    assert_eq!(apply(upper_first, json!("aA")), Ok(json!("AA")));
    let twice = json!([{ "prefix": "a" }, { "prefix": "b" }, { "suffix": "c" }, { "tolower": true }]);
    assert_eq!(apply(twice, json!("X")), Ok(json!("baxc")));
    assert_eq!(apply(json!([{ "map": { "5.7": "MYSQL_5_7" } }]), json!("5.7")), Ok(json!("MYSQL_5_7")));
}

#[test]
fn numbers_and_truth_are_text() {
    assert_eq!(apply(json!({ "prefix": "v" }), json!(8)), Ok(json!("v8")));
    assert_eq!(apply(json!({ "toupper": true }), json!(true)), Ok(json!("TRUE")));
}

#[test]
fn what_cannot_be_applied_says_so() {
    for (transforms, value, why) in [
        (json!({ "toupper": true }), json!({}), "toupper cannot be applied to an object"),
        (json!({ "prefix": "a" }), json!([]), "prefix cannot be applied to a list"),
        (json!({ "map": { "a": "b" } }), json!("c"), "map has no entry for \"c\""),
        (json!({ "tocamel": true }), json!("c"), "unknown field `tocamel`"),
        (json!({ "toupper": "yes" }), json!("c"), "invalid type"),
        (json!("toupper"), json!("c"), "invalid type"),
        (json!({ "replace": { "with": "b" } }), json!("c"), "missing field `string`"),
        (json!({ "replace": { "string": "" } }), json!("c"), "replace.string must not be empty"),
        (json!([{ "toupper": true, "prefix": "a" }]), json!("c"), "item 0 must hold exactly one"),
        (json!([{}]), json!("c"), "item 0 must hold exactly one"),
        (json!([{ "prefix": "x".repeat(40_000) }]), json!("c"), "longer than"),
        (json!({ "replace": { "string": "a", "with": "x".repeat(9_000) } }), json!("aaaa"), "longer than"),
    ] {
        let error = apply(transforms.clone(), value).expect_err("it should not apply");
        assert!(error.contains(why), "{transforms}: {error}");
    }
    let many: Vec<Value> = (0..17).map(|_| json!({ "toupper": true })).collect();
    assert!(apply(json!(many), json!("a")).is_err());
}
