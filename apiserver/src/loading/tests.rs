use bailiwick_registry::SystemClock;
use http::StatusCode;
use http::header::RETRY_AFTER;

use super::*;

async fn answer(method: Method, path: &str) -> Response<Body> {
    let loading = Loading::<()>::new(Arc::new(SystemClock));
    loading.inner.answer(&method, path, &HeaderMap::new()).await
}

#[tokio::test]
async fn a_server_that_loads_lives_and_is_not_ready() {
    for (path, expected) in [
        ("/livez", StatusCode::OK),
        ("/healthz", StatusCode::OK),
        ("/readyz", StatusCode::INTERNAL_SERVER_ERROR),
        ("/readyz/loading", StatusCode::INTERNAL_SERVER_ERROR),
    ] {
        assert_eq!(answer(Method::GET, path).await.status(), expected, "{path}");
    }
}

#[tokio::test]
async fn nothing_is_said_not_to_exist() {
    for (method, path) in [
        (Method::GET, "/apis"),
        (Method::GET, "/apis/catalog.bailiwick.dev/v1alpha1/namespaces/a/resourcecatalogclaims/b"),
        (Method::DELETE, "/apis/catalog.bailiwick.dev/v1alpha1/namespaces/a/resourcecatalogclaims/b"),
        (Method::GET, "/no/such/path"),
        (Method::POST, "/livez"),
    ] {
        let response = answer(method, path).await;
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert_eq!(response.headers()[RETRY_AFTER], "1");
    }
}
