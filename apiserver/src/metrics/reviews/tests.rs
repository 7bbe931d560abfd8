use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use bailiwick_registry::{Attributes, AuthorizationTarget, Authorizer, User};
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower_service::Service;

use super::*;
use crate::authentication::{Token, TokenAuthenticator};
use crate::delegated::{AccessReviewOptions, AccessReviews, TokenReviews};
use crate::metrics::exposition::Format;

/// Answers with this code, if at all.
#[derive(Clone)]
struct Cluster(Option<u16>);

impl Service<Request<Body>> for Cluster {
    type Response = Response<Full<Bytes>>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let code = self.0;
        async move {
            let code = code.ok_or(io::ErrorKind::ConnectionRefused)?;
            let review = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
            let refusal =
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "no"});
            let body = if code == 201 { serde_json::from_slice::<Value>(&review)? } else { refusal };
            Response::builder().status(code).body(Full::from(body.to_string())).map_err(io::Error::other)
        }
        .boxed()
    }
}

fn told(metrics: &ReviewMetrics) -> String {
    let mut out = Exposition::new(Format::Prometheus);
    metrics.expose(&mut out, "authz");
    out.finish()
}

#[test]
fn answers_are_told_by_code() {
    let metrics = ReviewMetrics::default();
    assert_eq!(told(&metrics), "");
    for code in [Some(201), Some(201), Some(503), Some(418), Some(599), None] {
        metrics.asked(code, Duration::from_millis(7));
    }
    let told = told(&metrics);
    for expected in [
        "# TYPE apiserver_delegated_authz_request_total counter",
        "apiserver_delegated_authz_request_total{code=\"201\"} 2",
        "apiserver_delegated_authz_request_total{code=\"503\"} 1",
        "apiserver_delegated_authz_request_total{code=\"other\"} 2",
        "apiserver_delegated_authz_request_total{code=\"<error>\"} 1",
        "apiserver_delegated_authz_request_duration_seconds_bucket{code=\"201\",le=\"0.005\"} 0",
        "apiserver_delegated_authz_request_duration_seconds_bucket{code=\"201\",le=\"0.01\"} 2",
    ] {
        assert!(told.lines().any(|line| line == expected), "{expected}:\n{told}");
    }
    assert!(!told.contains("\"200\""), "{told}");
}

#[tokio::test]
async fn what_a_cluster_is_asked_is_counted_by_what_it_answers() {
    for (code, expected) in [(Some(201), "201"), (Some(403), "403"), (None, "<error>")] {
        let client = || Client::new(Cluster(code), "default");
        let (tokens, access) = (Arc::new(ReviewMetrics::default()), Arc::new(ReviewMetrics::default()));
        let reviews = TokenReviews::new(client(), Vec::new()).counted_by(tokens.clone());
        let _ = reviews.authenticate(&Token::new("t")).await;
        let reviews = AccessReviews::new(client(), AccessReviewOptions::default()).counted_by(access.clone());
        let question = Attributes { user: &User::default(), verb: "get", target: AuthorizationTarget::Path("/") };
        let _ = reviews.authorize(&question).await;
        for metrics in [tokens, access] {
            let told = told(&metrics);
            let line = format!("apiserver_delegated_authz_request_total{{code=\"{expected}\"}} 1");
            assert!(told.lines().any(|found| found == line), "{line}:\n{told}");
        }
    }
}
