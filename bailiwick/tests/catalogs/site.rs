//! A server with a project that publishes and two that claim, and the people who work in them.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Method};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::client::{Answer, Client, Endpoint, JSON, MERGE_PATCH, request};
use crate::objects::{API, RBAC, bound, catalog, config_map, role, secret, uses};
use crate::process::{Server, folder};

/// By then something has happened that was to happen.
const SOON: Duration = Duration::from_secs(30);

/// What of each request is written down.
const AUDIT_POLICY: &str =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n";

/// A server.
pub(crate) struct Site {
    server: Server,
    client: Client,
    folder: TempDir,
}

/// Someone who asks.
#[derive(Clone)]
pub(crate) struct Person {
    client: Client,
    /// Whom to act as; the administrator of the server if there is none.
    name: Option<String>,
}

// === impl Site ===

impl Site {
    /// One in which pat administers `shop`, with a Secret and a ConfigMap that the account `publisher` may read; ada administers
    /// `a`, where eddie edits; bea administers `b`. In `a` and `b` the account `maker` edits. The catalog gold is there, in
    /// which pat may publish, and from which ada and eddie may claim in `a`.
    pub(crate) async fn open() -> Self {
        Self::open_with(&[]).await
    }

    /// The same, of a server with these flags.
    pub(crate) async fn open_with(flags: &[&str]) -> Self {
        let site = Self::start(flags).await;
        let root = site.root();
        for (namespace, people) in [
            ("shop", &[("pat", "admin")][..]),
            ("a", &[("ada", "admin"), ("eddie", "edit")]),
            ("b", &[("bea", "admin")]),
        ] {
            let made = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
            root.post("/api/v1/namespaces", &made).await.expect(201);
            for (name, role) in people {
                site.bind(namespace, name, &format!("ClusterRole/{role}"), &format!("User/{name}")).await;
            }
        }
        site.make("shop", "secrets", &secret("creds", json!({ "password": "hunter2" }))).await;
        site.make("shop", "configmaps", &config_map("settings", json!({ "colour": "blue" }))).await;
        site.account("shop", "publisher").await;
        let reads =
            json!({ "apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["get", "list", "watch"] });
        site.grant("shop", "publisher", reads, "ServiceAccount/publisher").await;
        for namespace in ["a", "b"] {
            site.account(namespace, "maker").await;
            site.bind(namespace, "maker", "ClusterRole/edit", "ServiceAccount/maker").await;
        }
        let gold = catalog("gold", json!({ "selector": { "tier": "gold" } }));
        root.post(&format!("{API}/resourcecatalogs"), &gold).await.expect(201);
        site.grant("shop", "publish-gold", uses("publish", "gold"), "User/pat").await;
        site.grant("a", "claim-gold", uses("claim", "gold"), "User/ada").await;
        site.bind("a", "eddie-claims", "Role/claim-gold", "User/eddie").await;
        site
    }

    async fn start(flags: &[&str]) -> Self {
        let folder = folder();
        std::fs::write(folder.path().join("policy.yaml"), AUDIT_POLICY).unwrap();
        let server = Server::start(folder.path(), flags).await;
        let client = Endpoint::of(&server).connect().await.unwrap();
        Self { server, client, folder }
    }

    /// The same one, killed and started again.
    pub(crate) async fn restart(self) -> Self {
        let Self { server, folder, .. } = self;
        server.signal(rustix::process::Signal::KILL);
        server.end().await;
        let server = Server::start(folder.path(), &[]).await;
        let client = Endpoint::of(&server).connect().await.unwrap();
        Self { server, client, folder }
    }

    /// What the server has written to `audit.log` so far.
    pub(crate) fn audit_log(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.folder.path().join("audit.log")).unwrap();
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// The administrator of the server.
    pub(crate) fn root(&self) -> Person {
        Person { client: self.client.clone(), name: None }
    }

    /// A user.
    pub(crate) fn user(&self, name: &str) -> Person {
        Person { client: self.client.clone(), name: Some(name.to_owned()) }
    }

    /// Makes an object of Kubernetes' core group.
    pub(crate) async fn make(&self, namespace: &str, plural: &str, object: &Value) -> Value {
        self.root().post(&format!("/api/v1/namespaces/{namespace}/{plural}"), object).await.expect(201)
    }

    pub(crate) async fn account(&self, namespace: &str, name: &str) {
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name } });
        self.make(namespace, "serviceaccounts", &account).await;
    }

    pub(crate) async fn bind(&self, namespace: &str, name: &str, role: &str, subject: &str) {
        let path = format!("{RBAC}/namespaces/{namespace}/rolebindings");
        self.root().post(&path, &bound(name, namespace, role, subject)).await.expect(201);
    }

    /// Gives a right to someone in a namespace.
    pub(crate) async fn grant(&self, namespace: &str, name: &str, rule: Value, subject: &str) {
        self.root().post(&format!("{RBAC}/namespaces/{namespace}/roles"), &role(name, rule)).await.expect(201);
        self.bind(namespace, name, &format!("Role/{name}"), subject).await;
    }

    pub(crate) async fn revoke(&self, namespace: &str, name: &str) {
        self.root().delete(&format!("{RBAC}/namespaces/{namespace}/rolebindings/{name}")).await.expect(200);
    }

    /// Publishes an entry as pat, and waits until it is in the catalog gold as it is.
    pub(crate) async fn publish(&self, entry: &Value) -> Value {
        let path = entries("shop");
        let made = self.user("pat").post(&path, entry).await.expect(201);
        self.accepted(made["metadata"]["name"].as_str().unwrap()).await
    }

    /// An entry of `shop`, once it is in the catalog gold as it is.
    pub(crate) async fn accepted(&self, name: &str) -> Value {
        self.until(&format!("{}/{name}", entries("shop")), |entry| {
            entry["status"]["catalogs"] == json!(["gold"])
                && entry["status"]["generation"] == entry["metadata"]["generation"]
        })
        .await
    }

    /// Claims as eddie in `a`, and waits until all is there.
    pub(crate) async fn claimed(&self, claim: &Value) -> Value {
        let made = self.user("eddie").post(&claims("a"), claim).await.expect(201);
        self.ready("a", made["metadata"]["name"].as_str().unwrap()).await
    }

    /// A claim, once all that it asks for is there.
    pub(crate) async fn ready(&self, namespace: &str, name: &str) -> Value {
        self.until(&format!("{}/{name}", claims(namespace)), |claim| {
            crate::objects::condition(claim, "Ready").0 == "True"
                && claim["status"]["observedGeneration"] == claim["metadata"]["generation"]
        })
        .await
    }

    /// What is at a path, once it is like this.
    pub(crate) async fn until(&self, path: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let (began, root) = (Instant::now(), self.root());
        loop {
            let answer = root.get(path).await;
            let found = answer.json();
            if answer.code == 200 && is_it(&found) {
                return found;
            }
            assert!(began.elapsed() < SOON, "{path} is not so: {found}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until nothing is at a path.
    pub(crate) async fn until_gone(&self, path: &str) {
        let (began, root) = (Instant::now(), self.root());
        while root.get(path).await.code != 404 {
            assert!(began.elapsed() < SOON, "{path} is still there");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

// === impl Person ===

impl Person {
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "", None).await
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> Answer {
        self.send(Method::POST, path, JSON, Some(object)).await
    }

    pub(crate) async fn put(&self, path: &str, object: &Value) -> Answer {
        self.send(Method::PUT, path, JSON, Some(object)).await
    }

    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Answer {
        self.send(Method::PATCH, path, MERGE_PATCH, Some(patch)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, "", None).await
    }

    pub(crate) async fn send(&self, method: Method, path: &str, content_type: &str, body: Option<&Value>) -> Answer {
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let mut request = request(method, path, content_type, body);
        if let Some(name) = &self.name {
            let headers = request.headers_mut();
            headers.insert("impersonate-user", HeaderValue::from_str(name).unwrap());
            headers.append("impersonate-group", HeaderValue::from_static("system:authenticated"));
        }
        self.client.send(request).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

/// Where entries are.
pub(crate) fn entries(namespace: &str) -> String {
    format!("{API}/namespaces/{namespace}/resourcecatalogentries")
}

/// Where claims are.
pub(crate) fn claims(namespace: &str) -> String {
    format!("{API}/namespaces/{namespace}/resourcecatalogclaims")
}

/// Where an object of Kubernetes' core group is.
pub(crate) fn core(namespace: &str, plural: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/{plural}/{name}")
}
