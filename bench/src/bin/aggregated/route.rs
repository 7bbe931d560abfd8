//! One way to one object.

use std::time::{Duration, Instant};

use bailiwick_test_host::pki::Identity;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::Failure;

/// A connection, and what is asked for on it.
pub(crate) struct Route {
    name: &'static str,
    uri: String,
    sender: SendRequest<Empty<Bytes>>,
}

// === impl Route ===

impl Route {
    /// Connects to `host:port`, as a user.
    pub(crate) async fn open(
        name: &'static str,
        authority: &str,
        ca: &str,
        user: &Identity,
        path: &str,
    ) -> Result<Self, Failure> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca.as_bytes())?)?;
        let chain = vec![CertificateDer::from_pem_slice(user.certificate.as_bytes())?];
        let key = PrivateKeyDer::from_pem_slice(user.key.as_bytes())?;
        let mut config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        let stream = TcpStream::connect(authority).await?;
        stream.set_nodelay(true)?;
        let connector = TlsConnector::from(std::sync::Arc::new(config));
        let stream = connector.connect(ServerName::try_from("localhost")?, stream).await?;
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        // It ends with the sender; whatever goes wrong, the request that suffers tells.
        tokio::spawn(async { drop(connection.await) });
        Ok(Self { name, uri: format!("https://{authority}{path}"), sender })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// How long a request takes, the median of so many.
    pub(crate) async fn measure(&mut self, requests: usize) -> Result<Duration, Failure> {
        let mut times = Vec::with_capacity(requests);
        for _ in 0..requests {
            let request = Request::get(&self.uri).header("accept", "application/json").body(Empty::new())?;
            let began = Instant::now();
            self.sender.ready().await?;
            let response = self.sender.send_request(request).await?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            times.push(began.elapsed());
            if !status.is_success() {
                return Err(format!("{}: {status} {}", self.name, String::from_utf8_lossy(&body)).into());
            }
        }
        Ok(crate::median(&mut times))
    }
}
