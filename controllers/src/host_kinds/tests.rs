use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, Response, StatusCode};
use kube::client::Body;
use tower_service::Service;

use super::*;

/// A host that has nothing, and counts how often it is asked.
#[derive(Clone, Default)]
pub(crate) struct Nothing(pub(crate) Arc<AtomicUsize>);

impl Service<Request<Body>> for Nothing {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        self.0.fetch_add(1, Ordering::Relaxed);
        let status =
            r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}"#;
        let answer = Response::builder().status(StatusCode::NOT_FOUND).body(Body::from(status.as_bytes().to_vec()));
        std::future::ready(Ok(answer.unwrap()))
    }
}

/// B-01: what is no name of a kind leads nowhere: the host is not asked as the controller itself.
#[tokio::test]
async fn what_names_no_kind_is_not_asked_for() {
    let nothing = Nothing::default();
    let kinds = HostKinds::new(Client::new(nothing.clone(), "default"));
    for (api_version, kind) in [
        ("bundle.bailiwick.dev/v1alpha1/bundles", "Bundle"),
        ("bundle.bailiwick.dev/v1alpha1/bundles?watch=true", "Bundle"),
        ("../v1", "Secret"),
        ("v1?x", "Secret"),
        ("v1", "Sec/ret"),
    ] {
        assert!(kinds.find(api_version, kind).await.unwrap().is_none(), "{api_version}");
    }
    assert_eq!(nothing.0.load(Ordering::Relaxed), 0);
    assert!(kinds.find("apps/v1", "Deployment").await.is_ok_and(|found| found.is_none()));
    assert_eq!(nothing.0.load(Ordering::Relaxed), 1);
}
