//! Keys of objects and of private rows.

use bailiwick_storage::{Key, Ledger, MAX_KEY_BYTES, Prefix, Resource};

/// Words of keys.
pub const DICTIONARY: &[&[u8]] = &[
    b"\n",
    b"/",
    b"..",
    b".",
    b"-",
    b"%",
    b"o",
    b"l",
    b"a",
    b"ab",
    b"o/",
    b"l/",
    b"widgets",
    b"widgetsets",
    b"example.dev",
    b"ns",
    b"ns1",
    b"default",
    b"o/-/configmaps/ns/a",
    b"l/counts/a",
    b"a\0b",
    b"\n\n\n\n",
];

/// The lines are two times group, resource, namespace and name, and then the parts of a row. A key lies in the prefixes it
/// was made of and in no other; different coordinates have different keys; and a key is read back from what is stored.
pub fn target(data: &[u8]) {
    if let Ok(key) = Key::from_stored(data) {
        assert_eq!(key.as_str().as_bytes(), data, "another key was read");
        check(&key);
    }
    let lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    let line = |index: usize| lines.get(index).copied().unwrap_or_default();
    let (one, other) = ([line(0), line(1), line(2), line(3)], [line(4), line(5), line(6), line(7)]);
    if let (Some(one_key), Some(other_key)) = (object(one), object(other)) {
        assert_eq!(one_key == other_key, one == other, "{one_key} and {other_key}");
    }
    if let (Some(one_prefix), Some(other_key)) = (namespace(one), object(other)) {
        let inside = one[..2] == other[..2] && one[2] == other[2];
        assert_eq!(one_prefix.contains(&other_key), inside, "{one_prefix} and {other_key}");
    }
    row(line(0), lines.get(8..).unwrap_or_default());
}

fn object([group, resource, namespace, name]: [&[u8]; 4]) -> Option<Key> {
    let resource = Resource::new(group, resource).ok()?;
    let key = match namespace {
        b"" => resource.object(name),
        namespace => resource.namespaced(namespace, name),
    };
    let key = key.ok()?;
    check(&key);
    assert_eq!(key.name().as_bytes(), name);
    assert_eq!(key.resource(), Some(resource.all().as_str()));
    assert!(resource.all().contains(&key));
    Some(key)
}

/// Only where there is one: a prefix of no namespace is that of all.
fn namespace([group, resource, namespace, _]: [&[u8]; 4]) -> Option<Prefix> {
    Resource::new(group, resource).ok()?.namespace(namespace).ok()
}

fn row(ledger: &[u8], parts: &[&[u8]]) {
    let Ok(ledger) = Ledger::new(ledger) else { return };
    let texts: Option<Vec<&str>> = parts.iter().map(|part| std::str::from_utf8(part).ok()).collect();
    let Some((last, parts)) = texts.as_deref().and_then(<[&str]>::split_last) else { return };
    if let Ok(key) = ledger.row(parts, last) {
        check(&key);
        assert!(ledger.all().contains(&key) && key.resource().is_none());
        assert!(ledger.below(parts).expect("the row has it").contains(&key));
    }
}

fn check(key: &Key) {
    let text = key.as_str();
    assert!(text.len() <= MAX_KEY_BYTES);
    assert!(text.split('/').all(|segment| !matches!(segment, "" | "." | "..")), "{key} has no such segments");
    assert_eq!(Key::from_stored(text.as_bytes()).as_ref(), Ok(key));
    let everything = Prefix::everything();
    assert_eq!(everything.relative(key).map(|relative| everything.key(relative)), Some(Ok(key.clone())));
}
