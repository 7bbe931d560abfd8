//! What Kubernetes makes of the same selectors was recorded by `tests/oracle/labels`.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[derive(Deserialize)]
struct Record {
    texts: Vec<String>,
    sets: Vec<BTreeMap<String, String>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    i: Option<String>,
    l: Option<LabelSelector>,
    #[serde(default)]
    s: String,
    #[serde(default)]
    m: String,
    #[serde(default)]
    e: String,
    #[serde(default)]
    v: Vec<String>,
}

fn shorten(text: String, texts: &[String]) -> String {
    texts.iter().enumerate().fold(text, |text, (number, long)| text.replace(long, &format!("⟦{number}⟧")))
}

#[test]
fn selectors_are_read_written_and_matched_as_kubernetes_does() {
    let record: Record = serde_json::from_str(include_str!("../../../tests/data/go/labels.json")).unwrap();
    assert!(record.cases.len() > 2_500, "{}", record.cases.len());
    for Case { i, l, s, m, e, v } in &record.cases {
        let (selector, about) = match (i, l) {
            (Some(text), _) => (Selector::parse(text), format!("{text:?}")),
            (None, Some(structured)) => (structured.to_selector(), format!("{structured:?}")),
            (None, None) => panic!("an empty case"),
        };
        match selector {
            Err(error) => assert_eq!(&shorten(error.to_string(), &record.texts), e, "{about}"),
            Ok(selector) => {
                assert_eq!(("", &selector.to_string()), (e.as_str(), s), "{about}");
                for (set, expected) in record.sets.iter().zip(m.chars()) {
                    let looked_up = selector.matches(|key| set.get(key).map(String::as_str));
                    let walked = selector.matches_all(set.iter().map(|(key, value)| (key.as_str(), value.as_str())));
                    assert_eq!((looked_up, walked), (expected == '1', expected == '1'), "{about} on {set:?}");
                }
            }
        }
        if let Some(structured) = l {
            let mut errors = FieldErrors::default();
            structured.validate(&FieldPath::new("spec").child("selector"), &mut errors);
            let errors = errors.as_slice().iter().map(|error| shorten(error.to_string(), &record.texts));
            assert_eq!(&errors.collect::<Vec<_>>(), v, "{about}");
        }
    }
}

#[test]
fn requirements_can_be_looked_at() {
    let selector = Selector::parse("b in (y,x),a=1,c!=2,a!=3").unwrap();
    let seen: Vec<_> = selector.requirements().iter().map(|r| (r.key(), r.operator(), r.values().join("|"))).collect();
    let expected = [
        ("a", Operator::Equals, "1"),
        ("a", Operator::NotEquals, "3"),
        ("b", Operator::In, "x|y"),
        ("c", Operator::NotEquals, "2"),
    ];
    assert_eq!(seen, expected.map(|(key, operator, values)| (key, operator, values.to_owned())));
    let exact = |key| selector.requires_exact_match(key);
    assert_eq!((exact("a"), exact("b"), exact("c"), exact("d"), exact("")), (Some("1"), None, None, None, None));
    assert!(Selector::everything().is_empty() && Selector::parse("").unwrap().is_empty());
}

#[test]
fn the_structured_form_is_json() {
    let read = |value| serde_json::from_value::<LabelSelector>(value).unwrap();
    assert_eq!(read(json!({"matchLabels": null, "matchExpressions": null})), LabelSelector::default());
    let value = json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]});
    assert_eq!(serde_json::to_value(read(value.clone())).unwrap(), value);
    assert_eq!(serde_json::to_value(LabelSelector::default()).unwrap(), json!({}));
    assert_eq!(read(value).to_selector().unwrap().to_string(), "a=b,c");
}

#[test]
fn texts_have_a_limit() {
    let of = |bytes: usize| format!("a={}{}", "b", " ".repeat(bytes - 3));
    assert!(Selector::parse(&of(MAX_SELECTOR_BYTES)).is_ok());
    assert_eq!(Selector::parse(&of(MAX_SELECTOR_BYTES + 1)), Err(Error::TooLong));
}

#[test]
fn requirements_have_a_limit() {
    let of = |count: usize| vec!["a"; count].join(",");
    assert_eq!(Selector::parse(&of(MAX_REQUIREMENTS)).unwrap().requirements().len(), MAX_REQUIREMENTS);
    assert_eq!(Selector::parse(&of(MAX_REQUIREMENTS + 1)), Err(Error::TooMany));

    let of = |count: usize| LabelSelector {
        match_labels: (1..count).map(|i| (format!("k{i}"), String::new())).collect(),
        match_expressions: vec![LabelSelectorRequirement {
            key: "a".to_owned(),
            operator: "Exists".to_owned(),
            values: Vec::new(),
        }],
    };
    let check = |selector: &LabelSelector| {
        let mut errors = FieldErrors::default();
        selector.validate(&FieldPath::new("selector"), &mut errors);
        errors.to_string()
    };
    assert!(of(MAX_REQUIREMENTS).to_selector().is_ok());
    assert_eq!(check(&of(MAX_REQUIREMENTS)), "[]");
    assert_eq!(of(MAX_REQUIREMENTS + 1).to_selector(), Err(Error::TooMany));
    assert_eq!(check(&of(MAX_REQUIREMENTS + 1)), "selector: Too many: 1001: must have at most 1000 items");
}

#[test]
fn many_values_are_no_trouble() {
    let values: Vec<String> = (0..100_000).map(|i| i.to_string()).collect();
    let requirement = Requirement::new("a", Operator::In, values).unwrap();
    assert!(requirement.matches(Some("99999")) && !requirement.matches(Some("100000")));
    let bad = Requirement::new("a", Operator::In, vec!["!".to_owned(); 100_000]).unwrap_err();
    assert_eq!(bad.as_slice().len(), MAX_ERRORS);
    let errors = |key: usize| Requirement::new("a".repeat(key), Operator::In, vec!["!".to_owned(); 10]).unwrap_err();
    assert_eq!((errors(317).as_slice().len(), errors(318).as_slice().len()), (11, 1));
}

proptest! {
    #[test]
    fn no_text_is_a_surprise(text in any::<String>()) {
        let _ = Selector::parse(&text);
    }

    #[test]
    fn what_was_written_is_read_back(text in "([a-c!=<>(), \0]|in |notin |1){0,24}") {
        if let Ok(selector) = Selector::parse(&text) {
            prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
        }
    }

    #[test]
    fn both_ways_of_matching_agree(
        text in "([a-d](=|!=|==)[x-z]?|[a-d]|![a-d]|[a-d] (in|notin) \\([x-z],[x-z]?\\)|[a-d][<>]1)(,[a-d](=|!=)[x-z]|,![a-d]){0,3}",
        labels in proptest::collection::btree_map("[a-e]", "[x-z]|[0-2]|", 0..4),
    ) {
        let selector = Selector::parse(&text).unwrap();
        let looked_up = selector.matches(|key| labels.get(key).map(String::as_str));
        prop_assert_eq!(looked_up, selector.matches_all(labels.iter().map(|(key, value)| (key.as_str(), value.as_str()))));
    }
}
