//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::activity::{Activity, InFlight, Then};
use super::answer::Answer;
use super::handler::{CloseConnection, FinishBy, Handler};
use super::options::ListenerOptions;
use super::peer::Peer;
use super::socket::{Noting, StallGuard, notice_its_end};
use super::stream::{Progress, StreamExecutor};
use crate::audit::Source;
use crate::metrics::Metrics;
use crate::tls::Tls;

/// What someone who speaks HTTP to a port that speaks HTTPS is told, in Go's words.
const NOT_TLS: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\nConnection: close\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// What all connections share.
pub(super) struct Shared<H> {
    pub(super) handler: H,
    pub(super) tls: Arc<Tls>,
    pub(super) options: ListenerOptions,
    pub(super) metrics: Arc<Metrics>,
    /// Everything that runs for a connection.
    pub(super) tasks: TaskTracker,
    /// No more requests are wanted.
    pub(super) closing: CancellationToken,
    /// Nothing is waited for any longer.
    pub(super) abort: CancellationToken,
}

/// What the requests of a connection share.
struct Connection<H> {
    shared: Arc<Shared<H>>,
    peer: Arc<Peer>,
    activity: Arc<Activity>,
    closing: CancellationToken,
}

/// Why a connection ended before its time. Clients cause all of these, so none is worth more than a debugging line.
#[derive(Debug, thiserror::Error)]
enum ConnectionError {
    #[error("the TLS handshake took too long")]
    HandshakeTimeout,
    #[error("the client does not speak TLS")]
    NotTls,
    #[error("the TLS handshake failed: {0}")]
    Handshake(#[source] io::Error),
    #[error("no request came in time")]
    RequestTimeout,
    #[error("the connection broke: {0}")]
    Broken(#[source] hyper::Error),
}

/// Serves a connection until it ends, or everything does.
pub(super) async fn serve<H: Handler>(shared: Arc<Shared<H>>, socket: TcpStream, address: SocketAddr) {
    let abort = shared.abort.clone();
    match abort.run_until_cancelled(converse(shared, socket, address)).await {
        Some(Ok(())) => {}
        Some(Err(error)) => tracing::debug!(%address, %error, "a connection ended"),
        None => tracing::debug!(%address, "gave up a connection with requests under way"),
    }
}

async fn converse<H: Handler>(
    shared: Arc<Shared<H>>,
    socket: TcpStream,
    address: SocketAddr,
) -> Result<(), ConnectionError> {
    let shaking = timeout(shared.options.handshake_timeout, handshake(&shared, socket));
    // Who has not even introduced itself loses nothing.
    let Some(outcome) = shared.closing.run_until_cancelled(shaking).await else { return Ok(()) };
    let stream = outcome.unwrap_or(Err(ConnectionError::HandshakeTimeout)).inspect_err(|_| {
        shared.metrics.tls_handshake_errors.add(1);
    })?;

    let session = stream.get_ref().1;
    let certificates = session.peer_certificates().unwrap_or_default();
    let peer = Peer::new(address, certificates.iter().map(|certificate| certificate.clone().into_owned()).collect());
    let is_http2 = session.alpn_protocol() == Some(b"h2");
    let connection = Arc::new(Connection {
        peer: Arc::new(peer),
        activity: Activity::new(shared.options),
        closing: shared.closing.child_token(),
        shared,
    });
    if is_http2 { connection.serve_http2(stream).await } else { connection.serve_http1(stream).await }
}

async fn handshake<H>(
    shared: &Shared<H>,
    mut socket: TcpStream,
) -> Result<TlsStream<StallGuard<TcpStream>>, ConnectionError> {
    // Otherwise small answers wait for the acknowledgement of what went before.
    socket.set_nodelay(true).map_err(ConnectionError::Handshake)?;
    notice_its_end(&socket, &shared.options).map_err(ConnectionError::Handshake)?;
    let mut first = [0];
    socket.peek(&mut first).await.map_err(ConnectionError::Handshake)?;
    // Methods begin with a letter, TLS never does.
    if first[0].is_ascii_uppercase() {
        socket.write_all(NOT_TLS).await.map_err(ConnectionError::Handshake)?;
        return Err(ConnectionError::NotTls);
    }
    let socket = StallGuard::new(socket, shared.options.write_stall);
    TlsAcceptor::from(shared.tls.config()).accept(socket).await.map_err(ConnectionError::Handshake)
}

// === impl Connection ===

impl<H: Handler> Connection<H> {
    async fn serve_http1(self: Arc<Self>, stream: TlsStream<StallGuard<TcpStream>>) -> Result<(), ConnectionError> {
        let limits = self.shared.options.http;
        let header_bytes = limits.max_header_bytes as usize;
        let stream = TokioIo::new(Noting::new(stream, Some(self.activity.clone())));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            // Counted by `Activity`, which tells a slow head from a connection that is merely idle.
            .header_read_timeout(None)
            .max_headers(limits.max_headers)
            .max_header_size(header_bytes)
            // Also the bound of a head without end, so it must have room for the largest one.
            .max_buf_size((2 * header_bytes).max(16 << 10))
            .serve_connection(stream, service_fn(|request| self.answer(request)));
        self.supervise(connection).await
    }

    async fn serve_http2(self: Arc<Self>, stream: TlsStream<StallGuard<TcpStream>>) -> Result<(), ConnectionError> {
        let options = self.shared.options;
        let limits = options.http;
        let streams = StreamExecutor::new(self.shared.tasks.clone(), options.write_stall);
        let connection = http2::Builder::new(streams)
            .timer(TokioTimer::new())
            .max_concurrent_streams(limits.max_concurrent_streams)
            .max_header_list_size(limits.max_header_bytes)
            .initial_stream_window_size(limits.stream_window_bytes)
            .initial_connection_window_size(limits.connection_window_bytes)
            .max_send_buf_size(limits.send_buffer_bytes)
            .max_pending_accept_reset_streams(limits.max_pending_accept_reset_streams)
            .max_local_error_reset_streams(limits.max_local_error_reset_streams)
            .keep_alive_interval(options.ping_interval)
            .keep_alive_timeout(options.ping_timeout)
            .serve_connection(TokioIo::new(Noting::new(stream, None)), service_fn(|request| self.answer(request)));
        self.supervise(connection).await
    }

    /// Counts the request at once, and answers it in its own time.
    fn answer(
        self: &Arc<Self>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Answer<H::Body>>, Infallible>> + Send + use<H> {
        let (connection, in_flight) = (self.clone(), self.activity.begin());
        async move { Ok(connection.answer_counted(request, in_flight).await) }
    }

    async fn answer_counted(&self, mut request: Request<Incoming>, in_flight: InFlight) -> Response<Answer<H::Body>> {
        let version = request.version();
        let progress = Progress::of_this_stream();
        // HTTP/2 bounds their bytes only.
        if request.headers().len() > self.shared.options.http.max_headers {
            let mut response = Response::new(Answer::new(None, in_flight, progress));
            *response.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
            return response;
        }
        request.extensions_mut().insert(Source { address: self.peer.address().ip(), is_front_proxy: false });
        let mut response = self.shared.handler.handle(request, &self.peer).await;
        let finish_by = response.extensions_mut().remove::<FinishBy>();
        let closes = response.extensions_mut().remove::<CloseConnection>().is_some();
        if closes && version <= Version::HTTP_11 {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let goodbye = closes.then(|| self.closing.clone().drop_guard());
        response.map(|body| Answer::new(Some(body), in_flight, progress).finish_by(finish_by).then(goodbye))
    }

    /// Drives a connection, and ends it when it is asked to or has nothing to do for too long.
    async fn supervise<C>(&self, connection: C) -> Result<(), ConnectionError>
    where
        C: GracefulConnection<Error = hyper::Error>,
    {
        let mut connection = pin!(connection);
        let mut closing = pin!(self.closing.cancelled());
        let mut timer = pin!(sleep_until(Instant::now() + self.shared.options.header_read_timeout));
        let mut said_goodbye = false;
        poll_fn(|cx| {
            if !said_goodbye && closing.as_mut().poll(cx).is_ready() {
                // What is answered goes first.
                if let Poll::Ready(outcome) = connection.as_mut().poll(cx) {
                    return Poll::Ready(outcome.map_err(ConnectionError::Broken));
                }
                said_goodbye = true;
                self.activity.closing();
                connection.as_mut().graceful_shutdown();
            }
            loop {
                if let Poll::Ready(outcome) = connection.as_mut().poll(cx) {
                    return Poll::Ready(outcome.map_err(ConnectionError::Broken));
                }
                // Requests under way have no deadline here. Their end is seen when it is written, or at the next ping.
                let Some(deadline) = self.activity.deadline() else { return Poll::Pending };
                // A deadline that moved away is found out when the timer fires: cheaper than moving it each time.
                if deadline.at < timer.deadline() || timer.is_elapsed() {
                    timer.as_mut().reset(deadline.at);
                }
                if timer.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                if Instant::now() < deadline.at {
                    continue;
                }
                match deadline.then {
                    Then::Drop => return Poll::Ready(Err(ConnectionError::RequestTimeout)),
                    Then::Close => {
                        said_goodbye = true;
                        self.activity.closing();
                        connection.as_mut().graceful_shutdown();
                    }
                }
            }
        })
        .await
    }
}
