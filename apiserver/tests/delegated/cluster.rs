//! A cluster that answers as it is told to.

use std::collections::BTreeSet;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower_service::Service;

/// Where a redirect leads.
const ELSEWHERE: &str = "https://elsewhere.example/review";

/// How it answers.
#[derive(Clone)]
pub(crate) enum Behaviour {
    /// With this status of the review.
    Status(Value),
    /// With this object, whatever was asked.
    Object(Value),
    /// With this object, and with nothing to whoever watches.
    Unchanging(Value),
    /// With this code.
    Code(u16),
    /// With something else than a review.
    Garbage,
    /// Not at all.
    Silence,
    /// There is nobody.
    Refusal,
    /// The connection breaks.
    Reset,
    /// With this status of the review, after a while.
    Slow(Duration, Value),
    /// By pointing elsewhere with this code; who goes there is answered with this status of the review.
    Redirect(u16, Value),
    /// The first so many times with 503, and then with this status.
    Later(usize, Value),
}

/// The cluster.
#[derive(Clone)]
pub(crate) struct Cluster(Arc<Inner>);

struct Inner {
    behaviour: Mutex<Behaviour>,
    /// The names of all headers that it was sent.
    headers: Mutex<BTreeSet<String>>,
    /// What it was asked last.
    question: Mutex<Value>,
    /// Where that was asked.
    address: Mutex<String>,
    asked: AtomicUsize,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
}

/// Counts a question until it is answered or given up.
struct UnderWay(Arc<Inner>);

// === impl Cluster ===

impl Cluster {
    pub(crate) fn new(behaviour: Behaviour) -> Self {
        Self(Arc::new(Inner {
            behaviour: Mutex::new(behaviour),
            headers: Mutex::default(),
            question: Mutex::default(),
            address: Mutex::default(),
            asked: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
        }))
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.clone(), "default")
    }

    /// From now on.
    pub(crate) fn behave(&self, behaviour: Behaviour) {
        *self.0.behaviour.lock().unwrap() = behaviour;
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.0.asked.load(Ordering::SeqCst)
    }

    /// What it was asked last: the spec of the review.
    pub(crate) fn question(&self) -> Value {
        self.0.question.lock().unwrap().clone()
    }

    /// Where it was asked last: the path, and what stands behind it.
    pub(crate) fn address(&self) -> String {
        self.0.address.lock().unwrap().clone()
    }

    /// The names of all headers that it was sent.
    pub(crate) fn headers(&self) -> BTreeSet<String> {
        self.0.headers.lock().unwrap().clone()
    }

    /// How many questions there were at once.
    pub(crate) fn most_under_way(&self) -> usize {
        self.0.most_under_way.load(Ordering::SeqCst)
    }
}

impl Service<Request<Body>> for Cluster {
    type Response = Response<Full<Bytes>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Full<Bytes>>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let inner = self.0.clone();
        Box::pin(async move {
            let number = inner.asked.fetch_add(1, Ordering::SeqCst);
            let under_way = inner.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            inner.most_under_way.fetch_max(under_way, Ordering::SeqCst);
            let _under_way = UnderWay(inner.clone());
            let behaviour = inner.behaviour.lock().unwrap().clone();
            inner.headers.lock().unwrap().extend(request.headers().keys().map(ToString::to_string));
            let address = request.uri().to_string();
            inner.address.lock().unwrap().clone_from(&address);
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let mut review: Value = serde_json::from_slice(&body).unwrap_or_default();
            *inner.question.lock().unwrap() = review["spec"].clone();
            let answer = |code: u16, text: String| Ok(Response::builder().status(code).body(Full::from(text)).unwrap());
            let failed = |code: u16| {
                answer(
                    code,
                    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "no"})
                        .to_string(),
                )
            };
            match behaviour {
                Behaviour::Later(times, _) if number < times => failed(503),
                Behaviour::Status(status) | Behaviour::Later(_, status) => {
                    review["status"] = status;
                    answer(201, review.to_string())
                }
                Behaviour::Slow(pause, status) => {
                    tokio::time::sleep(pause).await;
                    review["status"] = status;
                    answer(201, review.to_string())
                }
                Behaviour::Redirect(_, status) if address.contains(ELSEWHERE) => {
                    review["status"] = status;
                    answer(201, review.to_string())
                }
                Behaviour::Redirect(code, _) => {
                    let redirect = Response::builder().status(code).header(LOCATION, ELSEWHERE);
                    Ok(redirect.body(Full::from(format!("<a href=\"{ELSEWHERE}\">Moved</a>.\n"))).unwrap())
                }
                Behaviour::Unchanging(_) if is_watch => std::future::pending().await,
                Behaviour::Object(object) | Behaviour::Unchanging(object) => answer(200, object.to_string()),
                Behaviour::Code(code) => failed(code),
                Behaviour::Garbage => answer(201, "<html>".to_owned()),
                Behaviour::Silence => std::future::pending().await,
                Behaviour::Refusal => Err(io::ErrorKind::ConnectionRefused.into()),
                Behaviour::Reset => Err(io::ErrorKind::ConnectionReset.into()),
            }
        })
    }
}

// === impl UnderWay ===

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}
