//! S-01: whoever is no front proxy names nobody, in whatever way it is tried, over real connections.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{
    Anonymous, AuthenticationParts, RequestHeaderOptions, TokenAuthenticatorChain, TokenCacheOptions,
};
use bailiwick_registry::SystemClock;
use bailiwick_test_host::pki::Authority;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::running::{Protocol, Running};
use crate::site::Pki;

fn parts(pki: &Pki, anonymous: Anonymous) -> AuthenticationParts {
    let list = |name: &str| vec![name.to_owned()];
    AuthenticationParts {
        tls: pki.tls.clone(),
        request_header: RequestHeaderOptions {
            username_headers: vec!["X-Remote-User".to_owned(), "X-Front-User".to_owned()],
            uid_headers: list("X-Remote-Uid"),
            group_headers: list("X-Remote-Group"),
            extra_header_prefixes: list("X-Remote-Extra-"),
            allowed_names: list("front-proxy"),
        },
        tokens: Arc::new(TokenAuthenticatorChain::new(Vec::new())),
        revocable_tokens: Arc::new(TokenAuthenticatorChain::default()),
        audiences: Vec::new(),
        token_cache: TokenCacheOptions::default(),
        anonymous,
        clock: Arc::new(SystemClock),
    }
}

const HEADERS: &[&[(&str, &str)]] = &[
    &[("X-Remote-User", "root"), ("X-Remote-Group", "system:masters")],
    &[("x-remote-user", "root"), ("x-remote-group", "system:masters")],
    &[("X-REMOTE-USER", "root"), ("X-REMOTE-GROUP", "system:masters")],
    &[("x_remote_user", "root"), ("x_remote_group", "system:masters")],
    &[("x-remote_user", "root"), ("x-remote_group", "system:masters")],
    &[("x-front-user", "root"), ("x-remote-group", "system:masters")],
    &[("x-remote-user", ""), ("x-remote-user", "root"), ("x-remote-group", "system:masters")],
    &[("x-remote-group", "system:masters"), ("x-remote-extra-scopes", "all"), ("x-remote-uid", "1")],
    &[("x-remote-user", "root"), ("x-remote-group", "system:masters"), ("x-forwarded-for", "127.0.0.1")],
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_name_nobody_without_a_proxys_certificate() {
    let (clients, proxies) = (Authority::new("clients").unwrap(), Authority::new("proxies").unwrap());
    let pki = Pki::new(&clients.certificate(), Some(&proxies.certificate()));
    let running = Running::start(pki, |pki| parts(pki, Anonymous::Everywhere)).await;
    let stranger = Authority::new("proxies").unwrap();
    let identities = [
        (None, "system:anonymous system:unauthenticated"),
        (Some(clients.client("jane", &[]).unwrap()), "jane system:authenticated"),
        (Some(clients.client("front-proxy", &[]).unwrap()), "front-proxy system:authenticated"),
        (Some(proxies.client("mallory", &[]).unwrap()), "401"),
        (Some(stranger.client("front-proxy", &[]).unwrap()), "401"),
    ];
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for (identity, expected) in &identities {
            for headers in HEADERS {
                let answer = running.ask(protocol, identity.as_ref(), "/x", headers).await.unwrap();
                assert_eq!(answer.who(), *expected, "{protocol:?} {headers:?}");
                let is_known = expected.ends_with("system:authenticated");
                let must_stay = is_known || (protocol == Protocol::Http1 && *expected != "401");
                let within = if must_stay { Duration::from_millis(20) } else { Duration::from_secs(20) };
                assert_eq!(answer.closes(within).await, !must_stay, "{protocol:?} {expected}");
            }
        }
        let proxy = proxies.client("front-proxy", &["system:masters"]).unwrap();
        let answer = running.ask(protocol, Some(&proxy), "/x", HEADERS[0]).await.unwrap();
        assert_eq!(answer.who(), "root system:masters,system:authenticated");
        let answer = running.ask(protocol, Some(&proxy), "/x", &[("x_remote_user", "root")]).await.unwrap();
        assert_eq!(answer.who(), "401", "the proxy's own certificate is no user's");
    }
}

/// A bad credential is refused even where none is needed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_needs_no_credential_and_bears_no_bad_one() {
    let (clients, proxies) = (Authority::new("clients").unwrap(), Authority::new("proxies").unwrap());
    let pki = Pki::new(&clients.certificate(), Some(&proxies.certificate()));
    let stranger = Authority::new("clients").unwrap().client("jane", &["system:masters"]).unwrap();
    let running = Running::start(pki, |pki| parts(pki, Anonymous::health())).await;
    let code = async |identity, path, headers| {
        running.ask(Protocol::Http1, identity, path, headers).await.unwrap().code.as_u16()
    };
    for path in ["/healthz", "/livez", "/readyz", "/livez?verbose"] {
        assert_eq!(code(None, path, &[]).await, 200, "{path}");
        assert_eq!(code(None, path, &[("authorization", "Bearer x")]).await, 401, "{path}");
        assert_eq!(code(Some(&stranger), path, &[]).await, 401, "{path}");
    }
    for path in ["/", "/livez/ping", "/apis", "/version"] {
        assert_eq!(code(None, path, &[]).await, 401, "{path}");
    }
    let pki = Pki::new(&clients.certificate(), Some(&proxies.certificate()));
    let running = Running::start(pki, |pki| parts(pki, Anonymous::Off)).await;
    assert_eq!(running.ask(Protocol::Http1, None, "/livez", &[]).await.unwrap().code, 401);
}

/// Trailers come after the question who asks, and change nothing for the next request on the connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trailers_and_connections_that_are_used_again_name_nobody() {
    let (clients, proxies) = (Authority::new("clients").unwrap(), Authority::new("proxies").unwrap());
    let pki = Pki::new(&clients.certificate(), Some(&proxies.certificate()));
    let running = Running::start(pki, |pki| parts(pki, Anonymous::Everywhere)).await;
    let jane = clients.client("jane", &[]).unwrap();
    let mut stream = running.connect(Protocol::Http1, Some(&jane)).await.unwrap();
    let requests = "POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTrailer: X-Remote-User\r\n\r\n\
                    0\r\nX-Remote-User: root\r\nX-Remote-Group: system:masters\r\n\r\n\
                    GET /x HTTP/1.1\r\nHost: localhost\r\nX-Remote-User: root\r\n\r\n\
                    GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(requests.as_bytes()).await.unwrap();
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).await.unwrap();
    let answers = String::from_utf8_lossy(&answers);
    assert_eq!(answers.matches("you are jane system:authenticated").count(), 3, "{answers}");
    assert!(!answers.contains("root"), "{answers}");
}
