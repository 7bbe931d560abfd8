use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Response, StatusCode};
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
                "/openapi/v3/apis/good.dev/v1" => things("good.dev"),
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

/// A host with a document that changes all the time, which it does not give each time that it is asked.
#[derive(Clone, Default)]
struct Wavering {
    hash: Arc<AtomicUsize>,
    refusals: Arc<AtomicUsize>,
}

// === impl Wavering ===

impl Wavering {
    fn answer(&self, path: &str) -> Response<Body> {
        let less = |refusals: usize| refusals.checked_sub(1);
        let (code, answer) = match path {
            "/openapi/v3" => {
                let hash = self.hash.fetch_add(1, Ordering::Relaxed);
                let place = format!("/openapi/v3/apis/good.dev/v1?hash={hash}");
                (StatusCode::OK, json!({ "paths": { "apis/good.dev/v1": { "serverRelativeURL": place } } }).to_string())
            }
            _ if self.refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() => {
                (StatusCode::SERVICE_UNAVAILABLE, "service unavailable\n".to_owned())
            }
            _ => (StatusCode::OK, things("good.dev").to_string()),
        };
        let mut response = Response::new(Body::from(answer.into_bytes()));
        *response.status_mut() = code;
        response
    }
}

impl Service<Request<Body>> for Wavering {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        std::future::ready(Ok(self.answer(request.uri().path())))
    }
}

impl HostClients for Wavering {
    fn own(&self) -> Option<Client> {
        Some(Client::new(self.clone(), "default"))
    }

    fn acting_as(&self, _: &ServiceAccountRef) -> Option<Client> {
        self.own()
    }
}

/// A document that tells of things.
fn things(group: &str) -> Value {
    json!({ "components": { "schemas": { "Thing": {
        "type": "object", "x-kubernetes-group-version-kind": [{ "group": group, "version": "v1", "kind": "Thing" }],
    } } } })
}

/// A document is asked for more than once, since behind an aggregator another server may be asked then; after that, what was
/// told last counts; and where nothing ever was told, it is said who would not.
#[tokio::test(start_paused = true)]
async fn a_document_that_is_not_given_each_time() {
    const OFTEN: usize = 1000;
    let wavering = Wavering::default();
    let host = HostApi::new(wavering.clone());
    let asked = async |refusals: usize| {
        // Later than it is believed which documents there are.
        tokio::time::sleep(Duration::from_secs(3)).await;
        wavering.refusals.store(refusals, Ordering::Relaxed);
        let answer = host.schema(&kind("good.dev", true)).await.map(|found| found.is_some());
        (answer, refusals - wavering.refusals.load(Ordering::Relaxed))
    };
    let (answer, refused) = asked(OFTEN).await;
    let why = answer.unwrap_err().to_string();
    assert!(why.contains("answers /openapi/v3/apis/good.dev/v1 with 503: service unavailable"), "{why}");
    assert!((2..10).contains(&refused), "{refused}");
    assert!(matches!(asked(2).await, (Ok(true), 2)));
    let (answer, again) = asked(OFTEN).await;
    assert!(answer.unwrap());
    assert_eq!(again, refused);
    // It is not taken for what the host tells now.
    assert!(matches!(asked(1).await, (Ok(true), 1)));
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
