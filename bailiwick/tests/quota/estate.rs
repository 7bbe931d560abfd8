//! A server with allocations and projects, and short words for what is done with them.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::client::Answer;
use crate::site::{Person, Site};

pub(crate) const API: &str = "/apis/quota.bailiwick.dev/v1alpha1";

/// A server with allocations and projects.
pub(crate) struct Estate {
    pub(crate) site: Site,
    pub(crate) root: Person,
}

// === impl Estate ===

impl Estate {
    pub(crate) async fn open() -> Self {
        let site = Site::open().await;
        let root = site.root();
        Self { site, root }
    }

    /// One where alice has 10 CPUs for the projects `one`, `two` and `three`.
    pub(crate) async fn of_alice() -> Self {
        let estate = Self::open().await;
        estate.allot("alice", &json!({ "matchLabels": { "owner": "alice" } }), &json!({ "cpu": "10" })).await;
        for name in ["one", "two", "three"] {
            estate.project(name, &json!({ "owner": "alice" })).await;
        }
        estate
    }

    pub(crate) async fn allot(&self, name: &str, selector: &Value, hard: &Value) -> Value {
        self.root.post(&format!("{API}/resourcequotaallocations"), &allocation(name, selector, hard)).await.expect(201)
    }

    pub(crate) async fn project(&self, name: &str, labels: &Value) {
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels } });
        self.root.post("/api/v1/namespaces", &object).await.expect(201);
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
        self.root.get(&path).await.expect(200)
    }

    /// What all projects of an allocation have of a resource.
    pub(crate) async fn used(&self, allocation: &str, resource: &str) -> String {
        text(&self.allocation(allocation).await["status"]["allocated"]["used"][resource])
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
        let look = || async {
            let found = self.allocation(allocation).await["status"]["conditions"].as_array().cloned();
            let found = found.unwrap_or_default().into_iter().find(|one| one["type"] == condition)?;
            (found["status"] == status).then(|| text(&found["message"]))
        };
        until(look, || format!("{allocation}: {condition} never became {status}")).await
    }
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
