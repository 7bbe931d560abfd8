//! What becomes of a project whose default quota is refused.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bailiwick_api::ResourceQuotaAllocation;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower_service::Service;

use super::{Announcer, FirstLook, Index, KINDS, Queue, Shared};

/// A cluster that refuses all ResourceQuotas but those that allow nothing.
#[derive(Clone)]
struct Refusing {
    cause: &'static str,
    made: Arc<Mutex<Vec<Value>>>,
}

impl Service<Request<Body>> for Refusing {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { cause, made } = self.clone();
        Box::pin(async move {
            let is_quota = request.uri().path().ends_with("/resourcequotas");
            let sent = request.into_body().collect_bytes().await.unwrap_or_default();
            let sent: Value = serde_json::from_slice(&sent).unwrap_or_default();
            let is_nothing = sent["spec"]["hard"]["cpu"] == "0";
            let (code, answer) = match is_quota && !is_nothing {
                true => {
                    let causes = json!([{ "reason": cause, "message": "no" }]);
                    let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
                        "reason": "Forbidden", "message": "no", "details": { "causes": causes } });
                    (403, status)
                }
                false => (201, sent.clone()),
            };
            if is_quota && is_nothing {
                made.lock().unwrap().push(sent);
            }
            Ok(Response::builder().status(code).body(Body::from(answer.to_string().into_bytes())).unwrap())
        })
    }
}

/// What is made for a project without quotas if all but nothing is refused for this.
async fn made_when_refused_for(cause: &'static str) -> (bool, Vec<Value>) {
    let cluster = Refusing { cause, made: Arc::default() };
    let host = Client::new(cluster.clone(), "default");
    let mut index = Index::default();
    let allocation: ResourceQuotaAllocation = serde_json::from_value(json!({
        "metadata": { "name": "alice" },
        "spec": {
            "selector": {}, "allocation": { "hard": { "cpu": "10" } },
            "uncoveredPolicy": "Default", "default": { "cpu": "3" },
        },
    }))
    .unwrap();
    index.set_allocation("alice", Some(allocation));
    index.set_namespace("shop", Some(Default::default()));
    let shared = Shared {
        announcer: Announcer::new(host.clone(), "test"),
        host,
        index: Mutex::new(index),
        queue: Queue::new("test"),
        first_look: FirstLook::at(KINDS),
    };
    let is_done = shared.limit("shop").await.is_ok();
    let made = cluster.made.lock().unwrap().clone();
    (is_done, made)
}

/// B-QUOTA-3: a project gets nothing if its default does not fit, and only then: what passes is tried again.
#[tokio::test]
async fn a_project_gets_nothing_only_if_nothing_is_left() {
    let (is_done, made) = made_when_refused_for("AllocationExceeded").await;
    assert!(is_done);
    assert_eq!(made[0]["spec"]["hard"], json!({ "cpu": "0" }));
    for cause in ["AllocationCounting", "AllocationsNotReady", "SomethingElse"] {
        assert_eq!(made_when_refused_for(cause).await, (false, Vec::new()), "{cause}");
    }
    assert_eq!(made_when_refused_for("NamespaceTerminating").await, (true, Vec::new()));
}
