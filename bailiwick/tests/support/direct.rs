//! The way to our program past the aggregator, one connection for each request.

use std::net::SocketAddr;
use std::time::Duration;

use bailiwick_test_host::Tls;
use bailiwick_test_host::pki::Identity;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);

/// A client of a server.
#[derive(Clone)]
pub(crate) struct Direct {
    address: SocketAddr,
    tls: Tls,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// That there is none.
#[derive(Debug)]
pub(crate) struct Unanswered(#[allow(dead_code, reason = "shown when a test fails")] pub(crate) String);

// === impl Direct ===

impl Direct {
    pub(crate) fn new(address: SocketAddr, ca: &str, identity: Option<&Identity>) -> Self {
        Self { address, tls: Tls::new(ca, identity).unwrap() }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await.unwrap()
    }

    pub(crate) async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(Method::GET, path, headers, "").await.unwrap()
    }

    /// Sends a request, and reads the whole answer.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Answer, Unanswered> {
        let exchange = async {
            let (head, body) = self.open(method, path, headers, body).await?.into_parts();
            let body = body.collect().await.map_err(Unanswered::new)?.to_bytes();
            let body = String::from_utf8_lossy(&body).into_owned();
            Ok(Answer { code: head.status.as_u16(), headers: head.headers, body })
        };
        timeout(PATIENCE, exchange).await.unwrap_or_else(|_| Err(Unanswered("no answer in time".to_owned())))
    }

    /// Sends a request, and gives the answer once its head is there.
    pub(crate) async fn open(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Response<Incoming>, Unanswered> {
        let stream = TcpStream::connect(self.address).await.map_err(Unanswered::new)?;
        let stream = self.tls.connect("localhost", stream).await.map_err(Unanswered::new)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(Unanswered::new)?;
        // It ends with the answer; whatever goes wrong, the request that suffers tells.
        tokio::spawn(async { drop(connection.await) });
        let mut request = Request::builder().method(method).uri(path).header(HOST, "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        sender.send_request(request).await.map_err(Unanswered::new)
    }
}

// === impl Answer ===

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The object, if the code is the one expected.
    #[track_caller]
    pub(crate) fn expect(&self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", self.body);
        self.json()
    }
}

// === impl Unanswered ===

impl Unanswered {
    pub(crate) fn new(error: impl std::fmt::Debug) -> Self {
        Self(format!("{error:?}"))
    }
}
