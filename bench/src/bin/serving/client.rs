//! The client that loads every server in the same way: HTTP/2 over TLS with a client certificate, on several connections.
//!
//! HTTP/2 because client-go speaks it, so that what framing costs a server is counted; several connections because many
//! processes call an API server, and a server that handles one connection in one thread would be measured by that thread.
//! Answers are read to their end and dropped. They are not asked to be compressed: for a client on a fast network that is the
//! better setting, and it would measure gzip.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, InvalidDnsNameError, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::error::Error;

/// Both as Go's client sets them: a large list is not slowed down by waiting for its reader's permission.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 1 << 30;

/// How much of a refusal is shown.
const SHOWN_BYTES: usize = 1_000;

/// What a load sends.
pub(crate) type Outgoing = Request<Full<Bytes>>;

/// A client's certificate, and whom it trusts; all PEM.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub(crate) ca: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Where a server listens, and how to be let in.
#[derive(Clone)]
pub(crate) struct Endpoint {
    /// `host:port`, as in URLs.
    pub(crate) authority: String,
    name: ServerName<'static>,
    tls: TlsConnector,
}

/// A connection, shared by its clones.
#[derive(Clone)]
pub(crate) struct Client {
    sender: http2::SendRequest<Full<Bytes>>,
}

// === impl Endpoint ===

impl Endpoint {
    /// A server at `authority`, which is `host:port`.
    pub(crate) fn new(authority: String, credentials: &Credentials) -> Result<Self, Error> {
        let pem = |source| Error::Pem { server: authority.clone(), source };
        let tls = |source| Error::Tls { server: authority.clone(), source };
        let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name =
            name.map_err(|error: InvalidDnsNameError| tls(tokio_rustls::rustls::Error::General(error.to_string())))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(credentials.ca.as_bytes()) {
            roots.add(certificate.map_err(pem)?).map_err(tls)?;
        }
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(credentials.certificate.as_bytes()).collect();
        let key = PrivateKeyDer::from_pem_slice(credentials.key.as_bytes()).map_err(pem)?;
        let mut config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()
            .map_err(tls)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain.map_err(pem)?, key)
            .map_err(tls)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self { name, tls: Arc::new(config).into(), authority })
    }

    /// Opens so many connections.
    pub(crate) async fn connect(&self, count: usize) -> Result<Vec<Client>, Error> {
        let mut clients = Vec::with_capacity(count);
        for _ in 0..count {
            clients.push(self.connect_one().await?);
        }
        Ok(clients)
    }

    async fn connect_one(&self) -> Result<Client, Error> {
        let failed = |source| Error::Connect { address: self.authority.clone(), source };
        let stream = TcpStream::connect(&self.authority).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let stream = self.tls.connect(self.name.clone(), stream).await.map_err(failed)?;
        let handshake = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(TokioIo::new(stream));
        let (sender, connection) =
            handshake.await.map_err(|source| Error::Http { uri: self.authority.clone(), source })?;
        // It ends with the last sender; whatever goes wrong, the request that suffers tells.
        tokio::spawn(async { drop(connection.await) });
        Ok(Client { sender })
    }
}

// === impl Client ===

impl Client {
    /// Sends a request and reads the answer to its end. Gives the length of its body.
    pub(crate) async fn exchange(&mut self, request: Outgoing) -> Result<usize, Error> {
        let uri = request.uri().clone();
        let mut body = self.open(request).await?.into_body();
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|source| Error::Http { uri: uri.to_string(), source })?;
            length += frame.data_ref().map_or(0, Bytes::len);
        }
        Ok(length)
    }

    /// Sends a request and gives the answer's body.
    pub(crate) async fn fetch(&mut self, request: Outgoing) -> Result<Bytes, Error> {
        let uri = request.uri().clone();
        let body = self.open(request).await?.into_body();
        let failed = |source| Error::Http { uri: uri.to_string(), source };
        Ok(body.collect().await.map_err(failed)?.to_bytes())
    }

    /// Sends a request and gives the answer once its head is there. One that is no success is an error.
    pub(crate) async fn open(&mut self, request: Outgoing) -> Result<Response<Incoming>, Error> {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let failed = |source| Error::Http { uri: uri.to_string(), source };
        let response = self.sender.send_request(request).await.map_err(failed)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let answer = response.into_body().collect().await.map_err(failed)?.to_bytes();
        let answer = String::from_utf8_lossy(&answer[..answer.len().min(SHOWN_BYTES)]).into_owned();
        Err(Error::Refused { method: method.to_string(), uri: uri.to_string(), status, answer })
    }
}
