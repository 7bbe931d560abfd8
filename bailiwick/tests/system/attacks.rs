//! Requests that want more than they may have: each must fail, and leave everything as it was.
//!
//! Someone without rights is played by the administrator, who acts as them.

mod doors;
mod framing;
mod identity;
mod methods;
mod parts;
mod paths;

use bytes::Bytes;
use futures::future::join_all;
use http::{Method, Request};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Duration, timeout};

use crate::claims::{claim, collection, make_namespaces, object};
use crate::client::{Answer, Client, Endpoint, Outgoing, request};
use crate::process::{Server, folder};

const NAMESPACE: &str = "target";
const NAME: &str = "victim";
/// What nobody without rights may read.
const SECRET: &str = "c0ffee-for-the-administrator";
/// How long a connection may be silent before what was read of it is all there is.
const SILENCE: Duration = Duration::from_secs(2);
/// On a machine that has much else to do, an answer takes long to begin.
const FIRST_WORD: Duration = Duration::from_secs(15);
/// Acting as someone without rights.
const AS_ALICE: (&str, &str) = ("impersonate-user", "alice");

/// A server with one claim, which nobody is to touch.
struct Target {
    server: Server,
    endpoint: Endpoint,
    client: Client,
    victim: Value,
    _folder: TempDir,
}

// === impl Target ===

impl Target {
    async fn start() -> Self {
        Self::start_with(&[]).await
    }

    async fn start_with(arguments: &[&str]) -> Self {
        let folder = folder();
        let server = Server::start(folder.path(), arguments).await;
        let endpoint = Endpoint::of(&server);
        let client = endpoint.connect().await.unwrap();
        let claim = claim(NAME, "tools", "gold", SECRET);
        make_namespaces(&client, [NAMESPACE]).await;
        let victim = client.post(&collection(NAMESPACE), &claim).await.unwrap().expect(201);
        Self { server, endpoint, client, victim, _folder: folder }
    }

    /// Sends a request with headers.
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let content_type = if body.is_empty() { "" } else { "application/json" };
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request: Request<Outgoing> = request(method, path, content_type, Bytes::from(body.to_owned()));
        for (name, value) in headers {
            request.headers_mut().append(http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        self.client.send(request).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Writes texts, each on a connection of its own, and reads what comes back.
    async fn write_all(&self, texts: &[String]) -> Vec<String> {
        join_all(texts.iter().map(|text| exchange(&self.endpoint, text))).await
    }

    /// Nobody has touched anything.
    async fn check(&self) {
        let victim = self.client.get(&object(NAMESPACE, NAME)).await.unwrap().expect(200);
        assert_eq!(victim, self.victim);
        let all = self.client.get(&collection(NAMESPACE)).await.unwrap().expect(200);
        assert_eq!(all["items"].as_array().unwrap().len(), 1, "{all}");
    }

    async fn end(self) {
        self.check().await;
        self.server.stop().await;
    }
}

/// Everything that the server says to a text, until it closes or is silent.
async fn exchange(endpoint: &Endpoint, text: &str) -> String {
    let mut stream = endpoint.raw().await.unwrap();
    // A server that has heard enough closes, and need not read the rest.
    let _ = stream.write_all(text.as_bytes()).await;
    // What was written may still be with TLS.
    let _ = stream.flush().await;
    let mut answer = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    let mut patience = FIRST_WORD;
    while let Ok(Ok(read @ 1..)) = timeout(patience, stream.read(&mut buffer)).await {
        answer.extend_from_slice(&buffer[..read]);
        patience = SILENCE;
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// The codes of all answers in what was read.
fn codes(answers: &str) -> Vec<u16> {
    let lines = answers.split("HTTP/1.1 ").skip(1);
    lines.map(|line| line.get(..3).and_then(|code| code.parse().ok()).unwrap_or_default()).collect()
}
