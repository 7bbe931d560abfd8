use proptest::prelude::*;
use serde_json::json;

use super::*;

fn reference(resource: &str, part: Part, path: &str) -> Reference {
    Reference { resource: resource.to_owned(), part, path: path.parse().unwrap() }
}

fn literal(text: &str) -> Piece {
    Piece::Literal(text.to_owned())
}

fn refused(text: &str) -> String {
    Parsed::read(text).unwrap_err().to_string()
}

/// SMITH-8, SMITH-10, SMITH-11, SMITH-14, D-SMITH-1: the two forms, with and without braces.
#[test]
fn both_forms() {
    let message = reference("sleeper1", Part::Object, "status.message");
    for text in ["$(sleeper1.status.message)", "$({sleeper1.status.message})"] {
        assert_eq!(Parsed::read(text), Ok(Parsed::Text(vec![Piece::Reference(message.clone())])), "{text}");
    }
    for text in ["$((sleeper1.status.message))", "$(({sleeper1.status.message}))"] {
        assert_eq!(Parsed::read(text), Ok(Parsed::Value(message.clone())), "{text}");
    }
}

/// D-SMITH-2, D-SMITH-3: several in one text, and how to write the characters themselves.
#[test]
fn texts_around_references() {
    let (a, b) = (reference("a", Part::Object, "x"), reference("b", Part::Object, "y['p)q}']"));
    assert_eq!(
        Parsed::read("1 $(a.x) 2 $(b.y['p)q}']) $3 $$ $$(c.z)$"),
        Ok(Parsed::Text(vec![
            literal("1 "),
            Piece::Reference(a),
            literal(" 2 "),
            Piece::Reference(b),
            literal(" $3 $$ $(c.z)$"),
        ]))
    );
    assert_eq!(Parsed::read("$$((a.x))"), Ok(Parsed::Text(vec![literal("$((a.x))")])));
    assert_eq!(Parsed::read(""), Ok(Parsed::Text(Vec::new())));
    assert!(refused("x $((a.x))").contains("must be all of the text"));
    assert!(refused("$((a.x)) x").contains("must be all of the text"));
}

#[test]
fn objects_that_belong_to_a_dependency() {
    let binding = reference("db", Part::Binding, "status.secretName");
    let output = reference("db", Part::Output, "data.password");
    assert_eq!(Parsed::read("$((db:binding.status.secretName))"), Ok(Parsed::Value(binding.clone())));
    assert_eq!(Parsed::read("$(db:output.data.password)"), Ok(Parsed::Text(vec![Piece::Reference(output.clone())])));
    assert_eq!(
        (binding.to_string(), output.to_string()),
        ("db:binding.status.secretName".into(), "db:output.data.password".into())
    );
}

/// B-06: what is no reference says why, and how to write it otherwise.
#[test]
fn what_is_no_reference() {
    for (text, why) in [
        ("$(", "names no resource"),
        ("$()", "names no resource"),
        ("$(.a)", "names no resource"),
        ("$( a.b)", "names no resource"),
        ("$(a)", "the path is empty"),
        ("$(a.)", "has no name"),
        ("$(a.b", "does not end"),
        ("$((a.b)", "does not end"),
        ("$({a.b)", "does not end"),
        ("$(a.b})", "'}'"),
        ("$(a:b.c)", "\"binding\" or \"output\""),
        ("$(a.b c)", "' '"),
        ("$(a.*)", "'*'"),
        ("$(a|b)", "'|'"),
        ("$(a.b['c)", "does not end"),
    ] {
        let found = refused(text);
        assert!(found.contains(why) && found.contains("$$("), "{text}: {found}");
    }
    for text in [
        "$(a.metadata.managedFields[0].manager)",
        "$((a.metadata.managedFields))",
        "$(a.metadata.annotations['kubectl.kubernetes.io/last-applied-configuration'])",
        "$(a.metadata['annotations']['bundle.bailiwick.dev/x'])",
    ] {
        assert!(refused(text).contains("cannot be used"), "{text}");
    }
}

/// B-06: what is kept about an object is not told by naming all that is around it either.
#[test]
fn records_are_no_values() {
    let object = json!({
        "metadata": {
            "name": "a", "managedFields": [{"manager": "m"}],
            "annotations": {
                "mine": "1", "bundle.bailiwick.dev/x": "2", "kubectl.kubernetes.io/last-applied-configuration": "3",
            },
        },
        "data": {"annotations": {"bundle.bailiwick.dev/x": "2"}},
    });
    let find = |path: &str| reference("a", Part::Object, path).find(&object).map(Cow::into_owned);
    assert_eq!(find("metadata.annotations"), Some(json!({"mine": "1"})));
    assert_eq!(find("metadata"), Some(json!({"name": "a", "annotations": {"mine": "1"}})));
    assert_eq!(find("metadata.annotations.mine"), Some(json!("1")));
    assert_eq!(find("data"), Some(object["data"].clone()));
    assert_eq!(find("status"), None);
}

proptest! {
    #[test]
    fn no_text_does_harm(text in "[$({})a.:\\['\"x]{0,40}|.{0,60}") {
        let _ = Parsed::read(&text);
    }

    #[test]
    fn what_is_escaped_stays(text in "[$({})a.:]{0,40}") {
        let escaped = text.replace("$(", "$$(");
        // `$` before `$(` is itself escaped by one more.
        if !text.contains("$$(") {
            let expected = if text.is_empty() { Vec::new() } else { vec![literal(&text)] };
            prop_assert_eq!(Parsed::read(&escaped), Ok(Parsed::Text(expected)));
        }
    }
}
