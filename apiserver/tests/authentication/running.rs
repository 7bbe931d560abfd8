//! A server behind a listener, which tells everyone who they are and lets nobody do anything.

use std::any::Any;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_apiserver::{
    Audit, AuditLog, AuditLogOptions, AuditMode, Authentication, AuthenticationParts, Frontend, Health, Listener,
    ListenerOptions, LogTarget, Metrics, Policy, Server, ServerOptions, ServerParts,
};
use bailiwick_registry::{Attributes, AuthorizationError, Authorizer, Decision, Registry, SystemClock, kinds};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_test_host::pki::Identity;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::site::{Pki, chain};

/// How often files are looked at.
pub(crate) const POLL: Duration = Duration::from_millis(50);

const AUDIT_LOG: &str = "audit.log";
const POLICY: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n";

/// A running server.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) pki: Pki,
    _stop: DropGuard,
    folder: TempDir,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// It ends when the server ends it.
    connection: JoinHandle<Result<(), hyper::Error>>,
    /// What keeps the client's side open.
    _sender: Box<dyn Any + Send>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// Refuses everyone but the group `watchers`, and says who they are.
struct Telling;

// === impl Running ===

impl Running {
    pub(crate) async fn start(pki: Pki, parts: impl FnOnce(&Pki) -> AuthenticationParts) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let taken = Folder::take(folder.path()).unwrap();
        let store = Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(taken))).await.unwrap());
        let metrics = Arc::new(Metrics::default());
        let registry = Registry::start(store, kinds::all().unwrap(), metrics.storage.clone()).await.unwrap();
        let stop = CancellationToken::new();
        let log = AuditLogOptions {
            target: LogTarget::File(folder.path().join(AUDIT_LOG)),
            mode: AuditMode::Blocking,
            max_bytes: None,
            max_backups: None,
            max_age: None,
            compress: false,
        };
        let log = AuditLog::open(log, metrics.clone(), Arc::new(SystemClock)).unwrap();
        let server = Server::new(
            ServerParts {
                registry: Arc::new(registry),
                health: Health::new(),
                authorizer: Arc::new(Telling),
                clock: Arc::new(SystemClock),
                shutdown: stop.clone(),
                audit: Some(Audit { policy: Policy::parse(POLICY.as_bytes()).unwrap(), log }),
                metrics,
            },
            &ServerOptions::default(),
        );
        let authentication = Authentication::new(parts(&pki)).unwrap();
        let options = ListenerOptions { certificate_poll: POLL, ..ListenerOptions::default() };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = Listener::bind(address, pki.tls.clone(), options).await.unwrap();
        let address = listener.address();
        let frontend = Frontend::new(Arc::new(server), Arc::new(authentication));
        tokio::spawn(listener.run(frontend, stop.clone()));
        Self { address, pki, _stop: stop.drop_guard(), folder }
    }

    /// The last entry of the audit log about a path.
    pub(crate) fn audited(&self, path: &str) -> serde_json::Value {
        let log = std::fs::read_to_string(self.folder.path().join(AUDIT_LOG)).unwrap();
        let entries = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        entries.rev().find(|entry| entry["requestURI"] == path).unwrap()
    }

    /// Opens a connection, showing a certificate.
    pub(crate) async fn connect(
        &self,
        protocol: Protocol,
        identity: Option<&Identity>,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(chain(&self.pki.authority.certificate())[0].clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match identity {
            None => config.with_no_client_auth(),
            Some(identity) => {
                let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
                config.with_client_auth_cert(chain(&identity.certificate), key).unwrap()
            }
        };
        config.alpn_protocols = vec![if protocol == Protocol::Http1 { b"http/1.1".to_vec() } else { b"h2".to_vec() }];
        let socket = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, socket).await
    }

    /// One request on a connection of its own.
    pub(crate) async fn ask(
        &self,
        protocol: Protocol,
        identity: Option<&Identity>,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        let stream = TokioIo::new(self.connect(protocol, identity).await?);
        let mut request = Request::get(format!("https://localhost{path}")).header("host", "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Empty::<Bytes>::new())?;
        match protocol {
            Protocol::Http1 => {
                let (mut sender, connection) = http1::handshake(stream).await?;
                let connection = tokio::spawn(connection);
                let response = sender.send_request(request).await?;
                Ok(Answer::read(response, connection, Box::new(sender)).await?)
            }
            Protocol::Http2 => {
                let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
                let connection = tokio::spawn(connection);
                let response = sender.send_request(request).await?;
                Ok(Answer::read(response, connection, Box::new(sender)).await?)
            }
        }
    }
}

// === impl Answer ===

impl Answer {
    async fn read(
        response: http::Response<hyper::body::Incoming>,
        connection: JoinHandle<Result<(), hyper::Error>>,
        sender: Box<dyn Any + Send>,
    ) -> Result<Self, hyper::Error> {
        let (head, body) = response.into_parts();
        let text = String::from_utf8_lossy(&body.collect().await?.to_bytes()).into_owned();
        Ok(Self { code: head.status, headers: head.headers, text, connection, _sender: sender })
    }

    /// Whether the server ends the connection behind its answer.
    pub(crate) async fn closes(mut self, within: Duration) -> bool {
        tokio::time::timeout(within, &mut self.connection).await.is_ok()
    }

    /// Who the server took the client for: name and groups.
    pub(crate) fn who(&self) -> String {
        match self.code {
            StatusCode::FORBIDDEN => {
                let message: serde_json::Value = serde_json::from_str(&self.text).unwrap();
                message["message"].as_str().unwrap().rsplit_once("you are ").unwrap().1.to_owned()
            }
            code => code.as_str().to_owned(),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

// === impl Telling ===

#[async_trait]
impl Authorizer for Telling {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        let user = question.user;
        if user.groups.iter().any(|group| group == "watchers") {
            return Ok(Decision::Allow(String::new()));
        }
        Ok(Decision::Deny(format!("you are {} {}", user.name, user.groups.join(","))))
    }
}
