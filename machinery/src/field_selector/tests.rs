//! What Kubernetes makes of the same selectors was recorded by `tests/oracle/fields`.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Record {
    sets: Vec<BTreeMap<String, String>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    i: String,
    #[serde(default)]
    s: String,
    #[serde(default)]
    r: Vec<[String; 3]>,
    #[serde(default)]
    m: String,
    #[serde(default)]
    e: String,
}

#[test]
fn selectors_are_read_written_and_matched_as_kubernetes_does() {
    let record: Record = serde_json::from_str(include_str!("../../../tests/data/go/fields.json")).unwrap();
    assert!(record.cases.len() > 2_000, "{}", record.cases.len());
    for Case { i, s, r, m, e } in &record.cases {
        let selector = match FieldSelector::parse(i) {
            Ok(selector) => selector,
            Err(error) => {
                assert_eq!(&error.to_string(), e, "{i:?}");
                continue;
            }
        };
        assert_eq!(("", &selector.to_string()), (e.as_str(), s), "{i:?}");
        let requirements = selector.requirements().iter().map(|requirement| {
            let operator = if requirement.operator == FieldOperator::Equals { "=" } else { "!=" };
            [requirement.field.clone(), operator.to_owned(), requirement.value.clone()]
        });
        assert_eq!(&requirements.collect::<Vec<_>>(), r, "{i:?}");
        for (set, expected) in record.sets.iter().zip(m.chars()) {
            assert_eq!(selector.matches(|field| set.get(field)), expected == '1', "{i:?} on {set:?}");
        }
    }
}

#[test]
fn exact_matches_are_found() {
    let selector = FieldSelector::parse("a!=1,b=2,a=3").unwrap();
    let exact = |field| selector.requires_exact_match(field);
    assert_eq!((exact("a"), exact("b"), exact("c")), (Some("3"), Some("2"), None));
    assert!(FieldSelector::everything().is_empty() && FieldSelector::parse(",,=").unwrap().is_empty());
}

#[test]
fn texts_have_a_limit() {
    let of = |bytes: usize| format!("a={}", "b".repeat(bytes - 2));
    assert!(FieldSelector::parse(&of(MAX_SELECTOR_BYTES)).is_ok());
    assert_eq!(FieldSelector::parse(&of(MAX_SELECTOR_BYTES + 1)), Err(FieldSelectorError::TooLong));
}

#[test]
fn terms_have_a_limit() {
    let of = |count: usize| vec!["a=b"; count].join(",");
    assert_eq!(FieldSelector::parse(&of(MAX_TERMS)).unwrap().requirements().len(), MAX_TERMS);
    assert_eq!(FieldSelector::parse(&of(MAX_TERMS + 1)), Err(FieldSelectorError::TooMany));
}

proptest! {
    #[test]
    fn no_text_is_a_surprise(text in any::<String>()) {
        let _ = FieldSelector::parse(&text);
    }

    /// The order may change once, because `==` sorts elsewhere than `=`.
    #[test]
    fn what_was_written_is_read_back(text in "([a-cé!=,\\\\]|==|!=){0,24}") {
        if let Ok(selector) = FieldSelector::parse(&text) {
            let again = FieldSelector::parse(&selector.to_string()).unwrap();
            let sorted = |selector: &FieldSelector| {
                let mut terms: Vec<String> = selector.requirements().iter().map(ToString::to_string).collect();
                terms.sort();
                terms
            };
            prop_assert_eq!(sorted(&again), sorted(&selector));
            prop_assert_eq!(FieldSelector::parse(&again.to_string()), Ok(again));
        }
    }

    #[test]
    fn any_value_can_be_escaped(value in any::<String>()) {
        let selector = FieldSelector::parse(&format!("a={}", escape_value(&value))).unwrap();
        prop_assert_eq!(selector.requires_exact_match("a"), Some(value.as_str()));
    }
}
