use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tower_service::Service;

use super::*;
use crate::host::ActAs;

/// A host in which there is nothing: lists are empty, and watches tell nothing.
#[derive(Clone)]
struct Nothing {
    /// Whether it refuses everything by now. Each watch that is open waits for that.
    is_closed: watch::Receiver<bool>,
}

// === impl Nothing ===

impl Nothing {
    /// One that stays open.
    fn open() -> Self {
        Self { is_closed: watch::channel(false).1 }
    }
}

impl Service<Request<Body>> for Nothing {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_watch = request.uri().query().unwrap_or_default().contains("watch=true");
        let mut is_closed = self.is_closed.clone();
        Box::pin(async move {
            if is_watch && is_closed.wait_for(|is_closed| *is_closed).await.is_err() {
                std::future::pending::<()>().await;
            }
            if *is_closed.borrow() {
                let refused = json!({ "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403 });
                let mut answer = Response::new(Body::from(refused.to_string().into_bytes()));
                *answer.status_mut() = StatusCode::FORBIDDEN;
                return Ok(answer);
            }
            let list = json!({
                "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": { "resourceVersion": "1" },
                "items": [],
            });
            Ok(Response::new(Body::from(list.to_string().into_bytes())))
        })
    }
}

impl ActAs for Nothing {
    fn client(&self, _: &ServiceAccountRef) -> Client {
        Client::new(self.clone(), "a")
    }
}

fn bundle(name: &str) -> Place {
    Place { namespace: "a".to_owned(), name: name.to_owned() }
}

fn kind(number: usize) -> HostKind {
    HostKind::core(&format!("Kind{number}"), &format!("kind{number}s"))
}

fn object() -> Interest {
    Interest::Name("x".to_owned())
}

async fn comes_true(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(30), waiting).await.expect("it comes true in time");
}

/// However many kinds there are, so many watches are open and no more. Whoever has none of them is told so, and gets one when
/// another is not needed any more.
#[tokio::test]
async fn there_are_at_most_so_many() {
    let watches = Watches::new(Queue::new("bundle-controller"));
    let hands = Hands::new(&Nothing::open(), ServiceAccountRef::new("a", "builder").unwrap());
    let (early, late) = (bundle("early"), bundle("late"));
    for number in 0..MAX_WATCHES {
        watches.add(&early, &hands, &kind(number), object());
    }
    watches.add(&late, &hands, &kind(MAX_WATCHES), object());
    // One that is open is shared by everyone, also when there are no more.
    watches.add(&late, &hands, &kind(0), object());
    assert_eq!(watches.state().watches.len(), MAX_WATCHES);
    comes_true(|| watches.are_live(&early)).await;
    assert!(!watches.are_live(&late) && !watches.is_live(&hands, &kind(MAX_WATCHES)));
    assert!(watches.owned_by(&hands, &kind(MAX_WATCHES), "any").is_none(), "who does not watch does not know");

    // When it looks again, there is room.
    watches.keep(&early, &HashSet::from([(WatchKey::of(&hands, &kind(1)), object())]));
    assert_eq!(watches.state().watches.len(), 2, "the one that it keeps, and the one that both wanted");
    watches.add(&late, &hands, &kind(MAX_WATCHES), object());
    comes_true(|| watches.are_live(&late)).await;
    watches.forget(&late);
    watches.forget(&early);
    let state = watches.state();
    assert!(state.watches.is_empty() && state.interests.is_empty() && state.news.is_empty());
}

/// Bundles of one namespace with one account share the watch of a kind; another account has its own, and sees what it may.
#[tokio::test]
async fn one_for_each_account_and_kind() {
    let watches = Watches::new(Queue::new("bundle-controller"));
    let hands = |name: &str| Hands::new(&Nothing::open(), ServiceAccountRef::new("a", name).unwrap());
    for number in 0..100 {
        watches.add(&bundle(&format!("b{number}")), &hands("builder"), &kind(0), Interest::Name(format!("x{number}")));
    }
    assert_eq!(watches.state().watches.len(), 1);
    watches.add(&bundle("other"), &hands("other"), &kind(0), object());
    assert_eq!(watches.state().watches.len(), 2);
}

/// Who acts for a Bundle as another account from now on does not follow anything as the old one any more.
#[tokio::test]
async fn another_account_takes_the_place_of_the_old_one() {
    let watches = Watches::new(Queue::new("bundle-controller"));
    let hands = |name: &str| Hands::new(&Nothing::open(), ServiceAccountRef::new("a", name).unwrap());
    let (old, new) = (hands("old"), hands("new"));
    watches.add(&bundle("b"), &old, &kind(0), object());
    watches.add(&bundle("b"), &new, &kind(0), object());
    watches.keep(&bundle("b"), &HashSet::from([(WatchKey::of(&new, &kind(0)), object())]));
    let followed: Vec<WatchKey> = watches.state().watches.keys().cloned().collect();
    assert_eq!(followed, [WatchKey::of(&new, &kind(0))]);
}

/// What was followed and is not any more, because rights were taken away, is looked at by whoever is interested, after the time that
/// is promised for what is not followed.
#[tokio::test(start_paused = true)]
async fn whoever_is_told_nothing_any_more_looks() {
    let (close, is_closed) = watch::channel(false);
    let queue = Queue::new("bundle-controller");
    let watches = Watches::new(queue.clone());
    let hands = Hands::new(&Nothing { is_closed }, ServiceAccountRef::new("a", "builder").unwrap());
    watches.add(&bundle("b"), &hands, &kind(0), object());
    comes_true(|| watches.are_live(&bundle("b"))).await;
    let looked: Arc<Mutex<Vec<(Instant, Place)>>> = Arc::default();
    let _work = {
        let looked = looked.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            queue
                .work(1, std::future::ready(()), &looked, async |looked: Arc<Mutex<Vec<_>>>, place| {
                    looked.lock().unwrap().push((Instant::now(), place));
                    Ok::<(), Infallible>(())
                })
                .await;
        }))
    };
    sleep(Duration::from_secs(1)).await;
    looked.lock().unwrap().clear();
    let closed = Instant::now();
    close.send(true).unwrap();
    sleep(2 * FROM_TIME_TO_TIME).await;
    assert!(!watches.are_live(&bundle("b")));
    let looked = looked.lock().unwrap().clone();
    assert!(
        matches!(&looked[..], [(when, place)] if *place == bundle("b")
        && when.duration_since(closed) >= FROM_TIME_TO_TIME),
        "{looked:?}"
    );
}

/// When nobody leads any more, or a Bundle is gone, nothing of what it watched is left: no task, no request and no memory.
#[tokio::test]
async fn they_end_with_whoever_has_them() {
    let (close, is_closed) = watch::channel(false);
    let watches = Watches::new(Queue::new("bundle-controller"));
    let hands = Hands::new(&Nothing { is_closed }, ServiceAccountRef::new("a", "builder").unwrap());
    let at_first = close.receiver_count();
    for number in 0..3 {
        watches.add(&bundle("b"), &hands, &kind(number), object());
    }
    watches.add(&bundle("c"), &hands, &kind(0), object());
    comes_true(|| watches.are_live(&bundle("b")) && watches.are_live(&bundle("c"))).await;
    comes_true(|| close.receiver_count() >= at_first + 3).await;
    watches.forget(&bundle("b"));
    comes_true(|| close.receiver_count() < at_first + 3).await;
    assert!(watches.are_live(&bundle("c")), "what others still want stays");
    let state = Arc::downgrade(&watches.state);
    drop((watches, hands));
    comes_true(|| state.strong_count() == 0 && close.receiver_count() == 0).await;
}

/// The same while they tell nothing, and somebody waits for that to last.
#[tokio::test]
async fn they_end_while_they_tell_nothing() {
    let (close, is_closed) = watch::channel(false);
    let watches = Watches::new(Queue::new("bundle-controller"));
    let hands = Hands::new(&Nothing { is_closed }, ServiceAccountRef::new("a", "builder").unwrap());
    watches.add(&bundle("b"), &hands, &kind(0), object());
    comes_true(|| watches.are_live(&bundle("b"))).await;
    close.send(true).unwrap();
    comes_true(|| !watches.are_live(&bundle("b"))).await;
    let state = Arc::downgrade(&watches.state);
    drop((watches, hands));
    comes_true(|| state.strong_count() == 0 && close.receiver_count() == 0).await;
}
