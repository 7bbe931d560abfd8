use std::convert::Infallible;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::Response;
use kube::client::Body;
use serde_json::json;
use tokio::time::Instant;
use tower_service::Service;

use super::*;

/// A host with documents of two groups, one of which is never told.
#[derive(Clone)]
struct Halting;

// === impl Halting ===

impl Service<Request<Body>> for Halting {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(async move {
            let document = |group: &str| json!({ "serverRelativeURL": format!("/openapi/v3/apis/{group}/v1?hash=1") });
            let answer = match request.uri().path() {
                "/openapi/v3" => {
                    json!({ "paths": { "apis/good.dev/v1": document("good.dev"), "apis/bad.dev/v1": document("bad.dev") } })
                }
                "/openapi/v3/apis/good.dev/v1" => json!({ "components": { "schemas": { "Thing": {
                    "type": "object", "x-kubernetes-group-version-kind": [{ "group": "good.dev", "version": "v1", "kind": "Thing" }],
                } } } }),
                _ => std::future::pending().await,
            };
            Ok(Response::new(Body::from(answer.to_string().into_bytes())))
        })
    }
}

impl HostClients for Halting {
    fn own(&self) -> Option<Client> {
        Some(Client::new(self.clone(), "default"))
    }

    fn acting_as(&self, _: &ServiceAccountRef) -> Option<Client> {
        self.own()
    }
}

/// What the host does not tell keeps nobody waiting for long, however many ask for it, and nobody at all who asks for something else.
#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_is_not_waited_for() {
    let host = Arc::new(HostApi::new(Halting));
    let began = Instant::now();
    let asking: Vec<_> = (0..20)
        .map(|_| {
            let host = host.clone();
            tokio::spawn(async move { host.schema(&kind("bad.dev", true)).await.map(|found| found.is_some()) })
        })
        .collect();
    tokio::task::yield_now().await;
    assert!(host.schema(&kind("good.dev", true)).await.unwrap().is_some());
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    for asked in asking {
        let refused = asked.await.unwrap().unwrap_err();
        assert!(matches!(&refused, HostError::Unavailable(why) if why.contains("within 10 s")), "{refused}");
    }
    let account = ServiceAccountRef::new("shop", "builder").unwrap();
    assert!(host.get(&account, &kind("", true), "shop", "a").await.is_err());
    assert!(host.kind("v1", "Thing").await.is_err());
    assert!(began.elapsed() < 4 * ANSWER_LIMIT, "{:?}", began.elapsed());
}

fn kind(group: &str, namespaced: bool) -> HostKind {
    HostKind {
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: "Thing".to_owned(),
        plural: "things".to_owned(),
        namespaced,
        verbs: Vec::new(),
    }
}

#[test]
fn no_name_leaves_its_place() {
    let at = |name: &str| path(&kind("", true), "shop", name);
    assert_eq!(at("a").as_deref(), Some("/api/v1/namespaces/shop/things/a"));
    assert_eq!(at("a:b").as_deref(), Some("/api/v1/namespaces/shop/things/a:b"));
    assert_eq!(at("a?b#c d").as_deref(), Some("/api/v1/namespaces/shop/things/a%3Fb%23c%20d"));
    for name in ["", ".", "..", "a/b", "a%2fb"] {
        assert_eq!(at(name), None, "{name:?}");
    }
    assert_eq!(path(&kind("x.dev", false), "", "a").as_deref(), Some("/apis/x.dev/v1/things/a"));
    assert_eq!(path(&kind("", true), "../kube-system", "a"), None);
}
