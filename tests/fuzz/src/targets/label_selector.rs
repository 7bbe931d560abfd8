//! A label selector, as text and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_machinery::label::{MAX_REQUIREMENTS, MAX_SELECTOR_BYTES, Selector};
use bailiwick_machinery::{FieldErrors, FieldPath, LabelSelector};

/// Words of label selectors.
pub const DICTIONARY: &[&[u8]] = &[
    b"=",
    b"==",
    b"!=",
    b"!",
    b",",
    b"(",
    b")",
    b" in ",
    b" notin ",
    b"in",
    b"notin",
    b">",
    b"<",
    b"()",
    b"(,)",
    b"(a,b)",
    b"a=b",
    b"a in (b,c)",
    b"!a",
    b"x/y",
    b"a.b/c",
    b" ",
    b"\t",
    b"_",
    b"-",
    b"exists",
    b"\"matchLabels\":{\"a\":\"b\"}",
    b"\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"x\"]}]",
    b"\"DoesNotExist\"",
    b"\"NotIn\"",
];

/// A selector that is read is read again from its canonical form, and both ways to match agree. A structured one that is
/// valid can be matched with.
pub fn target(data: &[u8]) {
    if let Ok(structured) = serde_json::from_slice::<LabelSelector>(data) {
        let mut errors = FieldErrors::default();
        structured.validate(&FieldPath::new("selector"), &mut errors);
        let selector = structured.to_selector();
        if errors.is_empty() {
            assert!(selector.is_ok(), "a valid selector is refused: {selector:?}");
        }
        // A value that is there twice stays twice, as in Go; read from text it is there once.
        if let Ok(selector) = selector
            && !structured.match_expressions.iter().any(|expression| has_twice(&expression.values))
        {
            check(&selector);
        }
    }
    let text = String::from_utf8_lossy(data);
    if let Ok(selector) = Selector::parse(&text) {
        check(&selector);
    }
}

fn has_twice(values: &[String]) -> bool {
    values.iter().collect::<BTreeSet<_>>().len() < values.len()
}

fn check(selector: &Selector) {
    assert!(selector.requirements().len() <= MAX_REQUIREMENTS);
    let text = selector.to_string();
    if text.len() <= MAX_SELECTOR_BYTES {
        assert_eq!(Selector::parse(&text).as_ref(), Ok(selector), "{text}");
    }
    // Labels that the selector speaks of, with values that it wants and does not want.
    for variant in ["", "1", "other"] {
        let values = selector.requirements().iter().map(|requirement| {
            let wanted = requirement.values().first().map_or(variant, String::as_str);
            (requirement.key(), if variant.is_empty() { wanted } else { variant })
        });
        let labels: BTreeMap<&str, &str> = values.collect();
        let looked_up = selector.matches(|key| labels.get(key).copied());
        let walked = selector.matches_all(labels.iter().map(|(key, value)| (*key, *value)));
        assert_eq!(looked_up, walked, "{text} and {labels:?}");
        for (key, value) in &labels {
            if let Some(exact) = selector.requires_exact_match(key)
                && exact != *value
            {
                assert!(!looked_up, "{text} takes {labels:?}");
            }
        }
    }
}
