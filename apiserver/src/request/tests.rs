use proptest::prelude::*;

use super::*;
use crate::options::{ListAt, WatchStart};

fn parse(method: &Method, target: &str) -> Request {
    Request::parse(method, target).unwrap()
}

/// The operation that a verb stands for.
fn verb_of(operation: &Operation<'_>) -> Option<Verb> {
    match operation {
        Operation::Get(_) => Some(Verb::Get),
        Operation::List(_) => Some(Verb::List),
        Operation::Watch(_) => Some(Verb::Watch),
        Operation::Create(_) => Some(Verb::Create),
        Operation::Update(_) => Some(Verb::Update),
        Operation::Patch(_) => Some(Verb::Patch),
        Operation::Delete(_) => Some(Verb::Delete),
        Operation::DeleteCollection(..) => Some(Verb::DeleteCollection),
        Operation::Other => None,
    }
}

#[test]
fn operations() {
    let check = |method: Method, target: &str, verb: Option<Verb>| {
        let request = parse(&method, target);
        assert_eq!(verb_of(&request.operation().unwrap()), verb, "{method} {target}");
    };
    check(Method::GET, "/api/v1/pods", Some(Verb::List));
    check(Method::GET, "/api/v1/pods/a?watch=1", Some(Verb::Get));
    check(Method::GET, "/api/v1/pods?watch", Some(Verb::Watch));
    check(Method::GET, "/api/v1/watch/pods", Some(Verb::Watch));
    check(Method::POST, "/api/v1/watch/pods", None);
    check(Method::DELETE, "/api/v1/pods", Some(Verb::DeleteCollection));
    check(Method::DELETE, "/api/v1/pods/a", Some(Verb::Delete));
    check(Method::GET, "/healthz", None);
    check(Method::OPTIONS, "/api/v1/pods", None);
}

/// What cannot be read is authorized as what it looks like, and refused.
#[test]
fn unreadable_options() {
    let request = parse(&Method::GET, "/api/v1/pods?watch=1&limit=x&fieldSelector=metadata.name=a");
    assert_eq!((request.info().verb(), request.info().name()), (&Verb::Watch, ""));
    assert_eq!(request.operation().unwrap_err().code(), 400);
}

/// A list for one object is never cut short, so neither limit nor token mean anything.
#[test]
fn lists_of_one() {
    let at = |target: &str| match parse(&Method::GET, target).operation().unwrap() {
        Operation::List(options) => options.at,
        other => panic!("{other:?}"),
    };
    assert_eq!(at("/api/v1/pods?resourceVersion=5&limit=1"), ListAt::Exact(5));
    assert_eq!(at("/api/v1/pods?resourceVersion=5&limit=1&fieldSelector=metadata.name=a"), ListAt::NotOlderThan(5));
    assert_eq!(at("/api/v1/pods?continue=x&fieldSelector=metadata.name=a"), ListAt::Consistent);
}

#[test]
fn watches_by_path_start_as_they_always_did() {
    let request = parse(&Method::GET, "/api/v1/watch/pods?allowWatchBookmarks=1");
    let Operation::Watch(options) = request.operation().unwrap() else { panic!() };
    assert!(matches!(options.start, WatchStart::State { end_marker: false, .. }));
}

proptest! {
    /// S-14: what is executed is what was authorized. Reading again gives the same, and the operation is that of the verb.
    #[test]
    fn authorized_is_executed(
        method in prop::sample::select(vec![Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD]),
        path in "/(api/v1|apis/g/v1)(/watch|/proxy)?(/namespaces/[a-z.]{0,3})?(/[a-z.]{0,4}){0,4}",
        query in "((watch|limit|fieldSelector|resourceVersion|continue|dryRun)=(1|0|true|metadata.name=a|x)?&){0,4}",
    ) {
        let target = format!("{path}?{query}");
        let Ok(request) = Request::parse(&method, &target) else { return Ok(()) };
        prop_assert_eq!(&request, &Request::parse(&method, &target).unwrap());
        let operation = request.operation();
        prop_assert_eq!(&operation, &request.operation());
        if let Ok(operation) = operation {
            match verb_of(&operation) {
                Some(verb) => prop_assert_eq!(request.info().verb(), &verb),
                None => prop_assert!(!request.info().is_resource_request() || matches!(request.info().verb(), Verb::Watch | Verb::Proxy | Verb::None)),
            }
            if let Operation::List(options) = &operation {
                prop_assert_eq!(options.field_selector.as_str(), request.info().field_selector());
                prop_assert_eq!(options.label_selector.as_str(), request.info().label_selector());
            }
        }
    }
}
