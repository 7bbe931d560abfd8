//! The options of a deletion, from a query or a body.

use bailiwick_apiserver::{Operation, Request};
use bailiwick_machinery::decode::{from_json, from_yaml};
use bailiwick_machinery::proto::Envelope;
use bytes::Bytes;
use http::Method;
use serde_json::Value;

use super::first_line;

/// Words of delete options.
pub const DICTIONARY: &[&[u8]] = &[
    b"&",
    b"=",
    b"gracePeriodSeconds",
    b"orphanDependents",
    b"propagationPolicy",
    b"dryRun",
    b"All",
    b"Foreground",
    b"Background",
    b"Orphan",
    b"uid",
    b"resourceVersion",
    b"preconditions",
    b"\"kind\":\"DeleteOptions\"",
    b"\"apiVersion\":\"v1\"",
    b"{\"preconditions\":{\"uid\":\"x\"}}",
    b"\"dryRun\":[\"All\"]",
    b"null",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b":",
    b",",
    b"\n",
    b"k8s\0",
    b"true",
    b"ignoreStoreReadErrorWithClusterBreakingPotential",
];

/// The first line is a query, the rest a body in any encoding. Options are read or refused with a client's error; a body
/// takes the place of the query, whatever is in it.
pub fn target(data: &[u8]) {
    let (query, body) = first_line(data);
    let target = format!("/apis/example.dev/v1/widgets/w?{}", String::from_utf8_lossy(query));
    let Ok(request) = Request::parse(&Method::DELETE, &target) else { return };
    let plain = Request::parse(&Method::DELETE, "/apis/example.dev/v1/widgets/w").expect("it is a path");
    let operation = |request: &Request, body: Option<&Value>| match request.operation() {
        Ok(Operation::Delete(query)) => query.options(body),
        other => panic!("a deletion is another operation: {other:?}"),
    };
    if let Err(status) = operation(&request, None) {
        assert!((400..500).contains(&status.code()), "{status:?}");
    }
    let bodies = [
        from_json(body).ok().map(|decoded| decoded.value),
        from_yaml(body).ok().map(|decoded| decoded.value),
        Envelope::read(Bytes::copy_from_slice(body)).and_then(|envelope| envelope.to_object()).ok().map(Value::from),
    ];
    for body in bodies.into_iter().flatten() {
        let options = operation(&request, Some(&body));
        if let Err(status) = &options {
            assert!((400..500).contains(&status.code()), "{status:?}");
        }
        assert_eq!(options, operation(&plain, Some(&body)), "the query was heard beside a body");
    }
}
