//! A server to ask.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{Audit, Body, Health, Metrics, Server, ServerOptions, ServerParts};
use bailiwick_registry::{AllowGroup, Authorizer, Kind, Registry, SystemClock, User, kinds};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) const CLAIMS: &str = "/apis/catalog.bailiwick.dev/v1alpha1/namespaces/default/resourcecatalogclaims";
pub(crate) const ORGANIZATIONS: &str = "/apis/org.bailiwick.dev/v1alpha1/organizations";

/// A server over an embedded store that goes away with it.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) shutdown: CancellationToken,
    _folder: tempfile::TempDir,
}

/// What a server is made of, where it matters.
pub(crate) struct Wiring {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) audit: Option<Audit>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) options: ServerOptions,
}

/// An answer that was read to its end.
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Site {
    pub(crate) async fn open() -> Self {
        Self::with(ServerOptions::default()).await
    }

    pub(crate) async fn with(options: ServerOptions) -> Self {
        let authorizer: Arc<dyn Authorizer> = Arc::new(AllowGroup::MASTERS);
        let kinds = kinds::all().unwrap();
        Self::wired(Wiring { kinds, authorizer, audit: None, metrics: Arc::default(), options }).await
    }

    pub(crate) async fn wired(wiring: Wiring) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let taken = Folder::take(folder.path()).unwrap();
        let store = Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(taken))).await.unwrap());
        let registry = Registry::start(store, wiring.kinds, wiring.metrics.storage.clone()).await.unwrap();
        let shutdown = CancellationToken::new();
        let parts = ServerParts {
            registry: Arc::new(registry),
            health: Health::new(),
            authorizer: wiring.authorizer,
            clock: Arc::new(SystemClock),
            shutdown: shutdown.clone(),
            audit: wiring.audit,
            metrics: wiring.metrics,
        };
        let server = Server::new(parts, &wiring.options);
        Self { server, shutdown, _folder: folder }
    }

    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Response<Body> {
        self.server.answer(request, Some(&admin())).await
    }

    /// Asks, with headers as `name: value` lines, and reads the whole answer.
    pub(crate) async fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.send(request.body(Full::from(body.to_owned())).unwrap()).await;
        let (head, body) = response.into_parts();
        let body = tokio::time::timeout(Duration::from_secs(30), body.collect()).await.unwrap().unwrap().to_bytes();
        Answer { code: head.status, headers: head.headers, body }
    }

    pub(crate) async fn get(&self, target: &str) -> Answer {
        self.ask("GET", target, &[], "").await
    }

    pub(crate) async fn post(&self, target: &str, body: &Value) -> Answer {
        self.ask("POST", target, &[("content-type", "application/json")], &body.to_string()).await
    }

    pub(crate) async fn put(&self, target: &str, body: &Value) -> Answer {
        self.ask("PUT", target, &[("content-type", "application/json")], &body.to_string()).await
    }

    pub(crate) async fn merge(&self, target: &str, body: &Value) -> Answer {
        self.ask("PATCH", target, &[("content-type", "application/merge-patch+json")], &body.to_string()).await
    }

    pub(crate) async fn delete(&self, target: &str) -> Answer {
        self.ask("DELETE", target, &[], "").await
    }

    /// The text at `/metrics`.
    pub(crate) async fn metrics(&self, accept: &str) -> String {
        let answer = self.ask("GET", "/metrics", &[("accept", accept)], "").await;
        assert_eq!(answer.code, 200, "{}", answer.text());
        answer.text()
    }

    /// Makes a claim and returns it.
    pub(crate) async fn claim(&self, name: &str, labels: Value) -> Value {
        let answer = self.post(CLAIMS, &claim(name, labels)).await;
        assert_eq!(answer.code, 201, "{}", answer.text());
        answer.json()
    }
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        let gzip = self.headers.get("content-encoding").is_some_and(|encoding| encoding == "gzip");
        let mut text = String::new();
        match gzip {
            true => drop(flate2::read::GzDecoder::new(&*self.body).read_to_string(&mut text).unwrap()),
            false => text = String::from_utf8(self.body.to_vec()).unwrap(),
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The lines of a watch.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) fn admin() -> User {
    User { name: "admin".to_owned(), groups: vec!["system:masters".to_owned()], ..User::default() }
}

pub(crate) fn claim(name: &str, labels: Value) -> Value {
    json!({
        "apiVersion": "catalog.bailiwick.dev/v1alpha1", "kind": "ResourceCatalogClaim",
        "metadata": {"name": name, "labels": labels},
        "spec": {"catalogName": "gold", "resourceCatalogEntry": {"namespace": "publisher", "name": "database"}},
    })
}
