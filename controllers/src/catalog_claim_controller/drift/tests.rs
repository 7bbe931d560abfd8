use std::convert::Infallible;
use std::future::{Pending, pending};
use std::task::{Context, Poll};

use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use serde_json::json;
use tokio::time::timeout;
use tower_service::Service;

use super::*;

/// A host that answers nothing.
#[derive(Clone)]
struct Silent;

impl Service<Request<Body>> for Silent {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pending<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        pending()
    }
}

impl ActAs for Silent {
    fn client(&self, _: &ServiceAccountRef) -> Client {
        Client::new(self.clone(), "a")
    }
}

fn account() -> ServiceAccountRef {
    ServiceAccountRef::new("a", "maker").unwrap()
}

/// Which claims are to be looked at by now.
async fn asked_for(queue: &Queue<Place>) -> Vec<Place> {
    let asked: Arc<Mutex<Vec<Place>>> = Arc::default();
    let look_at = async |asked: Arc<Mutex<Vec<Place>>>, place: Place| {
        asked.lock().unwrap().push(place);
        Ok::<(), Infallible>(())
    };
    let work = queue.work(1, async {}, &asked, look_at);
    assert!(timeout(Duration::from_secs(1), work).await.is_err(), "workers do not go home");
    asked.lock().unwrap().clone()
}

/// CAT-55: what was changed while changes were no news is looked at as soon as there is peace, once.
#[tokio::test(start_paused = true)]
async fn when_there_is_peace_a_claim_is_looked_at_once_more() {
    let claim = json!({
        "metadata": { "name": "mine", "namespace": "a", "uid": "u" },
        "spec": { "catalogName": "gold", "resourceCatalogEntry": { "namespace": "shop", "name": "set" } },
    });
    let claim: ResourceCatalogClaim = serde_json::from_value(claim).unwrap();
    let (queue, place) = (Queue::new("catalog-claim-controller"), Place::of(&claim));
    let drift = Drift::new(Arc::new(Silent), queue.clone());
    lock(&drift.fought).insert(place.clone());
    assert!(drift.follow(&claim, &account(), &[]).is_empty());
    assert_eq!(asked_for(&queue).await, [place]);
    assert!(drift.follow(&claim, &account(), &[]).is_empty());
    assert!(asked_for(&queue).await.is_empty(), "and then there is nothing more");
}

/// CAT-55: what is told late of a state before the one that was left is no news, and nobody has changed anything by it.
#[tokio::test(start_paused = true)]
async fn a_state_before_the_one_that_was_left_is_no_news() {
    for (left, version, is_news) in [
        ("10", "9", false),
        ("10", "10", false),
        ("10", "11", true),
        ("9", "10", true),
        ("some", "some", false),
        ("some", "other", true),
        ("10", "other", true),
    ] {
        let (queue, copies) = (Queue::new("catalog-claim-controller"), Copies::default());
        let followed = Followed {
            claim: Place { namespace: "a".to_owned(), name: "mine".to_owned() },
            manager: "us".to_owned(),
            version: left.to_owned(),
            owned: digest(&[".data.v".to_owned()].into()),
            undone: None,
            repairs: Repairs::default(),
        };
        lock(&copies).insert("x".to_owned(), followed);
        let following = Following {
            client: Silent.client(&account()),
            resource: ApiResource::erase::<ConfigMap>(&()),
            account: account(),
            copies: copies.clone(),
            queue: queue.clone(),
            fought: Fought::default(),
        };
        // In which nothing is the claim's any more.
        let told = json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
            "metadata": { "name": "x", "namespace": "a", "resourceVersion": version },
        });
        following.changed(&serde_json::from_value(told).unwrap());
        assert_eq!(lock(&copies)["x"].undone.is_some(), is_news, "{version} after {left}");
        assert_eq!(asked_for(&queue).await.len(), usize::from(is_news), "{version} after {left}");
    }
}
