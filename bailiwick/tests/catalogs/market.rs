//! A server with a project that publishes and two that claim, and the people who work in them.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::objects::{API, RBAC, bound, catalog, config_map, role, secret, uses};
use crate::process::PATIENCE;
use crate::rights::MEASURE;
use crate::site::{Mode, Person, Site, eventually};
use crate::support::rights::Ledger;

/// The namespaces.
pub(crate) const NAMESPACES: [&str; 3] = ["shop", "a", "b"];

/// A server.
pub(crate) struct Market {
    pub(crate) site: Site,
    /// What everyone could do at first, and what was given and taken since; nothing before it is open.
    pub(crate) rights: Option<Ledger>,
}

// === impl Market ===

impl Market {
    /// One in which pat administers `shop`, with a Secret and a ConfigMap that the account `publisher` may read; ada administers
    /// `a`, where eddie edits; bea administers `b`. In `a` and `b` the account `maker` edits. The catalog gold is there, in
    /// which pat may publish, and from which ada and eddie may claim in `a`.
    pub(crate) async fn open(site: Site) -> Self {
        let mut market = Self { site, rights: None };
        let root = market.root();
        eventually("catalogs are served", async || root.get(&format!("{API}/resourcecatalogs")).await.code == 200)
            .await;
        for (namespace, people) in [
            ("shop", &[("pat", "admin")][..]),
            ("a", &[("ada", "admin"), ("eddie", "edit")]),
            ("b", &[("bea", "admin")]),
        ] {
            market.make_namespace(namespace).await;
            for (name, role) in people {
                market.bind_at_last(namespace, name, &format!("ClusterRole/{role}"), &format!("User/{name}")).await;
            }
        }
        market.make("shop", "secrets", &secret("creds", json!({ "password": "hunter2" }))).await;
        market.make("shop", "configmaps", &config_map("settings", json!({ "colour": "blue" }))).await;
        market.account("shop", "publisher").await;
        let reads =
            json!({ "apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["get", "list", "watch"] });
        market.grant_at_last("shop", "publisher", reads, "ServiceAccount/publisher").await;
        for namespace in ["a", "b"] {
            market.account(namespace, "maker").await;
            market.bind_at_last(namespace, "maker", "ClusterRole/edit", "ServiceAccount/maker").await;
        }
        let gold = catalog("gold", json!({ "selector": { "tier": "gold" } }));
        root.post(&format!("{API}/resourcecatalogs"), &gold).await.expect(201);
        market.grant_at_last("shop", "publish-gold", uses("publish", "gold"), "User/pat").await;
        market.grant_at_last("a", "claim-gold", uses("claim", "gold"), "User/ada").await;
        market.bind_at_last("a", "eddie-claims", "Role/claim-gold", "User/eddie").await;
        market.site.a_moment().await;
        market.rights = Some(Ledger::open(&MEASURE, &market.site).await);
        market
    }

    /// A namespace in which, behind a cluster, accounts may be acted as, and nothing is left of earlier tests.
    pub(crate) async fn make_namespace(&self, name: &str) {
        let root = self.root();
        let made = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        let answer = root.post("/api/v1/namespaces", &made).await;
        if self.site.mode == Mode::Alone {
            answer.expect(201);
            return;
        }
        if answer.code == 409 {
            let unlabelled = json!({ "metadata": { "labels": { "open": null, "touched": null, "trusted": null } } });
            root.merge(&format!("/api/v1/namespaces/{name}"), &unlabelled).await.expect(200);
            for (api, plural) in [
                (RBAC, "rolebindings"),
                (RBAC, "roles"),
                ("/api/v1", "configmaps"),
                ("/api/v1", "resourcequotas"),
                ("/api/v1", "secrets"),
                ("/api/v1", "serviceaccounts"),
                ("/apis/events.k8s.io/v1", "events"),
            ] {
                root.delete(&format!("{api}/namespaces/{name}/{plural}")).await.expect(200);
            }
        }
        let mut acting = bound("bailiwick-acts", name, "ClusterRole/bailiwick:act-as", "ServiceAccount/bailiwick");
        acting["subjects"][0]["namespace"] = json!("bailiwick-system");
        root.post(&format!("{RBAC}/namespaces/{name}/rolebindings"), &acting).await.expect(201);
    }

    /// The administrator of the server, or of the cluster.
    pub(crate) fn root(&self) -> Person {
        self.site.root()
    }

    /// A user.
    pub(crate) fn user(&self, name: &str) -> Person {
        self.site.user(name)
    }

    /// Kills the server, and starts it again.
    pub(crate) async fn restart(&mut self) {
        self.site.restart().await;
        let root = self.root();
        eventually("catalogs are served", async || root.get(&format!("{API}/resourcecatalogs")).await.code == 200)
            .await;
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
        let binding = self.bind_at_last(namespace, name, role, subject);
        self.when_rights_change(namespace, &named(subject, namespace), binding).await;
    }

    /// The same, which may count a moment later.
    async fn bind_at_last(&self, namespace: &str, name: &str, role: &str, subject: &str) {
        let path = format!("{RBAC}/namespaces/{namespace}/rolebindings");
        self.root().post(&path, &bound(name, namespace, role, subject)).await.expect(201);
    }

    /// Gives a right to someone in a namespace.
    pub(crate) async fn grant(&self, namespace: &str, name: &str, rule: Value, subject: &str) {
        let granting = self.grant_at_last(namespace, name, rule, subject);
        self.when_rights_change(namespace, &named(subject, namespace), granting).await;
    }

    async fn grant_at_last(&self, namespace: &str, name: &str, rule: Value, subject: &str) {
        self.root().post(&format!("{RBAC}/namespaces/{namespace}/roles"), &role(name, rule)).await.expect(201);
        self.bind_at_last(namespace, name, &format!("Role/{name}"), subject).await;
    }

    pub(crate) async fn revoke(&self, namespace: &str, name: &str) {
        let (root, path) = (self.root(), format!("{RBAC}/namespaces/{namespace}/rolebindings/{name}"));
        let subject = root.get(&path).await.expect(200)["subjects"][0].clone();
        let subject = format!("{}/{}", subject["kind"].as_str().unwrap_or_default(), subject["name"].as_str().unwrap());
        let revoking = async { drop(root.delete(&path).await.expect(200)) };
        self.when_rights_change(namespace, &named(&subject, namespace), revoking).await;
    }

    /// Gives back what was revoked.
    pub(crate) async fn give_back(&self, namespace: &str, binding: &Value) {
        let subject = &binding["subjects"][0];
        let subject = format!("{}/{}", subject["kind"].as_str().unwrap(), subject["name"].as_str().unwrap());
        let mut again = binding.clone();
        again["metadata"] = json!({ "name": binding["metadata"]["name"] });
        let (root, path) = (self.root(), format!("{RBAC}/namespaces/{namespace}/rolebindings"));
        let giving = async { drop(root.post(&path, &again).await.expect(201)) };
        self.when_rights_change(namespace, &named(&subject, namespace), giving).await;
    }

    /// Someone who may does change what this one can do.
    pub(crate) async fn when_rights_change(&self, namespace: &str, who: &str, change: impl Future<Output = ()>) {
        self.rights.as_ref().unwrap().when_rights_change(&self.site, (namespace, who), change).await;
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
            let found = if answer.code == 200 { answer.json() } else { Value::Null };
            if answer.code == 200 && is_it(&found) {
                return found;
            }
            assert!(began.elapsed() < PATIENCE, "{path} is not so: {found}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until nothing is at a path.
    pub(crate) async fn until_gone(&self, path: &str) {
        let (began, root) = (Instant::now(), self.root());
        while root.get(path).await.code != 404 {
            assert!(began.elapsed() < PATIENCE, "{path} is still there");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Whom a binding in a namespace is about, as the host calls them.
fn named(subject: &str, namespace: &str) -> String {
    match subject.split_once('/').unwrap() {
        ("ServiceAccount", name) => format!("system:serviceaccount:{namespace}:{name}"),
        (_, name) => name.to_owned(),
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
