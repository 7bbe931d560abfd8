//! What may be part of a key, and the two properties everything leans on: coordinates never share a key, and a prefix
//! never reaches beyond itself.

use proptest::prelude::*;

use super::*;

fn widgets() -> Resource {
    Resource::new("example.dev", "widgets").unwrap()
}

fn counts() -> Ledger {
    Ledger::new("counts").unwrap()
}

/// Legal segments, with those that are easily confused with their neighbours among them.
fn any_segment() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec!["a", "ab", "a-b", "a.b", "a0", "a b", "...", "-", "o", "l", "ä"])
            .prop_map(String::from),
        "[a-z0-9.\\-:_ é𝄞]{1,12}".prop_filter("dots", |text| text != "." && text != ".."),
    ]
}

fn any_api_name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec!["a", "ab", "a-b", "a.b", "a0"]).prop_map(String::from),
        "[a-z0-9][a-z0-9.\\-]{0,8}",
    ]
}

type Coordinates = (String, String, Option<String>, String);

fn any_coordinates() -> impl Strategy<Value = Coordinates> {
    (any_api_name(), any_api_name(), prop::option::of(any_segment()), any_segment())
}

fn key_of((group, resource, namespace, name): &Coordinates) -> Key {
    let resource = Resource::new(group, resource).unwrap();
    match namespace {
        Some(namespace) => resource.namespaced(namespace, name).unwrap(),
        None => resource.object(name).unwrap(),
    }
}

fn any_row() -> impl Strategy<Value = Key> {
    (any_api_name(), prop::collection::vec(any_segment(), 1..MAX_SEGMENTS)).prop_map(|(ledger, parts)| {
        let (last, parts) = parts.split_last().unwrap();
        let parts: Vec<_> = parts.iter().map(String::as_str).collect();
        Ledger::new(ledger).unwrap().row(&parts, last).unwrap()
    })
}

fn any_key() -> impl Strategy<Value = Key> {
    prop_oneof![any_coordinates().prop_map(|coordinates| key_of(&coordinates)), any_row()]
}

/// Every prefix that an API can make for a key, and some that do not hold it.
fn any_prefix() -> impl Strategy<Value = Prefix> {
    prop_oneof![
        Just(Prefix::everything()),
        (any_api_name(), any_api_name())
            .prop_map(|(group, plural)| Resource::new(group, plural).unwrap().all().clone()),
        (any_api_name(), any_api_name(), any_segment())
            .prop_map(|(group, plural, ns)| Resource::new(group, plural).unwrap().namespace(ns).unwrap()),
        (any_api_name(), any_segment()).prop_map(|(name, part)| Ledger::new(name).unwrap().below(&[&part]).unwrap()),
    ]
}

/// S-12: nothing that could climb, hide or be read in two ways becomes part of a key.
#[test]
fn refuses_bad_segments() {
    use SegmentFault::{Dots, Empty, Forbidden, NotUtf8, TooLong};
    let long = "x".repeat(MAX_SEGMENT_BYTES + 1);
    let wide = "ä".repeat(MAX_SEGMENT_BYTES / 2 + 1);
    let cases: &[(&[u8], SegmentFault)] = &[
        (b"", Empty),
        (b".", Dots),
        (b"..", Dots),
        (b"/", Forbidden('/')),
        (b"//", Forbidden('/')),
        (b"a/b", Forbidden('/')),
        (b"/a", Forbidden('/')),
        (b"a/", Forbidden('/')),
        (b"../a", Forbidden('/')),
        (b"a/../b", Forbidden('/')),
        (b"./a", Forbidden('/')),
        (b"%", Forbidden('%')),
        (b"%2e%2e", Forbidden('%')),
        (b"%2F", Forbidden('%')),
        (b"a%00", Forbidden('%')),
        (b"a%b", Forbidden('%')),
        (b"\0", Forbidden('\0')),
        (b"a\0b", Forbidden('\0')),
        (b"a\n", Forbidden('\n')),
        (b"\r", Forbidden('\r')),
        (b"\ta", Forbidden('\t')),
        (b"a\x1b[2J", Forbidden('\x1b')),
        (b"\x7f", Forbidden('\x7f')),
        ("a\u{85}".as_bytes(), Forbidden('\u{85}')),
        (b"\xff", NotUtf8),
        (b"a\xc0\xaf", NotUtf8),
        (b"\xed\xa0\x80", NotUtf8),
        (b"\xf0\x9f", NotUtf8),
        (long.as_bytes(), TooLong),
        (wide.as_bytes(), TooLong),
    ];
    for (raw, fault) in cases {
        let shown = String::from_utf8_lossy(raw);
        let name = widgets().object(raw).unwrap_err();
        assert_eq!((name.part, name.fault), ("name", *fault), "as a name: {shown:?}");
        let namespace = widgets().namespaced(raw, "a").unwrap_err();
        assert_eq!((namespace.part, namespace.fault), ("namespace", *fault), "as a namespace: {shown:?}");
        assert_eq!(widgets().namespace(raw).unwrap_err().fault, *fault, "as a prefix: {shown:?}");
        assert!(Resource::new(raw, "widgets").is_err() || raw.is_empty(), "as a group: {shown:?}");
        assert!(Resource::new("example.dev", raw).is_err(), "as a resource: {shown:?}");
        assert!(Ledger::new(raw).is_err(), "as a ledger: {shown:?}");
        if let Ok(text) = std::str::from_utf8(raw) {
            assert_eq!(counts().row(&[text], "a").unwrap_err().fault, *fault, "as a row's part: {shown:?}");
            assert_eq!(counts().row(&["a"], text).unwrap_err().fault, *fault, "as a row's last part: {shown:?}");
        }
        // One with a separator may be several good segments; that it stays inside is a property below.
        if !raw.contains(&b'/') {
            assert_eq!(widgets().all().key(raw).unwrap_err().fault, *fault, "as a token: {shown:?}");
        }
    }
}

#[test]
fn takes_good_segments() {
    let longest = "x".repeat(MAX_SEGMENT_BYTES);
    let widest = "ä".repeat(MAX_SEGMENT_BYTES / 2);
    let good =
        ["a", "kube-system", "a.b-c", "...", "..a", "system:node:a", "Über uns", "-", &longest, &widest, "a\u{202e}b"];
    for text in good {
        let key = widgets().namespaced(text, text).unwrap();
        assert_eq!(key.as_str(), format!("o/example.dev/widgets/{text}/{text}"));
        assert_eq!(key.name(), text);
        assert_eq!(counts().row(&[text], text).unwrap().as_str(), format!("l/counts/{text}/{text}"));
    }
}

#[test]
fn groups_and_resources_are_api_names() {
    for bad in ["Widgets", "wid_gets", "-a", ".a", "wïdgets", "a b", "a:b"] {
        assert_eq!(Resource::new("example.dev", bad).unwrap_err().fault, SegmentFault::NotAnApiName, "{bad}");
        assert_eq!(Resource::new(bad, "widgets").unwrap_err().fault, SegmentFault::NotAnApiName, "{bad}");
        assert_eq!(Ledger::new(bad).unwrap_err().fault, SegmentFault::NotAnApiName, "{bad}");
    }
    // The core group has a key of its own that no group can have.
    assert_eq!(Resource::new("", "pods").unwrap().object("a").unwrap().as_str(), "o/-/pods/a");
    assert!(Resource::new("-", "pods").is_err());
}

#[test]
fn messages() {
    let check = |result: Result<Key, KeyError>, expected: &str| assert_eq!(result.unwrap_err().to_string(), expected);
    check(widgets().object(""), r#"name "" cannot be part of a storage key: it is empty"#);
    check(
        widgets().namespaced("..", "a"),
        r#"namespace ".." cannot be part of a storage key: it must not be "." or "..""#,
    );
    check(widgets().object("a/b"), r#"name "a/b" cannot be part of a storage key: it must not contain '/'"#);
    check(widgets().object("a\0"), r#"name "a\0" cannot be part of a storage key: it must not contain '\0'"#);
    check(widgets().object(b"a\xff"), "name \"a\u{fffd}\" cannot be part of a storage key: it is not UTF-8");
    check(
        widgets().object("x".repeat(513)),
        &format!("name \"{}\" cannot be part of a storage key: it is longer than 512 bytes", "x".repeat(64)),
    );
    check(
        widgets().all().key("a/b/c"),
        r#"key "a/b/c" cannot be part of a storage key: it does not have the form of a key"#,
    );
    assert_eq!(
        Resource::new("example.dev", "Widgets").unwrap_err().to_string(),
        "resource \"Widgets\" cannot be part of a storage key: it must consist of lower-case letters, digits, '-' and \
         '.', and begin with a letter or digit"
    );
}

#[test]
fn forms() {
    for good in ["o/a/b/c", "o/a/b/c/d", "o/-/b/c", "l/a/b", "l/a/b/c/d/e/f/g/h"] {
        assert_eq!(Key::from_stored(good.as_bytes()).unwrap().as_str(), good);
    }
    for bad in
        ["", "o", "o/", "o/a", "o/a/b", "o/a/b/c/d/e", "l/a", "l/a/", "l/a/b/c/d/e/f/g/h/i", "x/a/b/c", "/o/a/b/c"]
    {
        assert!(Key::from_stored(bad.as_bytes()).is_err(), "{bad}");
    }
    assert_eq!(counts().row(&["b"; MAX_SEGMENTS - 2], "h").unwrap().as_str(), "l/counts/b/b/b/b/b/b/h");
    assert_eq!(counts().row(&["b"; MAX_SEGMENTS - 1], "i").unwrap_err().fault, SegmentFault::Form);
}

#[test]
fn lists_in_the_order_of_bytes() {
    let mut keys: Vec<_> =
        ["ab", "a", "a.b", "a-b", "a0"].into_iter().map(|ns| widgets().namespaced(ns, "x").unwrap()).collect();
    keys.sort();
    let namespaces: Vec<_> = keys.iter().map(|key| key.as_str().split('/').nth(3).unwrap()).collect();
    assert_eq!(namespaces, ["a-b", "a.b", "a", "a0", "ab"]);
}

#[test]
fn a_key_knows_its_resource() {
    assert_eq!(widgets().object("a").unwrap().resource(), Some("o/example.dev/widgets/"));
    assert_eq!(widgets().namespaced("a", "b").unwrap().resource(), Some("o/example.dev/widgets/"));
    assert_eq!(counts().row(&["a"], "b").unwrap().resource(), None);
}

proptest! {
    #[test]
    fn different_coordinates_have_different_keys(a in any_coordinates(), b in any_coordinates()) {
        prop_assert_eq!(a == b, key_of(&a) == key_of(&b));
    }

    #[test]
    fn objects_and_rows_never_meet(object in any_coordinates(), row in any_row()) {
        prop_assert_ne!(key_of(&object), row);
    }

    #[test]
    fn a_resource_holds_its_own_keys_only(
        coordinates in any_coordinates(), group in any_api_name(), plural in any_api_name(), namespace in any_segment(),
    ) {
        let key = key_of(&coordinates);
        let resource = Resource::new(&group, &plural).unwrap();
        let same_resource = coordinates.0 == group && coordinates.1 == plural;
        prop_assert_eq!(resource.all().contains(&key), same_resource);
        prop_assert_eq!(key.resource() == Some(resource.all().as_str()), same_resource);
        let same_namespace = same_resource && coordinates.2.as_ref() == Some(&namespace);
        prop_assert_eq!(resource.namespace(&namespace).unwrap().contains(&key), same_namespace);
    }

    #[test]
    fn relative_and_key_undo_each_other(coordinates in any_coordinates()) {
        let key = key_of(&coordinates);
        let resource = Resource::new(&coordinates.0, &coordinates.1).unwrap();
        let mut prefixes = vec![Prefix::everything(), resource.all().clone()];
        prefixes.extend(coordinates.2.as_ref().map(|namespace| resource.namespace(namespace).unwrap()));
        for prefix in prefixes {
            let relative = prefix.relative(&key).unwrap();
            prop_assert_eq!(&prefix.key(relative).unwrap(), &key);
        }
    }

    #[test]
    fn what_is_stored_is_read_back(key in any_key()) {
        prop_assert_eq!(Key::from_stored(key.as_str().as_bytes()).unwrap(), key);
    }

    /// S-12: a continue token is a client's text.
    #[test]
    fn a_forged_token_stays_inside(
        prefix in any_prefix(),
        forged in prop_oneof![
            "[a/.%0\\x00-]{0,12}".prop_map(String::into_bytes),
            any_key().prop_map(|key| key.as_str().as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..16),
        ],
    ) {
        if let Ok(key) = prefix.key(&forged) {
            prop_assert!(prefix.contains(&key));
            prop_assert_eq!(prefix.relative(&key).unwrap().as_bytes(), &forged[..]);
            prop_assert_eq!(Key::from_stored(key.as_str().as_bytes()).unwrap(), key);
        }
    }

    #[test]
    fn what_is_contained_has_a_relative_part(prefix in any_prefix(), key in any_key()) {
        prop_assert_eq!(prefix.relative(&key).is_some(), prefix.contains(&key));
    }
}
