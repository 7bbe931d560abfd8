//! One HTTP GET to a loopback port: enough to ask a peer for its health and its metrics.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::error::Error;
use crate::pki::Identity;

/// A paused peer accepts connections and never answers.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// etcd's metrics are about 100 KiB.
const ANSWER_BYTES: u64 = 4 << 20;

/// For peers that have only one way to answer.
pub(crate) const ANYTHING: &str = "*/*";

/// An answer, whatever its status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// What it takes to speak to a peer that serves TLS.
#[derive(Clone)]
pub struct Tls(TlsConnector);

pub(crate) async fn get(address: SocketAddr, path: &str) -> io::Result<Answer> {
    let ask = async { exchange(TcpStream::connect(address).await?, address, path, ANYTHING).await };
    timeout(ANSWER_LIMIT, ask).await?
}

pub(crate) async fn get_tls(address: SocketAddr, tls: &Tls, path: &str, accept: &str) -> io::Result<Answer> {
    let ask = async {
        let stream = TcpStream::connect(address).await?;
        let stream = tls.connect(&address.ip().to_string(), stream).await?;
        exchange(stream, address, path, accept).await
    };
    timeout(ANSWER_LIMIT, ask).await?
}

async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    address: SocketAddr,
    path: &str,
    accept: &str,
) -> io::Result<Answer> {
    // HTTP/1.0, so that the body is neither chunked nor followed by anything.
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: {accept}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut bytes).await?;
    let text = String::from_utf8_lossy(&bytes);
    parse(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}

// === impl Tls ===

impl Tls {
    /// Trusts servers with a certificate of the authority `ca`, PEM. Shows `identity` if asked for a certificate.
    pub fn new(ca: &str, identity: Option<&Identity>) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca.as_bytes())?)?;
        let config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let config = match identity {
            None => config.with_no_client_auth(),
            Some(Identity { certificate, key }) => {
                let certificate = CertificateDer::from_pem_slice(certificate.as_bytes())?;
                config.with_client_auth_cert(vec![certificate], PrivateKeyDer::from_pem_slice(key.as_bytes())?)?
            }
        };
        Ok(Self(Arc::new(config).into()))
    }

    /// Makes a connection to the server called `host`, which may be an address, private.
    pub async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        self.0.connect(name, stream).await
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}
