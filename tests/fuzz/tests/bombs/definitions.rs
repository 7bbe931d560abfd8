//! Definitions of custom resources that keep those busy who judge them.

use bailiwick_machinery::crd::{Definition, JsonPath, set_defaults, validate, validate_update, warnings};
use bailiwick_machinery::decode::from_json;
use bailiwick_machinery::{FieldErrors, MAX_FIELD_ERRORS, Object};

use super::measure::{BODY, alone, settled_in_time};

/// A definition with this schema, judged as a new one and as one that takes its own place.
fn judge(what: &str, schema: &str, versions: &str) -> usize {
    let text = format!(
        r#"{{"metadata":{{"name":"a.b.c"}},"spec":{{"group":"b.c","scope":"Cluster","names":{{"plural":"a","kind":"A"}},
        "versions":[{{"name":"v1","served":true,"storage":true,"subresources":{{"status":{{}}}},
        "schema":{{"openAPIV3Schema":{schema}}}}}{versions}]}}}}"#
    );
    assert!(text.len() <= BODY, "{what}: no server takes {} bytes", text.len());
    let decoded = from_json(text.as_bytes()).unwrap();
    let mut object = Object::try_from(decoded.value).unwrap();
    set_defaults(&mut object);
    let (told, text) = settled_in_time(what, || {
        let mut errors = FieldErrors::default();
        validate(&object, &mut errors);
        (errors.as_slice().len(), errors.to_string())
    });
    assert!(told <= MAX_FIELD_ERRORS && text.len() < 48 << 20, "{what}: {} bytes of {told} errors", text.len());
    settled_in_time(what, || validate_update(&object, &object, &mut FieldErrors::default()));
    settled_in_time(what, || warnings(&Definition::from_object(&object).unwrap(), None));
    told
}

/// As many as can be read: an object takes far more room than its text.
fn many(count: usize, piece: impl Fn(usize) -> String) -> String {
    (0..count).map(piece).collect::<Vec<_>>().join(",")
}

#[test]
fn schemas() {
    let _alone = alone();
    let room = BODY - 1024;
    let object = |fields: &str| format!(r#"{{"type":"object","properties":{{{fields}}}}}"#);
    let deep = format!("{}{{}}{}", r#"{"type":"object","properties":{"a":"#.repeat(50), "}}".repeat(50));
    assert_eq!(judge("deep", &deep, ""), 1);
    assert_eq!(judge("too deep", &format!("{}{{}}{}", r#"{"not":"#.repeat(110), "}".repeat(110)), ""), 1);
    let long = "x".repeat(room / 2);
    let below_long = object(&format!(r#""{long}":{}"#, object(&many(20_000, |n| format!(r#""{n}":{{}}"#)))));
    assert_eq!(judge("below a long name", &below_long, ""), 1);
    for (what, piece) in [
        ("without types", r#"{}"#),
        ("null types", r#"{"type":"null"}"#),
        ("nested", r#"{"not":{"not":{"properties":{"a":{}}}}}"#),
        ("defaults", r#"{"type":"string","default":1}"#),
        ("rules", r#"{"type":"object","x-kubernetes-validations":[{"rule":"a","fieldPath":".a.b"}]}"#),
        ("patterns", r#"{"type":"string","pattern":"(a{90}){9}"}"#),
    ] {
        assert!(judge(what, &object(&many(5_000, |n| format!(r#""{n}":{piece}"#))), "") > 0, "{what}");
    }
    let keys = many(60_000, |n| format!(r#""{n}""#));
    let twice = format!("{keys},{keys}");
    let list = format!(
        r#"{{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":[{twice}],"items":{{"type":"object"}}}}"#
    );
    assert!(judge("keys", &object(&format!(r#""a":{list}"#)), "") > 1);
    assert!(
        judge(
            "not at the root",
            &format!(r#"{{"type":"object","enum":[{}]}}"#, many(200_000, |_| "{}".to_owned())),
            ""
        ) > 0
    );
}

#[test]
fn versions() {
    let _alone = alone();
    let schema = r#"{"type":"object"}"#;
    for (what, piece) in [("alike", r#"{"name":"v2"}"#), ("stored", r#"{"name":"v2","storage":true}"#)] {
        assert!(judge(what, schema, &format!(",{}", many(30_000, |_| piece.to_owned()))) > 0);
    }
    let different =
        many(8_000, |n| format!(r#"{{"name":"v{n}","schema":{{"openAPIV3Schema":{{"properties":{{"a":{{}}}}}}}}}}"#));
    assert!(judge("different", schema, &format!(",{different}")) > 0);
}

#[test]
fn paths() {
    let _alone = alone();
    let object = from_json(format!("{}1{}", r#"{"a":[{},{},"#.repeat(30), "]}".repeat(30)).as_bytes()).unwrap().value;
    for path in [
        "..a".repeat(40),
        "..*".repeat(40),
        "[*]".repeat(40),
        "..[?(@..a)]".repeat(20),
        "[0,0]".repeat(40),
        ".a[*]".repeat(40),
    ] {
        let _ = settled_in_time(&path, || JsonPath::parse(&path).ok().and_then(|path| path.first(&object).cloned()));
    }
}
