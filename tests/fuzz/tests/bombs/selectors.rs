//! Selectors of very many terms, and targets that are full of them.

use bailiwick_apiserver::{ContinueToken, Operation, Request, RequestError};
use bailiwick_machinery::{FieldSelector, FieldSelectorError, LabelSelector, label};
use http::Method;

use super::measure::{alone, settled};

#[test]
fn labels() {
    let _alone = alone();
    let parse = |what: &str, text: &str| settled(what, || label::Selector::parse(text));
    for term in ["a,", "a=b,", "!a,", "a in (b),", "a in (b,c", "(", ")", "!", ",", "=", " "] {
        assert_eq!(parse(term, &term.repeat(100_000)), Err(label::Error::TooLong), "{term}");
        // What may be sent at all.
        let _ = parse(term, &term.repeat(label::MAX_SELECTOR_BYTES / term.len()));
    }
    let most = vec!["a"; label::MAX_REQUIREMENTS + 1].join(",");
    assert_eq!(parse("one too many", &most), Err(label::Error::TooMany));
    assert_eq!(parse("a mebibyte", &"a".repeat(1 << 20)), Err(label::Error::TooLong));
    let values = format!("a in ({})", vec!["b"; 8_000].join(","));
    assert!(parse("many values", &values).is_ok());
    let match_labels = (0..100_000).map(|number| (number.to_string(), String::new())).collect();
    let structured = LabelSelector { match_labels, ..LabelSelector::default() };
    assert_eq!(settled("structured", || structured.to_selector()), Err(label::Error::TooMany));
}

#[test]
fn fields() {
    let _alone = alone();
    let parse = |what: &str, text: &str| settled(what, || FieldSelector::parse(text));
    for term in ["a=b,", "=", ",", "\\", "\\\\", "!=", "a=\\,,"] {
        assert_eq!(parse(term, &term.repeat(100_000)), Err(FieldSelectorError::TooLong), "{term}");
        let _ = parse(term, &term.repeat(16 * 1024 / term.len()));
    }
    assert_eq!(parse("one too many", &vec!["a=b"; 1_001].join(",")), Err(FieldSelectorError::TooMany));
}

#[test]
fn targets() {
    let _alone = alone();
    let parse = |what: &str, target: &str| settled(what, || Request::parse(&Method::GET, target));
    let path = "/apis/example.dev/v1/widgets";
    assert_eq!(parse("long", &format!("{path}?labelSelector={}", "a,".repeat(100_000))), Err(RequestError::TooLong));
    assert_eq!(parse("parameters", &format!("{path}?{}", "a&".repeat(1_001))), Err(RequestError::TooManyParameters));
    assert_eq!(parse("a slash", &format!("{path}/a%2Fb")), Err(RequestError::EncodedSlash));
    assert!(parse("slashes", &"/".repeat(16 * 1024)).is_ok());
    assert!(parse("escapes", &format!("/{}", "%41".repeat(5_000))).is_ok());
    let refused = |query: &str| {
        let request = parse(query, &format!("{path}?{query}")).unwrap();
        settled(query, || request.operation().map(|operation| format!("{operation:?}"))).unwrap_err().code()
    };
    assert_eq!(refused("limit=9223372036854775808"), 400);
    assert_eq!(refused(&format!("continue={}", "A".repeat(16_000))), 400);
    let request = parse("dots", &format!("{path}/%2e%2e?fieldSelector=metadata.name%3D..")).unwrap();
    assert!(!request.info().is_canonical());
    assert!(matches!(request.operation(), Ok(Operation::Get(_))));
}

#[test]
fn continue_tokens() {
    let _alone = alone();
    for text in ["A".repeat(3 << 20), "e30".repeat(1 << 20), "\n".repeat(3 << 20), "_".repeat(1 << 20)] {
        assert!(settled("a long token", || ContinueToken::decode(&text)).is_err());
    }
}
