//! How long a request may take, whatever it waits for.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_apiserver::{LimitOptions, ServerOptions};
use bailiwick_registry::{Attributes, AuthorizationError, Authorizer, Decision, User};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use tokio::time::timeout;

use crate::site::{CLAIMS, Site, Wiring, claim};

const SHORT: Duration = Duration::from_millis(300);
/// Long beyond the limit, and soon enough for a test that fails.
const LONG: Duration = Duration::from_secs(20);

/// Lets everyone do everything, and never answers about `slow`.
struct Slow;

#[async_trait]
impl Authorizer for Slow {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        if question.user.name == "slow" {
            std::future::pending::<()>().await;
        }
        Ok(Decision::Allow(String::new()))
    }
}

fn user(name: &str) -> User {
    User { name: name.to_owned(), ..User::default() }
}

async fn site(request_timeout: Duration, limits: LimitOptions) -> Site {
    let options = ServerOptions { request_timeout, limits, ..ServerOptions::default() };
    Site::wired(Wiring { authorizer: Arc::new(Slow), options, ..Wiring::default() }).await
}

/// The code of an answer, which must come before long.
async fn code<T>(answering: impl Future<Output = Response<T>>) -> StatusCode {
    timeout(LONG, answering).await.expect("an answer").status()
}

#[tokio::test]
async fn the_limit_covers_all_that_is_asked_before_a_request_is_answered() {
    let site = site(SHORT, LimitOptions::default()).await;
    let ask = async |name: &str, target: &str, header: Option<(&str, &str)>| {
        let mut request = Request::get(target);
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        code(site.server.answer(request.body(Full::<Bytes>::default()).unwrap(), Some(&user(name)))).await
    };
    let watch = format!("{CLAIMS}?watch=true");
    assert_eq!(ask("slow", CLAIMS, None).await, 504, "whether they may");
    assert_eq!(ask("slow", &watch, None).await, 504, "whether they may watch");
    assert_eq!(ask("slow", CLAIMS, Some(("impersonate-user", "ann"))).await, 504, "whether they may act as another");
    assert_eq!(ask("ann", CLAIMS, Some(("impersonate-user", "slow"))).await, 504, "whether the other may");
    assert_eq!(ask("ann", CLAIMS, None).await, 200);
    assert_eq!(ask("ann", &watch, None).await, 200);
    let terminated = site.metrics("").await;
    assert!(terminated.contains("apiserver_request_terminations_total{verb=\"LIST\""), "{terminated}");
    assert!(terminated.contains("code=\"504\""), "{terminated}");
}

#[tokio::test]
async fn a_client_may_want_less_time_for_that_too() {
    let site = site(Duration::from_secs(3_600), LimitOptions::default()).await;
    let request = Request::get(format!("{CLAIMS}?timeout=300ms")).body(Full::<Bytes>::default()).unwrap();
    assert_eq!(code(site.server.answer(request, Some(&user("slow")))).await, 504);
}

#[tokio::test]
async fn the_limit_covers_the_wait_for_a_seat() {
    let limits = LimitOptions { reads: Some(1), patience: Duration::from_secs(3_600), ..LimitOptions::default() };
    let site = site(SHORT, limits).await;
    let list = || Request::get(CLAIMS).body(Full::<Bytes>::default()).unwrap();
    // Its answer is not read, so its seat is not given back.
    let held = site.server.answer(list(), Some(&user("ann"))).await;
    assert_eq!(code(site.server.answer(list(), Some(&user("bob")))).await, 504);
    drop(held);
    assert_eq!(code(site.server.answer(list(), Some(&user("bob")))).await, 200);
}

/// A path can call something a watch that is none: it has no more time than others, and its body must come.
#[tokio::test]
async fn what_is_no_watch_has_a_limit_whatever_its_path_says() {
    let site = site(SHORT, LimitOptions::default()).await;
    let target = CLAIMS.replace("/namespaces/", "/watch/namespaces/");
    for (method, target) in [("POST", target.as_str()), ("PUT", &target), ("DELETE", &target), ("POST", CLAIMS)] {
        let body = StreamBody::new(futures::stream::pending::<Result<Frame<Bytes>, Infallible>>());
        let request = Request::builder().method(method).uri(target).body(body).unwrap();
        assert_eq!(code(site.server.answer(request, Some(&user("ann")))).await, 504, "{method} {target}");
    }
    let body = Full::<Bytes>::from(claim("x", serde_json::json!({})).to_string());
    let request = Request::post(&target).body(body).unwrap();
    assert_eq!(code(site.server.answer(request, Some(&user("ann")))).await, 405);
}
