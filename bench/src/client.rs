//! An administrator's connection to a server.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::{Bytes, BytesMut};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::Failure;

/// How many objects are being made at a time, where many are.
const AT_A_TIME: usize = 32;
/// After so long without anything, what was to happen will not.
const LIMIT: Duration = Duration::from_secs(120);

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";

/// A connection, which can be shared.
#[derive(Clone)]
pub struct Client {
    authority: String,
    sender: SendRequest<Full<Bytes>>,
}

/// What happens to objects.
pub struct Watch {
    body: Incoming,
    read: BytesMut,
}

// === impl Client ===

impl Client {
    /// Connects as a kubeconfig says that has everything inside.
    pub async fn open(kubeconfig: &str) -> Result<Self, Failure> {
        let authority = field(kubeconfig, "server")?.trim_start_matches("https://");
        let [ca, certificate, key] = ["certificate-authority-data", "client-certificate-data", "client-key-data"]
            .map(|name| pem(kubeconfig, name));
        Self::connect(authority, &ca?, &certificate?, &key?).await
    }

    /// Connects to `host:port`, as whoever has this certificate and key. All are in PEM.
    pub async fn connect(authority: &str, ca: &[u8], certificate: &[u8], key: &[u8]) -> Result<Self, Failure> {
        let authority = authority.to_owned();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca)?)?;
        let chain = vec![CertificateDer::from_pem_slice(certificate)?];
        let key = PrivateKeyDer::from_pem_slice(key)?;
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
    pub async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<(StatusCode, Bytes), Failure> {
        self.answer(self.request(method, path, JSON, body)?).await
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), Failure> {
        let mut sender = self.sender.clone();
        sender.ready().await?;
        let response = sender.send_request(request).await?;
        Ok((response.status(), response.into_body().collect().await?.to_bytes()))
    }

    /// Sends a request that must succeed.
    pub async fn expect(&self, method: Method, path: &str, body: Bytes) -> Result<(), Failure> {
        succeeded(path, self.send(method, path, body).await?).map(drop)
    }

    /// Makes an object, which nobody has made before.
    pub async fn create(&self, path: &str, object: &Value) -> Result<(), Failure> {
        self.expect(Method::POST, path, object.to_string().into()).await
    }

    /// Makes many objects, some at a time.
    pub async fn create_all<O>(&self, objects: O) -> Result<(), Failure>
    where
        O: Iterator<Item = (String, Value)>,
    {
        let mut making = JoinSet::new();
        for (path, object) in objects {
            if making.len() >= AT_A_TIME
                && let Some(made) = making.join_next().await
            {
                made??;
            }
            let client = self.clone();
            making.spawn(async move { client.create(&path, &object).await });
        }
        while let Some(made) = making.join_next().await {
            made??;
        }
        Ok(())
    }

    /// Reads an object, or a list.
    pub async fn get(&self, path: &str) -> Result<Value, Failure> {
        let answer = succeeded(path, self.send(Method::GET, path, Bytes::new()).await?)?;
        Ok(serde_json::from_slice(&answer)?)
    }

    /// Reads something in a form of its own.
    pub async fn get_as(&self, path: &str, form: &str) -> Result<Bytes, Failure> {
        let mut request = self.request(Method::GET, path, JSON, Bytes::new())?;
        request.headers_mut().insert("accept", form.parse()?);
        succeeded(path, self.answer(request).await?)
    }

    /// Merges fields into an object.
    pub async fn merge(&self, path: &str, fields: &Value) -> Result<(), Failure> {
        let request = self.request(Method::PATCH, path, MERGE_PATCH, fields.to_string().into())?;
        succeeded(path, self.answer(request).await?).map(drop)
    }

    /// Everything that is there under a path, and whatever happens to it from now on.
    pub async fn watch(&self, path: &str) -> Result<Watch, Failure> {
        let mark = if path.contains('?') { '&' } else { '?' };
        let request = self.request(Method::GET, &format!("{path}{mark}watch=true"), JSON, Bytes::new())?;
        let mut sender = self.sender.clone();
        sender.ready().await?;
        let response = sender.send_request(request).await?;
        if !response.status().is_success() {
            return Err(format!("{path} cannot be watched: {}", response.status()).into());
        }
        Ok(Watch { body: response.into_body(), read: BytesMut::new() })
    }

    /// Whether the server says that it is ready.
    pub async fn is_ready(&self) -> bool {
        self.send(Method::GET, "/readyz", Bytes::new()).await.is_ok_and(|(status, _)| status.is_success())
    }

    fn request(&self, method: Method, path: &str, form: &str, body: Bytes) -> Result<Request<Full<Bytes>>, Failure> {
        let request = Request::builder().method(method).uri(format!("https://{}{path}", self.authority));
        Ok(request.header("accept", JSON).header("content-type", form).body(Full::new(body))?)
    }
}

// === impl Watch ===

impl Watch {
    /// The next object that was made or changed.
    pub async fn next(&mut self) -> Result<Value, Failure> {
        loop {
            while let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let mut event: Value = serde_json::from_slice(&self.read.split_to(end + 1))?;
                if event["type"] != "BOOKMARK" {
                    return Ok(event["object"].take());
                }
            }
            let frame = self.body.frame().await.ok_or("the watch has ended")??;
            if let Ok(data) = frame.into_data() {
                self.read.extend_from_slice(&data);
            }
        }
    }

    /// Waits until so many different objects were as they should be.
    pub async fn count<I>(&mut self, many: usize, is_wanted: I) -> Result<(), Failure>
    where
        I: Fn(&Value) -> bool,
    {
        let mut wanted = HashSet::new();
        while wanted.len() < many {
            let object = tokio::time::timeout(LIMIT, self.next()).await.map_err(|_| {
                format!("{} of {many} are as they should be, and nothing has happened for {LIMIT:?}", wanted.len())
            })??;
            if is_wanted(&object) {
                wanted.insert(object["metadata"]["uid"].as_str().unwrap_or_default().to_owned());
            }
        }
        Ok(())
    }
}

/// What a server has answered, unless it has refused.
fn succeeded(path: &str, (status, answer): (StatusCode, Bytes)) -> Result<Bytes, Failure> {
    match status.is_success() {
        true => Ok(answer),
        false => Err(format!("{path}: {status} {}", String::from_utf8_lossy(&answer)).into()),
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
