//! A server to ask.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{Audit, Body, Health, Impersonated, Metrics, Server, ServerOptions, ServerParts};
use bailiwick_registry::{AllowGroup, Authorizer, Clock, Kind, Registry, SystemClock, User, kinds};
use bailiwick_storage::Store;
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) const CLAIMS: &str = "/apis/catalog.bailiwick.dev/v1alpha1/namespaces/default/resourcecatalogclaims";
pub(crate) const ORGANIZATIONS: &str = "/apis/org.bailiwick.dev/v1alpha1/organizations";

/// A server over an embedded store that goes away with it.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) shutdown: CancellationToken,
    store: Arc<dyn Store>,
    folder: TempDir,
}

/// What a server is made of, where it matters.
pub(crate) struct Wiring {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) audit: Option<Audit>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: ServerOptions,
}

/// An answer that was read to its end.
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// As whom it was answered, if not as who asked.
    pub(crate) impersonated: Option<Impersonated>,
}

impl Default for Wiring {
    fn default() -> Self {
        Self {
            kinds: kinds::all().unwrap(),
            authorizer: Arc::new(AllowGroup::MASTERS),
            audit: None,
            metrics: Arc::default(),
            clock: Arc::new(SystemClock),
            options: ServerOptions::default(),
        }
    }
}

impl Site {
    pub(crate) async fn open() -> Self {
        Self::wired(Wiring::default()).await
    }

    /// With kinds of Kubernetes' own beside ours.
    pub(crate) async fn standalone() -> Self {
        let kinds = kinds::all().unwrap().into_iter().chain(kinds::host().unwrap()).collect();
        Self::wired(Wiring { kinds, ..Wiring::default() }).await
    }

    pub(crate) async fn with(options: ServerOptions) -> Self {
        Self::wired(Wiring { options, ..Wiring::default() }).await
    }

    /// A server where this one says who may what.
    pub(crate) async fn of(authorizer: Arc<dyn Authorizer>) -> Self {
        Self::wired(Wiring { authorizer, ..Wiring::default() }).await
    }

    pub(crate) async fn wired(wiring: Wiring) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let taken = Folder::take(folder.path()).unwrap();
        let store = Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(taken))).await.unwrap());
        Self::over(store, folder, wiring).await
    }

    /// The same, later: nothing is known any more of what was before now.
    pub(crate) async fn without_a_past(self) -> Self {
        let now = self.store.revision().await.unwrap();
        self.store.compact(now).await.unwrap();
        Self::over(self.store, self.folder, Wiring::default()).await
    }

    /// A server over this store, whose folder goes away with it.
    pub(crate) async fn over(store: Arc<dyn Store>, folder: TempDir, wiring: Wiring) -> Self {
        let registry = Registry::start(store.clone(), wiring.kinds, wiring.metrics.storage.clone()).await.unwrap();
        let shutdown = CancellationToken::new();
        let parts = ServerParts {
            registry: Arc::new(registry),
            health: Health::new(),
            authorizer: wiring.authorizer,
            clock: wiring.clock,
            shutdown: shutdown.clone(),
            audit: wiring.audit,
            metrics: wiring.metrics,
        };
        Self { server: Server::new(parts, &wiring.options), shutdown, store, folder }
    }

    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Response<Body> {
        self.server.answer(request, Some(&admin())).await
    }

    /// Asks, with headers as `name: value` lines, and reads the whole answer.
    pub(crate) async fn ask(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Answer {
        self.ask_as(&admin(), method, target, headers, body).await
    }

    /// The same, as someone.
    pub(crate) async fn ask_as(
        &self,
        user: &User,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Full::from(Bytes::copy_from_slice(body.as_ref()));
        let response = self.server.answer(request.body(body).unwrap(), Some(user)).await;
        let (head, body) = response.into_parts();
        let body = tokio::time::timeout(Duration::from_secs(30), body.collect()).await.unwrap().unwrap().to_bytes();
        let impersonated = head.extensions.get::<Impersonated>().cloned();
        Answer { code: head.status, headers: head.headers, body, impersonated }
    }

    pub(crate) async fn get(&self, target: &str) -> Answer {
        self.ask("GET", target, &[], "").await
    }

    pub(crate) async fn post(&self, target: &str, body: &Value) -> Answer {
        self.ask("POST", target, &[("content-type", "application/json")], body.to_string()).await
    }

    pub(crate) async fn put(&self, target: &str, body: &Value) -> Answer {
        self.ask("PUT", target, &[("content-type", "application/json")], body.to_string()).await
    }

    pub(crate) async fn merge(&self, target: &str, body: &Value) -> Answer {
        self.ask("PATCH", target, &[("content-type", "application/merge-patch+json")], body.to_string()).await
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
