use std::borrow::Cow;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::request::{MAX_TARGET_BYTES, Request};

/// What `tests/oracle/requestinfo` recorded; another file of its kind, such as a longer run, can be named instead.
fn recorded() -> Vec<Vec<String>> {
    let text = match std::env::var("BAILIWICK_RECORDED_REQUESTINFO") {
        Ok(path) => Cow::Owned(std::fs::read_to_string(path).unwrap()),
        Err(_) => Cow::Borrowed(include_str!("../../../tests/data/go/requestinfo.json")),
    };
    serde_json::from_str(&text).unwrap()
}

/// What Kubernetes reads in another way than Bailiwick, and why Bailiwick does not follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// Kubernetes decodes `%2F` and then splits at it, so a name can become a subresource. Refused: who looks at the path
    /// before it is decoded (a proxy, a log) would see another request than who executes it.
    EncodedSlash,
    /// Go's texts need not be UTF-8. Refused: no name, selector or token is anything else.
    NotUtf8,
    /// Kubernetes drops parameters with malformed escapes or a `;`. Refused: a selector that is dropped selects everything.
    UnreadableQuery,
    /// Refused: see `MAX_TARGET_BYTES`.
    TooLong,
    /// `*` is a target of OPTIONS, and no path. Refused.
    NotAPath,
}

fn escapes(text: &str) -> Vec<Result<u8, ()>> {
    let byte = |at: usize| {
        let digits = text.get(at + 1..at + 3).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        digits.map(|digits| u8::from_str_radix(digits, 16).unwrap()).ok_or(())
    };
    text.match_indices('%').map(|(at, _)| byte(at)).collect()
}

/// Whether what is left of the text after decoding it piece by piece is not UTF-8: a second opinion on `decode`.
fn is_not_utf8(text: &str) -> bool {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let Some(byte) = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) else { return false };
        bytes.push(byte);
        rest = &after[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    std::str::from_utf8(&bytes).is_err()
}

/// The reason for which a target that Kubernetes takes must be refused.
fn refusal(target: &str) -> Option<Difference> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if target.len() > MAX_TARGET_BYTES {
        Some(Difference::TooLong)
    } else if !path.starts_with('/') {
        Some(Difference::NotAPath)
    } else if query.contains(';') || escapes(query).contains(&Err(())) {
        Some(Difference::UnreadableQuery)
    } else if is_not_utf8(path) || query.split(['&', '=']).any(is_not_utf8) {
        Some(Difference::NotUtf8)
    } else if escapes(path).contains(&Ok(b'/')) {
        Some(Difference::EncodedSlash)
    } else {
        None
    }
}

fn columns(info: &RequestInfo, target: &str) -> Vec<String> {
    let raw_path = target.split_once('?').map_or(target, |(path, _)| path);
    let mark = |is: bool| if is { "1" } else { "" };
    let parts: Vec<&str> = info.parts().collect();
    [
        mark(info.is_resource_request()),
        info.verb().as_str(),
        info.api_prefix(),
        info.api_group(),
        info.api_version(),
        info.namespace(),
        info.resource(),
        info.subresource(),
        info.name(),
        &parts.join("/"),
        info.field_selector(),
        info.label_selector(),
        "",
        if info.path() == raw_path { "" } else { info.path() },
    ]
    .map(str::to_owned)
    .to_vec()
}

const BAD_LABELS: usize = 12;

/// S-14, oracle 1: every recorded request is read as Kubernetes reads it, but for the differences that are explained.
#[test]
fn as_kubernetes_reads_it() {
    let mut differences: BTreeMap<Difference, usize> = BTreeMap::new();
    let rows = recorded();
    for row in &rows {
        let (method, target, expected) = (&row[0], &row[1], &row[2..]);
        let read = Request::parse(&Method::from_bytes(method.as_bytes()).unwrap(), target);
        if let [error] = expected {
            assert!(read.is_err(), "{method} {target}: expected an error of the {error}, got {read:?}");
            continue;
        }
        if let Some(difference) = refusal(target) {
            assert!(read.is_err(), "{method} {target}: {difference:?} is not refused: {read:?}");
            *differences.entry(difference).or_default() += 1;
            continue;
        }
        let request = read.unwrap_or_else(|error| panic!("{method} {target}: {error}"));
        let mut expected = expected.to_vec();
        expected.resize(14, String::new());
        // Whether the label selector cannot be read is recorded as well; what follows from it shows in the other columns.
        expected[BAD_LABELS].clear();
        assert_eq!(columns(request.info(), target), expected, "{method} {target}");
    }
    assert!(rows.len() > 3000);
    let seen: Vec<Difference> = differences.keys().copied().collect();
    let all = [
        Difference::EncodedSlash,
        Difference::NotUtf8,
        Difference::UnreadableQuery,
        Difference::TooLong,
        Difference::NotAPath,
    ];
    assert_eq!(seen, all, "an explained difference does not occur any more");
}

fn read(method: &Method, target: &str) -> RequestInfo {
    Request::parse(method, target).unwrap().info().clone()
}

#[test]
fn canonical_paths() {
    for path in ["/", "/api", "/api/v1/pods", "/api/v1/pods/a%20b", "/apis/a/v1/x?/"] {
        assert!(read(&Method::GET, path).is_canonical(), "{path}");
    }
    for path in [
        "//",
        "/api/",
        "//api",
        "/api//v1",
        "/api/v1/pods/",
        "/api/v1/./pods",
        "/api/v1/namespaces/../pods",
        "/api/%2e%2e/pods",
        "/api/v1/pods/a%00",
        "/api/v1/pods/a%0A",
    ] {
        assert!(!read(&Method::GET, path).is_canonical(), "{path}");
    }
}

/// S-14: what is decoded inside a segment never becomes structure.
#[test]
fn no_new_structure() {
    let info = read(&Method::GET, "/api/v1/namespaces/a%3F%23%00%25/pods/%2e%2e");
    assert_eq!((info.namespace(), info.resource(), info.name()), ("a?#\0%", "pods", ".."));
    for path in ["/api/v1/pods/a%2fb", "/api/v1/pods/a%2Fstatus", "/api%2fv1/pods"] {
        assert_eq!(Request::parse(&Method::GET, path), Err(RequestError::EncodedSlash), "{path}");
    }
    // Decoded once: what is left is text.
    assert_eq!(read(&Method::GET, "/api/v1/pods/a%252Fb").name(), "a%2Fb");
}

#[test]
fn as_long_as_allowed() {
    let path = |length: usize| format!("/{}", "a".repeat(length - 1));
    assert!(Request::parse(&Method::GET, &path(MAX_TARGET_BYTES)).is_ok());
    assert_eq!(Request::parse(&Method::GET, &path(MAX_TARGET_BYTES + 1)), Err(RequestError::TooLong));
}

fn method() -> impl Strategy<Value = Method> {
    prop_oneof![
        Just(Method::GET),
        Just(Method::POST),
        Just(Method::PUT),
        Just(Method::PATCH),
        Just(Method::DELETE),
        Just(Method::HEAD),
    ]
}

proptest! {
    #[test]
    fn never_panics(method in method(), target in "\\PC{0,80}") {
        let _ = Request::parse(&method, &target).map(|request| request.operation().is_ok());
    }

    /// Every field is a piece of the path that was sent, at its place: nothing is cleaned, joined or looked up.
    #[test]
    fn fields_come_from_segments(method in method(), segments in prop::collection::vec("[a-z.%2fE/]{0,4}|namespaces|watch", 0..7)) {
        let target = format!("/apis/g/v/{}", segments.join("/"));
        let Ok(request) = Request::parse(&method, &target) else { return Ok(()) };
        prop_assert_eq!(&request, &Request::parse(&method, &target).unwrap());
        let info = request.info();
        let parts: Vec<&str> = info.parts().collect();
        if info.is_resource_request() {
            prop_assert_eq!(parts.first().copied(), Some(info.resource()));
            prop_assert_eq!(parts.get(1).copied().unwrap_or_default(), info.name());
            prop_assert!(info.path().trim_end_matches('/').ends_with(&parts.join("/")));
            prop_assert!(!info.name().contains('/') && !info.namespace().contains('/') && !info.subresource().contains('/'));
        }
    }
}
