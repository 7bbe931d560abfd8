//! What is told of who asked: in the audit log, and in metrics.

use std::sync::Arc;

use bailiwick_apiserver::{
    Anonymous, AuthenticationParts, RequestHeaderOptions, TokenAuthenticatorChain, TokenCacheOptions,
};
use bailiwick_registry::SystemClock;
use bailiwick_test_host::pki::Authority;
use serde_json::json;

use crate::running::{Protocol, Running};
use crate::site::Pki;

fn parts(pki: &Pki) -> AuthenticationParts {
    AuthenticationParts {
        tls: pki.tls.clone(),
        request_header: RequestHeaderOptions {
            username_headers: vec!["X-Remote-User".to_owned()],
            uid_headers: Vec::new(),
            group_headers: vec!["X-Remote-Group".to_owned()],
            extra_header_prefixes: Vec::new(),
            allowed_names: vec!["front-proxy".to_owned()],
        },
        tokens: Arc::new(TokenAuthenticatorChain::default()),
        revocable_tokens: Arc::new(TokenAuthenticatorChain::default()),
        audiences: Vec::new(),
        token_cache: TokenCacheOptions::default(),
        anonymous: Anonymous::Off,
        clock: Arc::new(SystemClock),
    }
}

const FORWARDED: (&str, &str) = ("X-Forwarded-For", "203.0.113.7, 198.51.100.1");

/// S-01, for where a request comes from: only a front proxy says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_front_proxy_says_where_requests_come_from() {
    let (clients, proxies) = (Authority::new("clients").unwrap(), Authority::new("proxies").unwrap());
    let running = Running::start(Pki::new(&clients.certificate(), Some(&proxies.certificate())), parts).await;
    let jane = ("X-Remote-User", "jane");
    for (identity, path, expected) in [
        (proxies.client("front-proxy", &[]).unwrap(), "/proxied", json!(["203.0.113.7", "198.51.100.1", "127.0.0.1"])),
        (proxies.client("mallory", &[]).unwrap(), "/unknown-name", json!(["127.0.0.1"])),
        (clients.client("front-proxy", &[]).unwrap(), "/other-pool", json!(["127.0.0.1"])),
    ] {
        running.ask(Protocol::Http2, Some(&identity), path, &[jane, FORWARDED]).await.unwrap();
        assert_eq!(running.audited(path)["sourceIPs"], expected, "{path}");
    }
    running.ask(Protocol::Http1, None, "/nobody", &[FORWARDED]).await.unwrap();
    assert_eq!(running.audited("/nobody")["sourceIPs"], json!(["127.0.0.1"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_are_counted_by_what_came_of_them() {
    let (clients, proxies) = (Authority::new("clients").unwrap(), Authority::new("proxies").unwrap());
    let running = Running::start(Pki::new(&clients.certificate(), Some(&proxies.certificate())), parts).await;
    let token = [("Authorization", "Bearer unknown")];
    for _ in 0..3 {
        running.ask(Protocol::Http1, None, "/", &token).await.unwrap();
    }
    running.ask(Protocol::Http1, None, "/", &[]).await.unwrap();
    let admin = clients.client("admin", &["watchers"]).unwrap();
    let text = running.ask(Protocol::Http1, Some(&admin), "/metrics", &[]).await.unwrap().text.clone();
    for expected in [
        "authentication_attempts{result=\"success\"} 1",
        "authentication_attempts{result=\"failure\"} 1",
        "authentication_attempts{result=\"error\"} 3",
        "authentication_duration_seconds_count{result=\"error\"} 3",
        "authentication_duration_seconds_bucket{result=\"success\",le=\"16.384\"} 1",
        "authenticated_user_requests{username=\"admin\"} 1",
        "authenticated_user_requests{username=\"other\"} 0",
        "authentication_token_cache_request_total{status=\"hit\"} 2",
        "authentication_token_cache_request_total{status=\"miss\"} 1",
        "authentication_token_cache_request_duration_seconds_count{status=\"hit\"} 2",
        "authentication_token_cache_fetch_total{status=\"ok\"} 1",
        "authentication_token_cache_fetch_total{status=\"error\"} 0",
        "authentication_token_cache_active_fetch_count{status=\"blocked\"} 0",
        "authentication_token_cache_active_fetch_count{status=\"in_flight\"} 0",
        "authorization_attempts_total{result=\"allowed\"} 1",
        "authorization_duration_seconds_count{result=\"allowed\"} 1",
    ] {
        assert!(text.lines().any(|line| line == expected), "{expected}:\n{text}");
    }
}
