use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bailiwick_api::Requester;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::sync::Semaphore;
use tokio::time::advance;
use tower_service::Service;

use super::{Question, Rights};

const REMEMBERED: Duration = Duration::from_secs(5);
const QUESTION: Question<'_> = Question { verb: "claim", group: "g", resource: "r", namespace: "a", name: "gold" };

/// A host that allows everything, as soon as it is let answer.
#[derive(Clone)]
struct Host {
    last: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
    answers: Arc<Semaphore>,
}

// === impl Host ===

impl Host {
    /// One that is let answer so many times.
    fn answering(times: usize) -> Self {
        Self { last: Arc::default(), asked: Arc::default(), answers: Arc::new(Semaphore::new(times)) }
    }

    fn rights(&self) -> Rights {
        Rights::new(Client::new(self.clone(), "default"), REMEMBERED)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Service<Request<Body>> for Host {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let Self { last, answers, .. } = self.clone();
        Box::pin(async move {
            let sent = request.into_body().collect_bytes().await.unwrap();
            *last.lock().unwrap() = String::from_utf8(sent.to_vec()).unwrap();
            answers.acquire().await.unwrap().forget();
            let answer = r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","metadata":{},"spec":{},
                "status":{"allowed":true}}"#;
            Ok(Response::builder().status(201).body(Body::from(answer.as_bytes().to_vec())).unwrap())
        })
    }
}

fn user(name: &str) -> Requester {
    Requester { username: name.to_owned(), ..Requester::default() }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_true_for_a_while() {
    let host = Host::answering(10);
    let rights = host.rights();
    let mut asked = 0;
    let mut is_asked = async |who: &str, question: Question<'_>, is_new: bool| {
        assert!(rights.may(&user(who), question).await.unwrap());
        asked += usize::from(is_new);
        assert_eq!(host.asked(), asked, "{who} {question:?}");
    };
    is_asked("eddie", QUESTION, true).await;
    is_asked("eddie", QUESTION, false).await;
    is_asked("ada", QUESTION, true).await;
    is_asked("eddie", Question { namespace: "b", ..QUESTION }, true).await;
    advance(REMEMBERED).await;
    is_asked("eddie", QUESTION, true).await;
    rights.forget();
    is_asked("eddie", QUESTION, true).await;
}

/// What was asked before rights changed is no answer after they have.
#[tokio::test]
async fn what_is_on_its_way_is_forgotten_too() {
    let host = Host::answering(0);
    let rights = Arc::new(host.rights());
    let slow = tokio::spawn({
        let rights = rights.clone();
        async move { rights.may(&user("eddie"), QUESTION).await }
    });
    while host.asked() == 0 {
        tokio::task::yield_now().await;
    }
    rights.forget();
    host.answers.add_permits(2);
    assert!(slow.await.unwrap().unwrap());
    assert!(rights.may(&user("eddie"), QUESTION).await.unwrap());
    assert_eq!(host.asked(), 2);
}

/// Decisions 5: who came with something that narrows what they may do is someone else to ask about.
#[tokio::test]
async fn what_came_with_someone_is_part_of_the_question() {
    let host = Host::answering(10);
    let rights = host.rights();
    let with = |scope: &str| {
        let extra = BTreeMap::from([("example.dev/scopes".to_owned(), vec![scope.to_owned()])]);
        Requester { extra: Some(extra), ..user("eddie") }
    };
    for (times, who) in [(1, user("eddie")), (2, with("reading")), (3, with("all")), (3, with("reading"))] {
        assert!(rights.may(&who, QUESTION).await.unwrap());
        assert_eq!(host.asked(), times, "{who:?}");
    }
    let last = host.last.lock().unwrap().clone();
    assert!(last.contains(r#""extra":{"example.dev/scopes":["all"]}"#), "{last}");
}
