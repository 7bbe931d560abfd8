//! A client of a cluster that may fall silent, as a machine does that is gone without a word. Whoever asks is told in time, and
//! goes on with a connection that leads somewhere.
//!
//! What only reads is asked again a few times, if the cluster says that it cannot answer just now: it does so for a moment when
//! kinds come and go. Nothing else is: whoever asks knows when to.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use kube::Client;
use kube::client::Body;
use tokio::time::{Sleep, sleep, timeout};
use tower_service::Service;

/// How long an answer may take to begin, and how long it may then pause: longer than a webhook of the cluster's may take, which
/// is 30 s. Watches, too, begin at once.
const ANSWER_LIMIT: Duration = Duration::from_secs(35);
/// How long a watch may be silent. kube-apiserver says how far it has come at least every 75 s. One that says nothing is begun
/// anew where it was, which costs little, so that it makes no difference whether nothing happens or nobody is there.
const WATCH_LIMIT: Duration = Duration::from_secs(90);
/// How much later than was asked for a watch may end. Whoever knows better when they have lost it is not to be told before that it ended.
const LATE_END: Duration = Duration::from_secs(2);

/// After which pauses it is asked again. Someone may wait for it who writes an object.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(50), Duration::from_millis(200), Duration::from_millis(500), Duration::from_millis(1_500)];

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why there is no answer, or no whole one.
#[derive(Debug, thiserror::Error)]
pub(super) enum Silence {
    #[error("the cluster does not answer within {} s", ANSWER_LIMIT.as_secs())]
    NoAnswer,
    #[error("the cluster's answer stopped for {} s", ANSWER_LIMIT.as_secs())]
    Unfinished,
}

/// The same client, which does not wait for ever.
pub(super) fn timely(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    Client::new(Timely(client), namespace)
}

#[derive(Clone)]
struct Timely(Client);

/// An answer whose parts come in time.
struct TimelyBody {
    body: Body,
    /// How long each part may take.
    limit: Duration,
    /// When the next one is late.
    late: Pin<Box<Sleep>>,
    is_watch: bool,
}

// === impl Timely ===

impl Service<Request<Body>> for Timely {
    type Response = Response<TimelyBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (client, is_watch) = (self.0.clone(), is_watch(request.uri()));
        let limit = if is_watch { watch_limit(request.uri()) } else { ANSWER_LIMIT };
        Box::pin(async move {
            let is_read = request.method() == Method::GET && !is_watch;
            let asking = async { if is_read { read(&client, request).await } else { client.send(request).await } };
            let answer = timeout(ANSWER_LIMIT, asking).await.map_err(|_| Silence::NoAnswer)??;
            Ok(answer.map(|body| TimelyBody { body, limit, late: Box::pin(sleep(limit)), is_watch }))
        })
    }
}

/// Asks for something until the cluster can answer, a few times.
async fn read(client: &Client, request: Request<Body>) -> kube::Result<Response<Body>> {
    let (head, _) = request.into_parts();
    for pause in PAUSES {
        let answer = client.send(Request::from_parts(head.clone(), Body::empty())).await?;
        if !matches!(answer.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            return Ok(answer);
        }
        sleep(pause).await;
    }
    client.send(Request::from_parts(head, Body::empty())).await
}

// === impl TimelyBody ===

impl HttpBody for TimelyBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            let limit = self.limit;
            self.late = Box::pin(sleep(limit));
            return Poll::Ready(frame.map(|frame| frame.map_err(BoxError::from)));
        }
        ready!(self.late.as_mut().poll(cx));
        // A watch may end at any time, and whoever watches begins another.
        Poll::Ready(if self.is_watch { None } else { Some(Err(Silence::Unfinished.into())) })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Whether a request is for what happens from now on.
fn is_watch(uri: &Uri) -> bool {
    parameters(uri).any(|(name, value)| name == "watch" && (value == "true" || value == "1"))
}

/// How long a watch may be silent. One that is to end soon is not waited for much longer.
fn watch_limit(uri: &Uri) -> Duration {
    let asked = parameters(uri).find(|(name, _)| *name == "timeoutSeconds").and_then(|(_, value)| value.parse().ok());
    asked.map_or(WATCH_LIMIT, |seconds| WATCH_LIMIT.min(Duration::from_secs(seconds).saturating_add(LATE_END)))
}

fn parameters(uri: &Uri) -> impl Iterator<Item = (&str, &str)> {
    let parameters = uri.query().unwrap_or_default().split('&');
    parameters.filter_map(|parameter| parameter.split_once('='))
}

#[cfg(test)]
mod tests;
