//! An HTTP client that does as it is told and nothing more: no retries, no limits, no opinion.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::process::{PATIENCE, Server};

pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const YAML: &str = "application/yaml";

/// What is sent.
pub(crate) type Outgoing = UnsyncBoxBody<Bytes, Infallible>;

/// A server, and how to be let in as its administrator, or not.
#[derive(Clone)]
pub(crate) struct Endpoint {
    address: SocketAddr,
    http1: TlsConnector,
    http2: TlsConnector,
}

/// Who a client is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Identity {
    Administrator,
    /// Someone without a certificate.
    Stranger,
}

/// An HTTP/2 connection, shared by its clones.
#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    sender: http2::SendRequest<Outgoing>,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Bytes,
}

/// The events of a watch.
pub(crate) struct Events {
    body: Incoming,
    buffer: BytesMut,
}

/// Why there is no answer. Whether the server acted on the request is not known.
#[derive(Debug)]
pub(crate) struct Unanswered(String);

// === impl Endpoint ===

impl Endpoint {
    pub(crate) fn of(server: &Server) -> Self {
        Self::new(server, Identity::Administrator)
    }

    /// Without a certificate.
    pub(crate) fn of_stranger(server: &Server) -> Self {
        Self::new(server, Identity::Stranger)
    }

    /// Some other server, whose certificate this authority signed, with a certificate and its key, or as nobody. PEM, all.
    pub(crate) fn at(address: SocketAddr, ca: &str, identity: Option<(&str, &str)>) -> Self {
        let connector = |protocol| connector(ca, protocol, identity);
        Self { address, http1: connector(b"http/1.1"), http2: connector(b"h2") }
    }

    fn new(server: &Server, identity: Identity) -> Self {
        let read = |name: &str| std::fs::read_to_string(server.data.join("pki").join(name)).unwrap();
        let administrator = (read("admin.crt"), read("admin.key"));
        let identity = (identity == Identity::Administrator).then_some((&*administrator.0, &*administrator.1));
        Self::at(server.address(), &read("ca.crt"), identity)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) async fn connect(&self) -> Result<Client, Unanswered> {
        self.connect_with(None).await
    }

    /// With no more room for what the server sends than this, if it is given: on the stream and on the socket.
    pub(crate) async fn connect_with(&self, room: Option<u32>) -> Result<Client, Unanswered> {
        let socket = TcpSocket::new_v4().map_err(Unanswered::new)?;
        if let Some(room) = room {
            socket.set_recv_buffer_size(room).map_err(Unanswered::new)?;
        }
        let stream = socket.connect(self.address).await.map_err(Unanswered::new)?;
        let stream = handshake(&self.http2, self.address, stream).await?;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        if let Some(room) = room {
            builder.initial_stream_window_size(room).initial_connection_window_size(room);
        }
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(Unanswered::new)?;
        // It ends with the last sender; whatever goes wrong, the request that suffers tells.
        tokio::spawn(async { drop(connection.await) });
        Ok(Client { address: self.address, sender })
    }

    /// A connection on which anything can be written: the server takes it for HTTP/1.
    pub(crate) async fn raw(&self) -> Result<TlsStream<TcpStream>, Unanswered> {
        let stream = TcpStream::connect(self.address).await.map_err(Unanswered::new)?;
        handshake(&self.http1, self.address, stream).await
    }

    /// The same, and the server takes it for HTTP/2.
    pub(crate) async fn raw_http2(&self) -> Result<TlsStream<TcpStream>, Unanswered> {
        let stream = TcpStream::connect(self.address).await.map_err(Unanswered::new)?;
        handshake(&self.http2, self.address, stream).await
    }
}

fn connector(ca: &str, protocol: &[u8], identity: Option<(&str, &str)>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    config.alpn_protocols = vec![protocol.to_vec()];
    Arc::new(config).into()
}

async fn handshake(
    connector: &TlsConnector,
    address: SocketAddr,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, Unanswered> {
    stream.set_nodelay(true).map_err(Unanswered::new)?;
    connector.connect(ServerName::from(address.ip()), stream).await.map_err(Unanswered::new)
}

// === impl Client ===

impl Client {
    /// Whether the server takes more requests here.
    pub(crate) async fn is_open(&self) -> bool {
        self.sender.clone().ready().await.is_ok()
    }

    /// Sends a request, and gives the answer once its head is there.
    pub(crate) async fn open(&self, mut request: Request<Outgoing>) -> Result<Response<Incoming>, Unanswered> {
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned();
        *request.uri_mut() = format!("https://{}{target}", self.address).parse().map_err(Unanswered::new)?;
        let mut sender = self.sender.clone();
        sender.ready().await.map_err(Unanswered::new)?;
        sender.send_request(request).await.map_err(Unanswered::new)
    }

    /// Sends a request, and reads the whole answer.
    pub(crate) async fn send(&self, request: Request<Outgoing>) -> Result<Answer, Unanswered> {
        let exchange = async { Answer::read(self.open(request).await?).await };
        timeout(PATIENCE, exchange).await.unwrap_or_else(|_| Err(Unanswered("no answer in time".to_owned())))
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Answer, Unanswered> {
        self.send(request(Method::GET, path, "", Bytes::new())).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Answer, Unanswered> {
        self.send(request(Method::DELETE, path, "", Bytes::new())).await
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> Result<Answer, Unanswered> {
        self.send(request(Method::POST, path, JSON, object.to_string().into())).await
    }

    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Result<Answer, Unanswered> {
        self.send(request(Method::PATCH, path, MERGE_PATCH, patch.to_string().into())).await
    }

    /// Begins a watch, which the server must grant.
    pub(crate) async fn watch(&self, path_and_query: &str) -> Result<Events, Unanswered> {
        let response = self.open(request(Method::GET, path_and_query, "", Bytes::new())).await?;
        if response.status() != 200 {
            let answer = Answer::read(response).await?;
            return Err(Unanswered(format!("{path_and_query}: {} {}", answer.code, answer.text())));
        }
        Ok(Events { body: response.into_body(), buffer: BytesMut::new() })
    }
}

/// A request with a body.
pub(crate) fn request(method: Method, path: &str, content_type: &str, body: Bytes) -> Request<Outgoing> {
    let mut request = Request::builder().method(method).uri(path);
    if !content_type.is_empty() {
        request = request.header(CONTENT_TYPE, content_type);
    }
    request.body(Full::new(body).boxed_unsync()).unwrap()
}

// === impl Answer ===

impl Answer {
    pub(crate) async fn read(response: Response<Incoming>) -> Result<Self, Unanswered> {
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(Unanswered::new)?.to_bytes();
        Ok(Self { code: head.status.as_u16(), body })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The object, if the code is the one expected.
    #[track_caller]
    pub(crate) fn expect(&self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", self.text());
        self.json()
    }

    /// The version of the object or list.
    pub(crate) fn revision(&self) -> u64 {
        revision(&self.json())
    }
}

/// The version of an object or list.
pub(crate) fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_else(|| panic!("no version in {object}")).parse().unwrap()
}

// === impl Events ===

impl Events {
    /// The next event; none at a proper end.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, Unanswered> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end + 1);
                return serde_json::from_slice(&line).map(Some).map_err(Unanswered::new);
            }
            match self.body.frame().await {
                None if self.buffer.is_empty() => return Ok(None),
                None => return Err(Unanswered("the stream ended inside an event".to_owned())),
                Some(frame) => {
                    let frame = frame.map_err(Unanswered::new)?;
                    if let Some(data) = frame.data_ref() {
                        self.buffer.extend_from_slice(data);
                    }
                }
            }
        }
    }

    /// The next event, which must come soon.
    pub(crate) async fn soon(&mut self) -> Value {
        let next = timeout(Duration::from_secs(20), self.next()).await.expect("an event in time");
        next.unwrap().expect("an event, not the end")
    }
}

// === impl Unanswered ===

impl Unanswered {
    pub(crate) fn new(error: impl fmt::Display + fmt::Debug) -> Self {
        Self(format!("{error}: {error:?}"))
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
