use bailiwick_registry::SystemClock;
use http::StatusCode;
use http::header::RETRY_AFTER;
use tokio::time::{Instant, sleep};

use super::*;

fn loading() -> Loading<&'static str> {
    Loading::new(Arc::new(SystemClock))
}

#[tokio::test]
async fn a_server_that_loads_lives_and_is_not_ready() {
    for (method, path, expected) in [
        (Method::GET, "/livez", Some(StatusCode::OK)),
        (Method::HEAD, "/healthz", Some(StatusCode::OK)),
        (Method::GET, "/readyz", Some(StatusCode::INTERNAL_SERVER_ERROR)),
        (Method::GET, "/readyz/loading", Some(StatusCode::INTERNAL_SERVER_ERROR)),
        (Method::POST, "/livez", None),
        (Method::GET, "/apis", None),
    ] {
        let answer = loading().inner.answer_health(&method, path).await;
        assert_eq!(answer.map(|answer| answer.status()), expected, "{path}");
    }
}

#[tokio::test]
async fn nothing_is_said_not_to_exist() {
    let refusal = loading().inner.refuse(&HeaderMap::new());
    assert_eq!(refusal.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refusal.headers()[RETRY_AFTER], "1");
}

#[tokio::test(start_paused = true)]
async fn requests_wait_for_a_moment() {
    let loading = loading();
    let began = Instant::now();
    assert_eq!(loading.inner.handler().await, None);
    assert_eq!(began.elapsed(), WAIT);
    let done = async {
        sleep(WAIT / 2).await;
        loading.done("the handler");
    };
    let (handler, ()) = tokio::join!(loading.inner.handler(), done);
    assert_eq!(handler, Some(&"the handler"));
    assert_eq!(began.elapsed(), WAIT + WAIT / 2);
    assert_eq!(loading.inner.handler().await, Some(&"the handler"));
    assert_eq!(began.elapsed(), WAIT + WAIT / 2);
}
