//! Asks an issuer for its keys: first where they are, then for them.
//!
//! HTTPS only, no redirects, and an end to how long and how large an answer may be. Where an issuer is reached is for the
//! operator to say, never for a token. Where its keys are, the issuer says; it cannot send us to what only this machine reaches.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HOST, USER_AGENT};
use http::uri::{InvalidUri, Scheme};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_util::task::AbortOnDropHandle;

use super::key_set::{KeySet, KeySetError};
use crate::authentication::configuration::Issuer;
use crate::tls::provider;

/// The largest answer that is read.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// The largest head of an answer.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Where an issuer says where its keys are.
const WELL_KNOWN: &str = "/.well-known/openid-configuration";
const HTTPS_PORT: u16 = 443;

/// Fetches the keys of one issuer.
pub(super) struct Fetcher {
    issuer: String,
    discovery: Uri,
    /// The hosts that the operator has named. They may be anywhere.
    hosts: Vec<String>,
    connector: TlsConnector,
    timeout: Duration,
    /// Where the keys are, once the issuer has said so. It is asked again when they are no longer there.
    keys: Option<Uri>,
}

/// Why an issuer cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum FetchSetupError {
    /// Its URL.
    #[error("its URL cannot be used: {0}")]
    Url(#[from] InvalidUri),
    /// Its authority.
    #[error("its certificate authority is not PEM: {0}")]
    Authority(#[source] pem::Error),
    /// Nobody vouches for it.
    #[error("there is no certificate authority to verify it by: give one in PEM, or install the system's")]
    NoAuthority,
    /// The TLS library refuses.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("{0} is no https URL with a host")]
    Url(Uri),
    #[error("{uri} has no name that a certificate could show: {source}")]
    Name { uri: Uri, source: InvalidDnsNameError },
    #[error(
        "{uri} is at {address}, which only this machine reaches: the issuer's URL or discoveryURL must name that host"
    )]
    Inward { uri: Uri, address: IpAddr },
    #[error("cannot reach {uri}: {source}")]
    Connect { uri: Uri, source: std::io::Error },
    #[error("{uri} cannot be asked: {source}")]
    Request { uri: Uri, source: http::Error },
    #[error("{uri} does not answer: {source}")]
    Answer { uri: Uri, source: hyper::Error },
    #[error("{uri} does not answer within {limit:?}")]
    Timeout { uri: Uri, limit: Duration },
    #[error("{uri} answers {code}; redirects are not followed")]
    Code { uri: Uri, code: StatusCode },
    #[error("the answer of {uri} cannot be read: {source}")]
    Body { uri: Uri, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("the answer of {uri} is no discovery document: {source}")]
    Discovery { uri: Uri, source: serde_json::Error },
    #[error("issuer did not match the issuer returned by provider, expected {expected:?} got {found:?}")]
    Issuer { expected: String, found: String },
    #[error("the jwks_uri of the issuer is no URL: {0}")]
    KeysUrl(InvalidUri),
    #[error("the keys at {uri} cannot be used: {source}")]
    Keys { uri: Uri, source: KeySetError },
}

/// What an issuer says about itself.
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

// === impl Fetcher ===

impl Fetcher {
    pub(super) fn new(issuer: &Issuer, timeout: Duration) -> Result<Self, FetchSetupError> {
        let discovery = match issuer.discovery_url.as_str() {
            "" => format!("{}{WELL_KNOWN}", issuer.url.strip_suffix('/').unwrap_or(&issuer.url)),
            url => url.to_owned(),
        };
        let discovery: Uri = discovery.parse()?;
        let issuer_url: Uri = issuer.url.parse()?;
        let hosts = [&discovery, &issuer_url].into_iter().filter_map(Uri::host).map(str::to_owned).collect();
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots(&issuer.certificate_authority)?)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            issuer: issuer.url.clone(),
            discovery,
            hosts,
            connector: TlsConnector::from(Arc::new(config)),
            timeout,
            keys: None,
        })
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The keys that the issuer publishes now.
    pub(super) async fn fetch(&mut self) -> Result<KeySet, FetchError> {
        let uri = match self.keys.take() {
            Some(uri) => uri,
            None => self.discover().await?,
        };
        let body = self.get(&uri).await?;
        let keys = KeySet::from_json(&body).map_err(|source| FetchError::Keys { uri: uri.clone(), source })?;
        self.keys = Some(uri);
        Ok(keys)
    }

    async fn discover(&self) -> Result<Uri, FetchError> {
        let body = self.get(&self.discovery).await?;
        let found: Discovery = serde_json::from_slice(&body)
            .map_err(|source| FetchError::Discovery { uri: self.discovery.clone(), source })?;
        if found.issuer != self.issuer {
            return Err(FetchError::Issuer { expected: self.issuer.clone(), found: found.issuer });
        }
        found.jwks_uri.parse().map_err(FetchError::KeysUrl)
    }

    async fn get(&self, uri: &Uri) -> Result<Bytes, FetchError> {
        let timeout = |_| FetchError::Timeout { uri: uri.clone(), limit: self.timeout };
        tokio::time::timeout(self.timeout, self.ask(uri)).await.map_err(timeout)?
    }

    async fn ask(&self, uri: &Uri) -> Result<Bytes, FetchError> {
        let host = uri.host().filter(|_| uri.scheme() == Some(&Scheme::HTTPS));
        let (host, authority) = host.zip(uri.authority()).ok_or_else(|| FetchError::Url(uri.clone()))?;
        let is_configured = self.hosts.iter().any(|configured| configured.eq_ignore_ascii_case(host));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name =
            ServerName::try_from(host.to_owned()).map_err(|source| FetchError::Name { uri: uri.clone(), source })?;
        let connect = |source| FetchError::Connect { uri: uri.clone(), source };
        // Looked up once: whoever is asked is who was looked at.
        let found = lookup_host((host, uri.port_u16().unwrap_or(HTTPS_PORT))).await.map_err(connect)?;
        let addresses: Vec<SocketAddr> = found.collect();
        if let Some(inward) = addresses.iter().find(|address| !is_configured && is_inward(address.ip())) {
            return Err(FetchError::Inward { uri: uri.clone(), address: inward.ip() });
        }
        let socket = TcpStream::connect(addresses.as_slice()).await.map_err(connect)?;
        let stream = self.connector.connect(name, socket).await.map_err(connect)?;
        let answer = |source| FetchError::Answer { uri: uri.clone(), source };
        let (mut sender, connection) =
            http1::Builder::new().max_buf_size(MAX_HEAD_BYTES).handshake(TokioIo::new(stream)).await.map_err(answer)?;
        // Gone with the answer, whatever the issuer does.
        let _connection = AbortOnDropHandle::new(tokio::spawn(connection));
        let request = Request::get(uri.path_and_query().map_or("/", |path| path.as_str()))
            .header(HOST, authority.as_str())
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("bailiwick/", env!("CARGO_PKG_VERSION")))
            .body(Empty::<Bytes>::new())
            .map_err(|source| FetchError::Request { uri: uri.clone(), source })?;
        let response = sender.send_request(request).await.map_err(answer)?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Code { uri: uri.clone(), code: response.status() });
        }
        let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await;
        Ok(body.map_err(|source| FetchError::Body { uri: uri.clone(), source })?.to_bytes())
    }
}

/// Whether an address is this machine, or on a link of it: where clouds keep what they know of their machines.
fn is_inward(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_link_local() || address.is_unspecified(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unicast_link_local() || address.is_unspecified(),
    }
}

/// Whom the operator names, or else whom the machine trusts.
fn roots(pem: &str) -> Result<RootCertStore, FetchSetupError> {
    let mut roots = RootCertStore::empty();
    if pem.is_empty() {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    } else {
        let certificates = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
        roots.add_parsable_certificates(certificates.map_err(FetchSetupError::Authority)?);
    }
    if roots.is_empty() { Err(FetchSetupError::NoAuthority) } else { Ok(roots) }
}

#[cfg(test)]
mod tests;
