//! Clients: TLS with a choice of protocol and certificate, HTTP/1 and HTTP/2 on top.

use std::sync::{Arc, Mutex};

use bailiwick_test_host::pki::Identity;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::ResolvesClientCert;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, ProtocolVersion, RootCertStore, SignatureScheme, SupportedProtocolVersion};

use crate::server::{PATIENCE, Server};

pub(crate) type Http1 = http1::SendRequest<Empty<Bytes>>;
pub(crate) type Http2 = http2::SendRequest<Empty<Bytes>>;
/// Ends when the connection does.
pub(crate) type Connection = JoinHandle<Result<(), hyper::Error>>;

/// How to connect.
#[derive(Clone)]
pub(crate) struct Dial {
    pub(crate) alpn: &'static [u8],
    pub(crate) version: &'static SupportedProtocolVersion,
    pub(crate) shown: Arc<Shown>,
}

/// What is shown to a server that asks for a certificate, and what it asked for.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    certificate: Option<Arc<CertifiedKey>>,
    pub(crate) wanted: Mutex<Vec<Vec<u8>>>,
}

// === impl Dial ===

impl Dial {
    pub(crate) fn http1() -> Self {
        Self { alpn: b"http/1.1", version: &TLS13, shown: Arc::default() }
    }

    pub(crate) fn http2() -> Self {
        Self { alpn: b"h2", ..Self::http1() }
    }

    pub(crate) fn tls12(self) -> Self {
        Self { version: &TLS12, ..self }
    }

    pub(crate) fn showing(self, identity: &Identity) -> Self {
        self.showing_with_key(identity, &identity.key)
    }

    /// Shows a certificate, and signs with `key`, whosever that is.
    pub(crate) fn showing_with_key(self, identity: &Identity, key: &str) -> Self {
        let chain = CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let key = aws_lc_rs::default_provider().key_provider.load_private_key(key).unwrap();
        let certificate = Some(Arc::new(CertifiedKey::new(chain, key)));
        Self { shown: Arc::new(Shown { certificate, wanted: Mutex::default() }), ..self }
    }
}

impl ResolvesClientCert for Shown {
    fn resolve(&self, wanted: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        *self.wanted.lock().unwrap() = wanted.iter().map(|name| name.to_vec()).collect();
        self.certificate.clone()
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl Server {
    pub(crate) async fn dial(&self, dial: &Dial) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.certificate().as_bytes()).unwrap()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&[dial.version])
            .unwrap()
            .with_root_certificates(roots)
            .with_client_cert_resolver(dial.shown.clone());
        config.alpn_protocols = vec![dial.alpn.to_vec()];
        let socket = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, socket).await?;
        let version = stream.get_ref().1.protocol_version();
        let wanted = if dial.version == &TLS13 { ProtocolVersion::TLSv1_3 } else { ProtocolVersion::TLSv1_2 };
        assert_eq!(version, Some(wanted));
        Ok(stream)
    }

    pub(crate) async fn http1(&self) -> (Http1, Connection) {
        http1_on(self.dial(&Dial::http1()).await.unwrap()).await
    }

    pub(crate) async fn http2(&self) -> (Http2, Connection) {
        http2_on(self.dial(&Dial::http2()).await.unwrap()).await
    }
}

pub(crate) async fn http1_on(stream: TlsStream<TcpStream>) -> (Http1, Connection) {
    let (requests, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    (requests, tokio::spawn(connection))
}

pub(crate) async fn http2_on(stream: TlsStream<TcpStream>) -> (Http2, Connection) {
    let (requests, connection) =
        http2::Builder::new(TokioExecutor::new()).handshake(TokioIo::new(stream)).await.unwrap();
    (requests, tokio::spawn(connection))
}

pub(crate) fn get(path: &str) -> Request<Empty<Bytes>> {
    Request::get(format!("https://localhost{path}")).header("host", "localhost").body(Empty::new()).unwrap()
}

/// The body of a good answer.
pub(crate) async fn text(response: Result<Response<Incoming>, hyper::Error>) -> String {
    let response = response.unwrap();
    assert_eq!(response.status(), 200);
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// Everything until the server closes the connection, which it must; how politely does not matter.
pub(crate) async fn until_closed(mut stream: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut received = Vec::new();
    // A reset is an end, too.
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut received)).await.expect("closed in time");
    received
}
