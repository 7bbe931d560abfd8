//! A field selector.

use bailiwick_machinery::FieldSelector;
use bailiwick_machinery::field_selector::{MAX_SELECTOR_BYTES, MAX_TERMS};

/// Words of field selectors.
pub const DICTIONARY: &[&[u8]] = &[
    b"=",
    b"==",
    b"!=",
    b"!",
    b",",
    b"\\",
    b"\\,",
    b"\\=",
    b"\\\\",
    b"metadata.name",
    b"metadata.namespace",
    b"metadata.name=x",
    b"spec.a!=b",
    b"=,=",
    b"!!",
    b"a=b",
];

/// A selector that is read is read again from its canonical form, if not in the same order: texts are sorted as they were
/// written, and requirements have several texts.
pub fn target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(selector) = FieldSelector::parse(&text) else { return };
    assert!(selector.requirements().len() <= MAX_TERMS);
    let written = selector.to_string();
    if written.len() > MAX_SELECTOR_BYTES {
        return;
    }
    let read = FieldSelector::parse(&written).expect("what was written can be read");
    let sorted = |selector: &FieldSelector| {
        let mut texts: Vec<_> = selector.requirements().iter().map(ToString::to_string).collect();
        texts.sort();
        texts
    };
    assert_eq!(sorted(&read), sorted(&selector), "{written}");
    assert_eq!(read.to_string(), FieldSelector::parse(&read.to_string()).unwrap().to_string());
    for requirement in selector.requirements() {
        if let Some(exact) = selector.requires_exact_match(&requirement.field) {
            let others = |field: &str| (field != requirement.field).then(|| exact.to_owned());
            let matched = selector.matches(|field| if field == requirement.field { None } else { others(field) });
            assert!(!matched || exact.is_empty(), "{written} takes an empty {}", requirement.field);
        }
    }
}
