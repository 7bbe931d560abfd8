//! Following the quotas of a cluster whose watches end when they should not.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bailiwick_apiserver::ClusterQuotas;
use bailiwick_registry::{Error, ProjectQuotas};
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tower_service::Service;

use crate::cluster::{Behaviour, Cluster};

/// A cluster of one ResourceQuota, which is gone when it is listed for the second time. The first watch says that it has to be.
#[derive(Clone, Default)]
struct Forgetful {
    lists: Arc<AtomicUsize>,
    watches: Arc<AtomicUsize>,
}

impl Forgetful {
    fn list(&self, is_metadata: bool) -> Value {
        let quota = json!({
            "metadata": { "namespace": "a", "name": "default", "uid": "1", "resourceVersion": "50" },
            "spec": { "hard": { "cpu": "1" } },
        });
        // How far it is, is asked before each list.
        let (version, items) = match (is_metadata, self.lists.fetch_add(usize::from(!is_metadata), Ordering::SeqCst)) {
            (true, 0) => ("60", json!([])),
            (false, 0) => ("61", json!([quota])),
            (true, _) => ("70", json!([])),
            (false, _) => ("71", json!([])),
        };
        json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": version }, "items": items })
    }
}

impl Service<Request<Body>> for Forgetful {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let is_watch = request.uri().query().unwrap_or_default().contains("watch=true");
            let accepts = request.headers().get("accept").and_then(|accept| accept.to_str().ok());
            let is_metadata = accepts.unwrap_or_default().contains("PartialObjectMetadata");
            let is_quotas = request.uri().path().ends_with("/resourcequotas");
            let answer = match (is_quotas, is_watch) {
                (true, true) if this.watches.fetch_add(1, Ordering::SeqCst) == 0 => {
                    let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410,
                        "reason": "Expired", "message": "too old" });
                    json!({ "type": "ERROR", "object": status })
                }
                (_, true) => std::future::pending().await,
                (true, false) => this.list(is_metadata),
                (false, false) => {
                    json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": "1" }, "items": [] })
                }
            };
            Ok(Response::builder().status(200).body(Body::from(format!("{answer}\n").into_bytes())).unwrap())
        })
    }
}

/// QUOTA-24: what has gone while nothing was followed is known to be gone, though nothing that is left is as new.
#[tokio::test(start_paused = true)]
async fn what_has_gone_between_two_watches_is_gone() {
    let cluster = Forgetful::default();
    let home = async { "home".to_owned() };
    let client = Client::new(cluster.clone(), "default");
    let (quotas, following) = ClusterQuotas::new(client.clone(), client, home);
    tokio::spawn(following);
    let becomes = async |is_so: &dyn Fn() -> bool| {
        let becomes = async {
            while !is_so() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(300), becomes).await.unwrap();
    };
    becomes(&|| quotas.is_ready()).await;
    becomes(&|| cluster.lists.load(Ordering::SeqCst) == 2 && quotas.project("a").quotas.is_empty()).await;
    assert_eq!(quotas.project("a").horizon, 70);
}

/// What a watch has seen of a namespace's labels counts while there is one. Then the cluster is asked: what is allowed by old labels
/// may be allotted to someone else by now.
#[tokio::test(start_paused = true)]
async fn labels_that_were_seen_count_while_they_are_followed() {
    let labels = json!({ "owner": "alice" });
    let list = json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": { "resourceVersion": "7" },
        "items": [{ "metadata": { "name": "web", "labels": labels } }],
    });
    let cluster = Cluster::new(Behaviour::Unchanging(list));
    let home = async { "home".to_owned() };
    let (quotas, following) = ClusterQuotas::new(cluster.client(), cluster.client(), home);
    let _following = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(following));
    while !quotas.is_ready() {
        sleep(Duration::from_millis(10)).await;
    }
    let asked = cluster.asked();
    let seen = quotas.labels("web").await.unwrap().unwrap();
    assert_eq!((json!(seen), cluster.asked()), (labels, asked));
    // The watch hangs, and whoever follows wants to know what there is.
    for fault in [Behaviour::Refusal, Behaviour::Code(503)] {
        cluster.behave(fault);
        sleep(Duration::from_secs(11)).await;
        let unknown = quotas.labels("web").await;
        assert!(matches!(unknown, Err(Error::NamespaceUnknown { .. })), "{unknown:?}");
        assert!(quotas.is_ready(), "all has been seen once");
    }
}
