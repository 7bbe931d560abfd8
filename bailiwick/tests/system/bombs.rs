//! S-19: requests that are made to hurt. Each must be answered as it should, soon, by a server that lives on and has not grown.

mod bodies;
mod floods;
mod owners;
mod targets;
mod tokens;

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::claims::{claim, collection, make_namespaces};
use crate::client::{Answer, Client, Endpoint, Outgoing, request};
use crate::memory::{mebibytes, resident};
use crate::process::{Server, folder};

/// A second is the promise. These run without optimization, beside others.
const SOON: Duration = Duration::from_secs(5);
/// How much larger one request may leave the server.
const MOST_GROWTH_BY_ONE: u64 = 32 << 20;
/// How much larger all requests of a test may leave it: the allocator keeps what it was once given, to use it again.
const MOST_GROWTH: u64 = 64 << 20;
/// Kubernetes repeats what it refuses, several times over, and clients expect it.
const MOST_REFUSAL: usize = 512 << 10;
const NAMESPACE: &str = "target";
const NAME: &str = "victim";

/// A server that is to withstand something.
struct Target {
    server: Server,
    endpoint: Endpoint,
    client: Client,
    memory: u64,
    /// How much larger one request may leave it.
    growth_by_one: u64,
    _folder: TempDir,
}

// === impl Target ===

impl Target {
    /// A server with one claim.
    async fn start() -> Self {
        let folder = folder();
        let server = Server::start(folder.path(), &[]).await;
        let endpoint = Endpoint::of(&server);
        let client = endpoint.connect().await.unwrap();
        let victim = claim(NAME, "tools", "gold", "0");
        make_namespaces(&client, [NAMESPACE]).await;
        client.post(&collection(NAMESPACE), &victim).await.unwrap().expect(201);
        let memory = resident(server.pid());
        Self { server, endpoint, client, memory, growth_by_one: MOST_GROWTH_BY_ONE, _folder: folder }
    }

    /// Sends a request, which must be answered with one of these codes, soon.
    async fn send(&self, what: &str, request: Request<Outgoing>, codes: &[u16]) -> Answer {
        let (began, before) = (Instant::now(), resident(self.server.pid()));
        let answer = timeout(SOON, self.client.send(request)).await;
        let answer = answer.unwrap_or_else(|_| panic!("{what}: no answer in time"));
        let answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        let (code, text) = (answer.code, answer.text());
        assert!(codes.contains(&code), "{what}: {code} {}", text.get(..1_000).unwrap_or(&text));
        if code >= 400 && !text.starts_with("404") {
            let status = answer.json();
            assert_eq!((&status["kind"], &status["code"]), (&"Status".into(), &code.into()), "{what}: {status}");
            assert!(text.len() < MOST_REFUSAL, "{what}: the refusal itself has {} bytes", text.len());
        }
        let grown = resident(self.server.pid()).saturating_sub(before);
        assert!(grown <= self.growth_by_one, "{what}: grew by {grown} bytes");
        println!("{what}: {code} after {:?}, {} MiB more", began.elapsed(), mebibytes(grown));
        answer
    }

    async fn get(&self, what: &str, path: &str, codes: &[u16]) -> Answer {
        self.send(what, request(Method::GET, path, "", Bytes::new()), codes).await
    }

    async fn post(&self, what: &str, content_type: &str, body: impl Into<Bytes>, codes: &[u16]) -> Answer {
        self.send(what, request(Method::POST, &collection(NAMESPACE), content_type, body.into()), codes).await
    }

    /// The server is as it was.
    async fn end(self) {
        self.end_within(MOST_GROWTH).await;
    }

    /// The server is as it was, but for so many bytes.
    async fn end_within(mut self, growth: u64) {
        assert!(self.server.is_alive());
        let client = self.endpoint.connect().await.unwrap();
        let victim = client.get(&crate::claims::object(NAMESPACE, NAME)).await.unwrap().expect(200);
        assert_eq!(victim["metadata"]["generation"], 1, "{victim}");
        let list = client.get(&collection(NAMESPACE)).await.unwrap().expect(200);
        assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
        let memory = resident(self.server.pid());
        println!("memory: {} MiB, then {} MiB", mebibytes(self.memory), mebibytes(memory));
        assert!(memory <= self.memory + growth, "grew from {} to {memory} bytes", self.memory);
        self.server.stop().await;
    }
}
