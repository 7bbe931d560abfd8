//! A server with allocations and projects, and short words for what is done with them.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::client::Answer;
use crate::site::{Mode, Person, Site, eventually};

pub(crate) const API: &str = "/apis/quota.bailiwick.dev/v1alpha1";

/// The labels by which projects are selected here.
const LABELS: [&str; 4] = ["owner", "tier", "team", "a"];

/// A server with allocations and projects.
pub(crate) struct Estate {
    pub(crate) site: Site,
    pub(crate) root: Person,
}

// === impl Estate ===

impl Estate {
    pub(crate) async fn alone() -> Self {
        Self::at(Site::alone().await)
    }

    /// Behind a cluster, in which nothing is left of earlier tests.
    pub(crate) async fn behind() -> Self {
        let estate = Self::at(Site::behind().await);
        let root = &estate.root;
        for quota in items(&root.get("/api/v1/resourcequotas").await.expect(200)) {
            let (namespace, name) = (text(&quota["metadata"]["namespace"]), text(&quota["metadata"]["name"]));
            root.delete(&format!("{}/{name}", quotas(&namespace))).await;
        }
        for namespace in items(&root.get("/api/v1/namespaces").await.expect(200)) {
            let labels = namespace["metadata"]["labels"].as_object().cloned().unwrap_or_default();
            if LABELS.iter().any(|label| labels.contains_key(*label)) {
                let none: Value = LABELS.iter().map(|label| ((*label).to_owned(), Value::Null)).collect();
                let path = format!("/api/v1/namespaces/{}", text(&namespace["metadata"]["name"]));
                root.merge(&path, &json!({ "metadata": { "labels": none } })).await.expect(200);
            }
        }
        eventually("allocations are served", async || {
            root.get(&format!("{API}/resourcequotaallocations")).await.code == 200
        })
        .await;
        let trial = format!("{}?dryRun=All", quotas("default"));
        eventually("the webhook answers", async || {
            root.post(&trial, &quota("trial", &json!({ "cpu": "1" }))).await.code == 201
        })
        .await;
        estate
    }

    fn at(site: Site) -> Self {
        let root = site.root();
        Self { site, root }
    }

    /// With 10 CPUs of alice's for the projects `one`, `two` and `three`.
    pub(crate) async fn of_alice(self) -> Self {
        self.allot("alice", &json!({ "matchLabels": { "owner": "alice" } }), &json!({ "cpu": "10" })).await;
        for name in ["one", "two", "three"] {
            self.project(name, &json!({ "owner": "alice" })).await;
        }
        self
    }

    /// Whether what is written counts at once. Behind a cluster the server follows what the cluster has.
    pub(crate) fn is_at_once(&self) -> bool {
        self.site.mode == Mode::Alone
    }

    pub(crate) async fn allot(&self, name: &str, selector: &Value, hard: &Value) -> Value {
        self.root.post(&format!("{API}/resourcequotaallocations"), &allocation(name, selector, hard)).await.expect(201)
    }

    /// A project. A cluster may have its namespace from another test, or be about to remove it.
    pub(crate) async fn project(&self, name: &str, labels: &Value) {
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels } });
        eventually("there is the namespace", async || {
            if self.root.post("/api/v1/namespaces", &object).await.code == 201 {
                return true;
            }
            assert!(!self.is_at_once(), "{name} cannot be made");
            let path = format!("/api/v1/namespaces/{name}");
            let found = self.root.merge(&path, &json!({ "metadata": { "labels": labels } })).await.json();
            found["status"]["phase"] == "Active"
        })
        .await;
    }

    pub(crate) async fn create(&self, namespace: &str, name: &str, hard: &Value) -> Answer {
        self.root.post(&quotas(namespace), &quota(name, hard)).await
    }

    /// Replaces what a quota allows.
    pub(crate) async fn set(&self, namespace: &str, name: &str, hard: &Value) -> Answer {
        self.root.put(&format!("{}/{name}", quotas(namespace)), &quota(name, hard)).await
    }

    pub(crate) async fn allocation(&self, name: &str) -> Value {
        self.root.get(&format!("{API}/resourcequotaallocations/{name}")).await.expect(200)
    }

    pub(crate) async fn local(&self, namespace: &str, name: &str) -> Value {
        let path = format!("{API}/namespaces/{namespace}/localresourcequotaallocations/{name}");
        let look = || async {
            let answer = self.root.get(&path).await;
            (answer.code == 200 || self.is_at_once()).then(|| answer.expect(200))
        };
        until(look, || format!("{namespace} is not told of {name}")).await
    }

    /// What all projects of an allocation have of a resource.
    pub(crate) async fn used(&self, allocation: &str, resource: &str) -> String {
        text(&self.allocation(allocation).await["status"]["allocated"]["used"][resource])
    }

    /// What all projects have of a resource is this: as soon as the write has returned, or behind a cluster within moments.
    pub(crate) async fn used_is(&self, allocation: &str, resource: &str, amount: &str) {
        match self.is_at_once() {
            true => assert_eq!(self.used(allocation, resource).await, amount),
            false => self.used_becomes(allocation, resource, amount).await,
        }
    }

    /// Waits until that is so, where it is not so at once.
    pub(crate) async fn catch_up(&self, allocation: &str, resource: &str, amount: &str) {
        if !self.is_at_once() {
            self.used_becomes(allocation, resource, amount).await;
        }
    }

    /// Waits until that is so.
    pub(crate) async fn used_becomes(&self, allocation: &str, resource: &str, amount: &str) {
        until(
            || async { (self.used(allocation, resource).await == amount).then_some(()) },
            || format!("{allocation}: {resource} never became {amount}"),
        )
        .await;
    }

    /// Waits until a condition is so, and gives its message.
    pub(crate) async fn condition_becomes(&self, allocation: &str, condition: &str, status: &str) -> String {
        let look = |conditions: &Value| {
            let found = conditions.as_array()?.iter().find(|one| one["type"] == condition)?;
            (found["status"] == status).then(|| text(&found["message"]))
        };
        let last = std::cell::RefCell::new(Value::Null);
        let look = || async {
            *last.borrow_mut() = self.allocation(allocation).await["status"]["conditions"].clone();
            look(&last.borrow())
        };
        until(look, || format!("{allocation}: {condition} never became {status}: {}", last.borrow())).await
    }
}

/// Binds a user to a role in a namespace, and waits until that counts.
pub(crate) async fn bind(estate: &Estate, namespace: &str, role: &str, user: &str) {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": user },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    });
    let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings");
    if !estate.is_at_once() {
        estate.root.delete(&format!("{path}/{user}")).await;
    }
    estate.root.post(&path, &binding).await.expect(201);
    let path = format!("{API}/namespaces/{namespace}/localresourcequotaallocations");
    let person = estate.site.user(user);
    eventually("the role counts", async || person.get(&path).await.code == 200).await;
}

pub(crate) fn items(list: &Value) -> Vec<Value> {
    list["items"].as_array().cloned().unwrap_or_default()
}

/// Looks until there is something.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(look: impl Fn() -> F, what: impl Fn() -> String) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{}", what());
        sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn allocation(name: &str, selector: &Value, hard: &Value) -> Value {
    json!({
        "apiVersion": "quota.bailiwick.dev/v1alpha1", "kind": "ResourceQuotaAllocation",
        "metadata": { "name": name },
        "spec": { "selector": selector, "allocation": { "hard": hard } },
    })
}

pub(crate) fn quota(name: &str, hard: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": name }, "spec": { "hard": hard } })
}

pub(crate) fn quotas(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/resourcequotas")
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
