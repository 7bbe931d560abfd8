use serde_json::{Value, json};

use super::{FieldPath, Step};

fn path(text: &str) -> FieldPath {
    FieldPath::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    FieldPath::parse(text).expect_err(text).to_string()
}

/// RCD-46: names, indexes, names in quotes.
#[test]
fn what_a_path_is() {
    let field = |name: &str| Step::Field(name.to_owned());
    let cases: [(&str, Vec<Step>); 7] = [
        (".spec.a.b", vec![field("spec"), field("a"), field("b")]),
        ("spec.a", vec![field("spec"), field("a")]),
        (".spec.list[0].name", vec![field("spec"), field("list"), Step::Index(0), field("name")]),
        (".list[1][2]", vec![field("list"), Step::Index(1), Step::Index(2)]),
        (".metadata.labels[\"app.example/name\"]", vec![field("metadata"), field("labels"), field("app.example/name")]),
        (".a['it is \"b\"']", vec![field("a"), field("it is \"b\"")]),
        (r#".a["b\"\\c"]"#, vec![field("a"), field(r#"b"\c"#)]),
    ];
    for (text, steps) in cases {
        assert_eq!(path(text).steps(), steps, "{text}");
        assert_eq!(path(&path(text).to_string()), path(text), "{text} is written so that it is read as the same");
    }
}

#[test]
fn what_is_no_path() {
    for (text, why) in [
        ("", "must name a field"),
        (".", "must name a field"),
        ("..a", "a name is missing"),
        (".a.", "a name is missing"),
        (".a b", "a . or a [ is missing at byte 2"),
        (".a[", "an index"),
        (".a[-1]", "an index"),
        (".a[*]", "an index"),
        (".a[10000]", "an index"),
        (".a[0", "a ] is missing"),
        (".a[\"b]", "the quotes are not closed"),
        (".a[\"\"]", "is empty"),
        (".a[0]b", "a . or a [ is missing"),
    ] {
        assert!(error(text).contains(why), "{text}: {}", error(text));
    }
    assert!(error(&format!(".{}", "a".repeat(1_024))).contains("1024"));
}

#[test]
fn what_is_read() {
    let object = json!({ "spec": { "list": [{ "a": 1 }], "null": null, "a.b": true } });
    assert_eq!(path(".spec.list[0].a").get(&object), Some(&json!(1)));
    assert_eq!(path(".spec[\"a.b\"]").get(&object), Some(&json!(true)));
    assert_eq!(path(".spec.null").get(&object), Some(&Value::Null));
    for absent in [".spec.list[1]", ".spec.list.a", ".spec[0]", ".nothing", ".spec.null.a"] {
        assert_eq!(path(absent).get(&object), None, "{absent}");
    }
}

#[test]
fn what_is_written_can_be_read() {
    let mut object = json!({ "spec": { "size": 1, "list": ["a"] } });
    for (text, value) in [
        (".spec.size", json!(2)),
        (".spec.new.deep", json!("x")),
        (".spec.list[0]", json!("b")),
        (".spec.list[1]", json!("c")),
        (".metadata.labels[\"a/b\"]", json!("d")),
        (".made[0].name", json!("first")),
    ] {
        path(text).set(&mut object, value.clone()).unwrap();
        assert_eq!(path(text).get(&object), Some(&value), "{text}");
    }
    assert_eq!(object["spec"]["list"], json!(["b", "c"]));
    let before = object.clone();
    let refused = |text: &str| path(text).set(&mut object.clone(), json!(0)).expect_err(text).to_string();
    assert_eq!(refused(".spec.size.x"), ".spec.size is not an object");
    assert_eq!(refused(".spec.size[0]"), ".spec.size is not a list");
    assert_eq!(refused(".spec.list[3]"), ".spec.list has 2 items, so that item 3 cannot be set");
    assert_eq!(object, before);
}

#[test]
fn what_lies_below_what() {
    let below = path(".specTemplate.forProvider.version");
    let rest = below.below(&path(".specTemplate")).unwrap();
    assert_eq!(path(".spec").join(rest), path(".spec.forProvider.version"));
    assert_eq!(below.below(&path(".spec")), None);
    assert_eq!(path(".spec").below(&path(".spec")), Some(&[][..]));
}
