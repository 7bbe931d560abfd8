//! The method and the target of a request.

use bailiwick_apiserver::{ListAt, MAX_TARGET_BYTES, Operation, PatchKind, Request, RequestInfo, Verb};
use bailiwick_storage::Resource;
use http::Method;

/// Words of requests.
pub const DICTIONARY: &[&[u8]] = &[
    b"GET ",
    b"POST ",
    b"PUT ",
    b"PATCH ",
    b"DELETE ",
    b"HEAD ",
    b"OPTIONS ",
    b"/",
    b"//",
    b"/api/v1",
    b"/apis/example.dev/v1",
    b"/namespaces/ns",
    b"/watch/",
    b"/proxy/",
    b"/status",
    b"/finalize",
    b"/widgets",
    b"/w",
    b"?",
    b"&",
    b"=",
    b";",
    b"%2f",
    b"%2F",
    b"%2e%2e",
    b"%00",
    b"%zz",
    b"%",
    b"+",
    b"/..",
    b"/.",
    b"watch=true",
    b"limit=1",
    b"limit=9223372036854775808",
    b"continue=",
    b"resourceVersion=0",
    b"resourceVersionMatch=Exact",
    b"resourceVersionMatch=NotOlderThan",
    b"labelSelector=a%3Db",
    b"fieldSelector=metadata.name%3Dx",
    b"timeoutSeconds=1",
    b"timeout=1s",
    b"sendInitialEvents=true",
    b"allowWatchBookmarks=1",
    b"dryRun=All",
    b"fieldManager=x",
    b"fieldValidation=Strict",
    b"force=true",
    b"pretty=1",
];

/// The text is a method, a space and a target. A request names nothing that is not a segment of its own path, but for a
/// name that a field selector demands; a canonical path means the same when it is sent as the server would; and options
/// are read, or refused with a client's error, the same way each time.
pub fn target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (method, target) = text.split_once(' ').unwrap_or(("GET", &text));
    let Ok(method) = Method::from_bytes(method.as_bytes()) else { return };
    let Ok(request) = Request::parse(&method, target) else { return };
    assert!(target.len() <= MAX_TARGET_BYTES);
    assert_eq!(Request::parse(&method, target).as_ref(), Ok(&request));
    let raw_path = target.split('?').next().unwrap_or_default();
    let segments = |path: &str| path.split('/').count();
    assert_eq!(segments(request.info().path()), segments(raw_path), "who splits first sees another path");
    check_info(request.info());
    check_canonical(&method, target, &request);
    check_operation(&request);
    if let Err(status) = request.timeout() {
        assert_eq!(status.code(), 400);
    }
    let _ = request.query().pretty();
}

fn check_info(info: &RequestInfo) {
    let segments: Vec<&str> = info.path().split('/').collect();
    let own = [
        info.api_prefix(),
        info.api_group(),
        info.api_version(),
        info.namespace(),
        info.resource(),
        info.subresource(),
    ];
    assert!(own.iter().all(|piece| segments.contains(piece)), "{info:?} has what its path has not");
    let parts: Vec<&str> = info.parts().collect();
    if !info.is_resource_request() {
        assert!(matches!(info.verb(), Verb::Method(_)), "{info:?}");
        assert!(
            [info.resource(), info.name(), info.subresource(), info.namespace()].iter().all(|piece| piece.is_empty())
        );
        return;
    }
    assert!(matches!(info.api_prefix(), "api" | "apis"));
    let end = info.path().trim_end_matches('/');
    assert!(end.ends_with(&parts.join("/")), "the parts of {info:?} are not the end of its path");
    assert_eq!(info.resource(), parts.first().copied().unwrap_or_default());
    let named = parts.get(1).copied().unwrap_or_default();
    if named.is_empty() {
        let selects = matches!(info.verb(), Verb::List | Verb::Watch);
        assert!(info.name().is_empty() || selects, "{info:?} has a name of nowhere");
        assert!(!info.name().contains(['/', '%']) && !matches!(info.name(), "." | ".."), "{info:?} selects a path");
    } else {
        assert_eq!(info.name(), named);
    }
    if !matches!(info.verb(), Verb::List | Verb::Watch | Verb::DeleteCollection) {
        assert_eq!((info.field_selector(), info.label_selector()), ("", ""));
    }
}

/// The path, with everything encoded that can be, is the same path.
fn check_canonical(method: &Method, target: &str, request: &Request) {
    let encoded: String = request
        .info()
        .path()
        .bytes()
        .map(|byte| match byte {
            b'/' => "/".to_owned(),
            byte => format!("%{byte:02X}"),
        })
        .collect();
    let query = target.split_once('?').map(|(_, query)| format!("?{query}")).unwrap_or_default();
    if encoded.len() + query.len() <= MAX_TARGET_BYTES {
        assert_eq!(Request::parse(method, &format!("{encoded}{query}")).as_ref(), Ok(request), "{encoded}{query}");
    }
}

fn check_operation(request: &Request) {
    let operation = request.operation();
    assert_eq!(operation, request.operation());
    let refused = match operation {
        Err(status) => Some(status),
        Ok(Operation::List(options)) | Ok(Operation::DeleteCollection(options, _)) => {
            if let ListAt::Continue(token) = &options.at {
                let prefix = Resource::new("example.dev", "widgets").expect("it has a name").all().clone();
                assert!(
                    prefix.key(token.after()).is_ok_and(|key| prefix.contains(&key))
                        || prefix.key(token.after()).is_err()
                );
            }
            None
        }
        Ok(Operation::Patch(query)) => {
            let _ = query.options(PatchKind::Apply);
            query.options(PatchKind::Other).err()
        }
        Ok(Operation::Delete(query)) => query.options(None).err(),
        Ok(_) => None,
    };
    if let Some(status) = refused {
        assert!((400..500).contains(&status.code()), "{status:?}");
        assert!(status.to_json().to_string().len() < 64 * MAX_TARGET_BYTES, "a long answer");
    }
}
