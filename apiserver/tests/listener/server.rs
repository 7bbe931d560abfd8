//! A listener with a handler that misbehaves on request.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bailiwick_apiserver::{CloseConnection, FinishBy, Handler, Listener, ListenerOptions, Peer, Tls, TlsFiles};
use bailiwick_test_host::pki::{Authority, Identity};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, channel::Channel};
use hyper::body::{Body, Frame, Incoming};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A time that a test can afford to wait for, and that no scheduler makes longer by much.
pub(crate) const SHORT: Duration = Duration::from_millis(500);
/// After this, what was to happen did not happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running listener.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Arc<Tls>,
    /// Signs the serving certificate.
    pub(crate) authority: Authority,
    /// Signs those of clients.
    pub(crate) clients: Authority,
    pub(crate) counters: Arc<Counters>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) task: JoinHandle<()>,
    folder: TempDir,
}

/// What the handler has under way.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) requests: AtomicUsize,
    pub(crate) endless_bodies: AtomicUsize,
}

/// Answers by path.
struct Misbehaving(Arc<Counters>);

/// A body without end, as fast as it is taken.
struct Endless(Arc<Counters>);

struct Counted<'c>(&'c AtomicUsize);

// === impl Server ===

impl Server {
    pub(crate) async fn start(options: ListenerOptions) -> Self {
        let (authority, clients) = (Authority::new("serving").unwrap(), Authority::new("clients").unwrap());
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("client-ca.crt"), clients.certificate()).unwrap();
        write_identity(&folder, &authority.server("first", &[]).unwrap());
        let files = TlsFiles {
            certificate: folder.path().join("tls.crt"),
            key: folder.path().join("tls.key"),
            client_ca: Some(folder.path().join("client-ca.crt")),
            request_header_ca: None,
        };
        let tls = Arc::new(Tls::load(&files).unwrap());
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = Listener::bind(address, tls.clone(), options).await.unwrap();
        let (address, shutdown) = (listener.address(), CancellationToken::new());
        let counters = Arc::new(Counters::default());
        let task = tokio::spawn(listener.run(Misbehaving(counters.clone()), shutdown.clone()));
        Self { address, tls, authority, clients, counters, shutdown, task, folder }
    }

    /// Where a file of the server lies.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Replaces the serving certificate.
    pub(crate) fn rotate(&self, identity: &Identity) {
        write_identity(&self.folder, identity);
    }
}

/// Options under which nothing ends by itself while a test of something else lasts.
pub(crate) fn patient() -> ListenerOptions {
    ListenerOptions {
        handshake_timeout: PATIENCE,
        header_read_timeout: PATIENCE,
        write_stall: PATIENCE,
        shutdown_grace: PATIENCE,
        certificate_poll: Duration::from_millis(50),
        ..ListenerOptions::default()
    }
}

/// Options under which waiting is short.
pub(crate) fn impatient() -> ListenerOptions {
    ListenerOptions { handshake_timeout: SHORT, header_read_timeout: SHORT, write_stall: SHORT, ..patient() }
}

/// Waits for what is to come true.
pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

fn write_identity(folder: &TempDir, identity: &Identity) {
    std::fs::write(folder.path().join("tls.crt"), &identity.certificate).unwrap();
    std::fs::write(folder.path().join("tls.key"), &identity.key).unwrap();
}

// === impl Misbehaving ===

impl Handler for Misbehaving {
    type Body = UnsyncBoxBody<Bytes, Infallible>;

    async fn handle(&self, request: Request<Incoming>, peer: &Arc<Peer>) -> Response<Self::Body> {
        let _counted = Counted::new(&self.0.requests);
        match request.uri().path() {
            "/certificates" => text(format!("{}", peer.certificates().len())),
            "/count" => {
                let before = peer.finding::<usize>().map_or(0, |count| *count);
                peer.remember(Arc::new(before + 1));
                text(format!("{before}"))
            }
            "/close" => {
                let mut response = text("closing".to_owned());
                response.extensions_mut().insert(CloseConnection);
                response
            }
            "/slow" => {
                tokio::time::sleep(4 * SHORT).await;
                text("slow".to_owned())
            }
            "/never" => std::future::pending().await,
            "/large" => text("x".repeat(3 << 20)),
            "/endless" => {
                self.0.endless_bodies.fetch_add(1, Ordering::SeqCst);
                Response::new(Endless(self.0.clone()).boxed_unsync())
            }
            "/endless-for-a-while" => {
                self.0.endless_bodies.fetch_add(1, Ordering::SeqCst);
                let mut response = Response::new(Endless(self.0.clone()).boxed_unsync());
                response.extensions_mut().insert(FinishBy(Instant::now() + SHORT));
                response
            }
            "/pauses" => {
                let (mut sender, body) = Channel::<Bytes, Infallible>::new(1);
                tokio::spawn(async move {
                    sender.send_data(Bytes::from_static(b"before ")).await.unwrap();
                    tokio::time::sleep(3 * SHORT).await;
                    sender.send_data(Bytes::from_static(b"after")).await.unwrap();
                });
                Response::new(body.boxed_unsync())
            }
            "/panic" => panic!("asked for"),
            _ => text(format!("{:?}", request.version())),
        }
    }
}

fn text(text: String) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
    Response::new(Full::new(Bytes::from(text)).boxed_unsync())
}

// === impl Endless ===

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        static CHUNK: [u8; 256 << 10] = [0; 256 << 10];
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&CHUNK)))))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.0.endless_bodies.fetch_sub(1, Ordering::SeqCst);
    }
}

// === impl Counted ===

impl<'c> Counted<'c> {
    fn new(count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
