//! Controllers that end at a point at which they write: the process is gone, and what it did is there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bailiwick_api::ServiceAccountRef;
use bailiwick_apiserver::InProcess;
use bailiwick_controllers::{ActAs, Asked, Clients, Requesters, UnknownRequester};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request};
use kube::Client;
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;
use tower_service::Service;

use crate::site::{Site, user};

/// Parts of paths at which nothing is written that matters: events, and questions.
const IGNORED: [&str; 2] = ["/events", "/authorization.k8s.io/"];

/// A way to the server that ends after some writes: the one after them is not answered any more.
#[derive(Clone)]
pub(crate) struct Brittle {
    way: InProcess,
    /// How many more writes are answered.
    left: Arc<AtomicUsize>,
    end: End,
    ended: Arc<Notify>,
}

/// Where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Before the write reaches the server.
    Before,
    /// After, so that it has happened.
    After,
}

/// Who is everyone at once: what accounts may do is tested elsewhere.
struct Everyone(Client);

// === impl Brittle ===

impl<B: Send + 'static> Service<Request<B>> for Brittle
where
    InProcess: Service<Request<B>>,
    <InProcess as Service<Request<B>>>::Future: Send + 'static,
    <InProcess as Service<Request<B>>>::Response: Send,
    <InProcess as Service<Request<B>>>::Error: Send,
{
    type Response = <InProcess as Service<Request<B>>>::Response;
    type Error = <InProcess as Service<Request<B>>>::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.way.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let is_write =
            request.method() != Method::GET && !IGNORED.iter().any(|part| request.uri().path().contains(part));
        let is_last = is_write
            && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err();
        let (ended, end) = (self.ended.clone(), self.end);
        if is_last && end == End::Before {
            ended.notify_one();
            return Box::pin(std::future::pending());
        }
        let answer = self.way.call(request);
        Box::pin(async move {
            let answer = answer.await;
            if is_last {
                ended.notify_one();
                std::future::pending::<()>().await;
            }
            answer
        })
    }
}

impl ActAs for Everyone {
    fn client(&self, _: &ServiceAccountRef) -> Client {
        self.0.clone()
    }
}

// === impl Site ===

impl Site {
    /// A client that ends after so many writes, and who is told of it.
    pub(crate) fn brittle(&self, writes: usize, end: End) -> (Client, Arc<Notify>) {
        let ended = Arc::new(Notify::new());
        let way = InProcess::new(self.server.clone(), user());
        let left = Arc::new(AtomicUsize::new(writes));
        (Client::new(Brittle { way, left, end, ended: ended.clone() }, "default"), ended)
    }

    /// A controller that does everything with this client.
    pub(crate) fn start<R: Future<Output = ()> + Send + 'static>(
        client: Client,
        run: impl Fn(Clients) -> R,
    ) -> AbortOnDropHandle<()> {
        AbortOnDropHandle::new(tokio::spawn(run(everyone(client))))
    }

    /// Runs a controller that ends after so many writes. Whether it has come so far before this was so.
    pub(crate) async fn run_brittle<R: Future<Output = ()> + Send + 'static>(
        &self,
        run: impl Fn(Clients) -> R,
        (writes, end): (usize, End),
        until: impl Future<Output = ()>,
    ) -> bool {
        let (client, ended) = self.brittle(writes, end);
        let _controller = Self::start(client, run);
        tokio::select! {
            () = ended.notified() => true,
            () = until => false,
        }
    }
}

/// One client for everything.
pub(crate) fn everyone(client: Client) -> Clients {
    let requesters = Arc::new(NothingMore);
    Clients { own: client.clone(), host: client.clone(), act_as: Arc::new(Everyone(client)), requesters }
}

/// Nothing came with anyone.
struct NothingMore;

impl Requesters for NothingMore {
    fn extra<'a>(&'a self, _: Asked<'a>) -> BoxFuture<'a, Result<BTreeMap<String, Vec<String>>, UnknownRequester>> {
        std::future::ready(Ok(BTreeMap::new())).boxed()
    }
}
