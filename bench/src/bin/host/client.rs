//! An administrator's connection to a server.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::Failure;

/// A connection, which can be shared.
#[derive(Clone)]
pub(crate) struct Client {
    authority: String,
    sender: SendRequest<Full<Bytes>>,
}

// === impl Client ===

impl Client {
    /// Connects as a kubeconfig says that has everything inside.
    pub(crate) async fn open(kubeconfig: &str) -> Result<Self, Failure> {
        let authority = field(kubeconfig, "server")?.trim_start_matches("https://").to_owned();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&pem(kubeconfig, "certificate-authority-data")?)?)?;
        let chain = vec![CertificateDer::from_pem_slice(&pem(kubeconfig, "client-certificate-data")?)?];
        let key = PrivateKeyDer::from_pem_slice(&pem(kubeconfig, "client-key-data")?)?;
        let mut config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        let stream = TcpStream::connect(&authority).await?;
        stream.set_nodelay(true)?;
        let connector = TlsConnector::from(Arc::new(config));
        let stream = connector.connect(ServerName::try_from("localhost")?, stream).await?;
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        // It ends with the sender; whatever goes wrong, the request that suffers tells.
        tokio::spawn(async { drop(connection.await) });
        Ok(Self { authority, sender })
    }

    /// Sends a request and reads the answer.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<(StatusCode, Bytes), Failure> {
        let request = Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.authority))
            .header("accept", "application/json")
            .header("content-type", "application/json")
            .body(Full::new(body))?;
        let mut sender = self.sender.clone();
        sender.ready().await?;
        let response = sender.send_request(request).await?;
        Ok((response.status(), response.into_body().collect().await?.to_bytes()))
    }

    /// Sends a request that must succeed.
    pub(crate) async fn expect(&self, method: Method, path: &str, body: Bytes) -> Result<(), Failure> {
        let (status, answer) = self.send(method, path, body).await?;
        if !status.is_success() {
            return Err(format!("{path}: {status} {}", String::from_utf8_lossy(&answer)).into());
        }
        Ok(())
    }

    /// Whether the server says that it is ready.
    pub(crate) async fn is_ready(&self) -> bool {
        self.send(Method::GET, "/readyz", Bytes::new()).await.is_ok_and(|(status, _)| status.is_success())
    }
}

fn pem(kubeconfig: &str, name: &str) -> Result<Vec<u8>, Failure> {
    Ok(BASE64_STANDARD.decode(field(kubeconfig, name)?)?)
}

/// The value of a field that occurs once and is a word.
fn field<'text>(kubeconfig: &'text str, name: &str) -> Result<&'text str, Failure> {
    let fields = kubeconfig.split(['\n', ',', '{', '}']).map(|field| field.trim_matches([' ', '-']));
    let mut pairs = fields.filter_map(|field| field.split_once(':'));
    let found = pairs.find(|(found, _)| found.trim_matches('"') == name);
    let (_, value) = found.ok_or_else(|| format!("the kubeconfig does not tell {name:?}"))?;
    Ok(value.trim().trim_matches('"'))
}
