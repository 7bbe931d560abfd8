//! Names of objects, labels and annotations.

use std::sync::LazyLock;

use bailiwick_machinery::name::{
    GENERATED_SUFFIX_LENGTH, MAX_DNS_LABEL_BYTES, annotation_key, dns1035_label, dns1123_label, dns1123_subdomain,
    generated_name, label_value, path_segment, qualified_name,
};
use bailiwick_machinery::{NameForm, Scope};
use bailiwick_registry::{Kind, kinds};
use bailiwick_storage::Resource;

/// Words of names.
pub const DICTIONARY: &[&[u8]] = &[
    b".",
    b"..",
    b"-",
    b"_",
    b"/",
    b"%",
    b":",
    b"a",
    b"A",
    b"0",
    b"example.com/",
    b"kubernetes.io/",
    b"xn--",
    b"system:",
    b"org:",
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "é".as_bytes(),
    "\u{202e}".as_bytes(),
    "\u{200b}".as_bytes(),
];

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| kinds::all().expect("the kinds are checked by their tests"));

/// Narrow rules allow nothing that wide ones forbid; a generated name is short and begins as it was asked to; and every
/// name that a kind allows can be stored, where its prefix is, as exactly that name.
pub fn target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let name = text.as_ref();
    if dns1035_label(name).is_empty() {
        assert!(dns1123_label(name).is_empty());
    }
    if dns1123_label(name).is_empty() {
        assert!(dns1123_subdomain(name).is_empty() && label_value(name).is_empty() && qualified_name(name).is_empty());
    }
    if dns1123_subdomain(name).is_empty() {
        assert!(path_segment(name).is_empty() && name.len() <= 253);
    }
    if qualified_name(name).is_empty() {
        assert!(annotation_key(name).is_empty(), "a label's key that is no annotation's key");
        assert!(name.is_ascii() && name.len() <= 253 + 1 + 63);
    }
    if label_value(name).is_empty() {
        assert!(name.is_ascii() && name.len() <= 63);
    }
    let generated = generated_name(name, |bound| bound / 2);
    assert!(generated.len() <= MAX_DNS_LABEL_BYTES, "a long name was generated");
    assert!(name.starts_with(&generated[..generated.len() - GENERATED_SUFFIX_LENGTH]));
    KINDS.iter().for_each(|kind| check_kind(kind, name));
}

fn check_kind(kind: &Kind, name: &str) {
    let _ = kind.name_rule().check(name, NameForm::Prefix);
    if !kind.name_rule().check(name, NameForm::Whole).is_empty() {
        return;
    }
    assert!(!name.contains(['/', '%']) && !matches!(name, "." | ".."), "{name:?} is a path of its own");
    let group = kind.stored_gvk().expect("a kind has a version").group;
    let resource = Resource::new(group.as_bytes(), kind.names().plural.as_bytes()).expect("a kind has a prefix");
    let key = match kind.scope() {
        Scope::Cluster => resource.object(name),
        Scope::Namespaced => resource.namespaced("ns", name),
    };
    // Names that are paths may be longer than keys, and may have characters that keys do not have: these are refused.
    if let Ok(key) = key {
        assert!(resource.all().contains(&key) && key.name() == name, "{name:?} is stored as {key}");
    }
}
