//! A server with a namespace in which Bundles are written, and an account that carries them out.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::process::PATIENCE;
use crate::site::{Mode, Person, Site};

pub(crate) const BUNDLES: &str = "/apis/bundle.bailiwick.dev/v1alpha1/namespaces/shop/bundles";
pub(crate) const SECRETS: &str = "/api/v1/namespaces/shop/secrets";
pub(crate) const MAPS: &str = "/api/v1/namespaces/shop/configmaps";
pub(crate) const SLEEPERS: &str = "/apis/tpr.atlassian.com/v1/namespaces/shop/sleepers";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A server with the namespace `shop`, in which the account `builder` may do everything.
pub(crate) struct Shop {
    pub(crate) site: Site,
    pub(crate) root: Person,
}

// === impl Shop ===

impl Shop {
    pub(crate) async fn open(site: Site) -> Self {
        let shop = Self { root: site.root(), site };
        let namespace = "/api/v1/namespaces/shop";
        if shop.site.mode == Mode::Behind && shop.root.get(namespace).await.code == 200 {
            // What an earlier test has left.
            shop.root.delete(namespace).await;
            shop.gone(namespace).await;
        }
        shop.root.post("/api/v1/namespaces", &crate::site::namespace("shop", None)).await.expect(201);
        if shop.site.mode == Mode::Behind {
            let binding = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "bailiwick-act-as" },
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "bailiwick:act-as" },
                "subjects": [{ "kind": "ServiceAccount", "name": "bailiwick", "namespace": "bailiwick-system" }],
            });
            shop.root.post(&format!("{RBAC}/namespaces/shop/rolebindings"), &binding).await.expect(201);
        }
        shop.account("builder").await;
        let all = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
        shop.allow("builder", all).await;
        shop.define(
            "tpr.atlassian.com",
            "Sleeper",
            json!({
                "smith.atlassian.com/TprReadyWhenFieldPath": "status.state",
                "smith.atlassian.com/TprReadyWhenFieldValue": "Awake",
            }),
        )
        .await;
        shop
    }

    pub(crate) async fn account(&self, name: &str) -> Value {
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name } });
        self.root.post("/api/v1/namespaces/shop/serviceaccounts", &account).await.expect(201)
    }

    /// Gives an account of the shop these rights in it.
    pub(crate) async fn allow(&self, account: &str, rules: Value) {
        let subject = json!({ "kind": "ServiceAccount", "name": account, "namespace": "shop" });
        self.bind(account, rules, subject).await;
    }

    pub(crate) async fn bind(&self, name: &str, rules: Value, subject: Value) {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": name }, "rules": rules,
        });
        self.root.post(&format!("{RBAC}/namespaces/shop/roles"), &role).await.expect(201);
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name }, "subjects": [subject],
        });
        self.root.post(&format!("{RBAC}/namespaces/shop/rolebindings"), &binding).await.expect(201);
    }

    pub(crate) async fn forbid(&self, account: &str) {
        self.root.delete(&format!("{RBAC}/namespaces/shop/rolebindings/{account}")).await.expect(200);
    }

    /// Defines a kind whose objects may be anything, and have a status of their own.
    pub(crate) async fn define(&self, group: &str, kind: &str, annotations: Value) {
        let plural = format!("{}s", kind.to_lowercase());
        let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{group}"), "annotations": annotations },
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": { "plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List") },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                    "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": anything, "status": anything } } },
                }],
            },
        });
        let made = self.root.post(DEFINITIONS, &definition).await;
        if made.code == 409 && self.site.mode == Mode::Behind {
            // A cluster has it from an earlier test.
            let path = format!("{DEFINITIONS}/{plural}.{group}");
            self.root.merge(&path, &json!({ "metadata": { "annotations": annotations } })).await.expect(200);
        } else {
            made.expect(201);
        }
        self.served(&format!("/apis/{group}/v1/namespaces/shop/{plural}")).await;
    }

    /// Waits until a kind is served.
    pub(crate) async fn served(&self, path: &str) {
        let began = Instant::now();
        while self.root.get(path).await.code != 200 {
            assert!(began.elapsed() < PATIENCE, "{path} is not served");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Writes a Bundle that the account `builder` carries out.
    pub(crate) async fn write(&self, name: &str, resources: Value) -> Value {
        self.root.post(BUNDLES, &bundle(name, resources)).await.expect(201)
    }

    /// Changes the resources of a Bundle.
    pub(crate) async fn change(&self, name: &str, resources: Value) -> Value {
        let patch = json!({ "spec": { "resources": resources } });
        self.root.merge(&format!("{BUNDLES}/{name}"), &patch).await.expect(200)
    }

    pub(crate) async fn bundle(&self, name: &str) -> Value {
        self.root.get(&format!("{BUNDLES}/{name}")).await.expect(200)
    }

    /// Waits until a Bundle is ready, in its newest generation.
    pub(crate) async fn ready(&self, name: &str) -> Value {
        self.until(&format!("{BUNDLES}/{name}"), |bundle| {
            bundle["status"]["observedGeneration"] == bundle["metadata"]["generation"]
                && condition(bundle, "Ready")["status"] == "True"
        })
        .await
    }

    /// Waits until a resource of a Bundle is in a phase for a reason. Gives what is said of it.
    pub(crate) async fn says(&self, name: &str, resource_name: &str, phase: &str, reason: &str) -> Value {
        let bundle = self
            .until(&format!("{BUNDLES}/{name}"), |bundle| {
                let found = resource(bundle, resource_name);
                (found["phase"].as_str(), found["reason"].as_str()) == (Some(phase), Some(reason))
            })
            .await;
        resource(&bundle, resource_name)
    }

    /// Waits until an object is as expected.
    pub(crate) async fn until(&self, path: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
        let (began, mut last) = (Instant::now(), Value::Null);
        while began.elapsed() < PATIENCE {
            let answer = self.root.get(path).await;
            last = answer.json();
            if answer.code == 200 && is_expected(&last) {
                return last;
            }
            sleep(Duration::from_millis(20)).await;
        }
        panic!("{path} stays {last:#}")
    }

    pub(crate) async fn gone(&self, path: &str) {
        let began = Instant::now();
        while self.root.get(path).await.code != 404 {
            assert!(began.elapsed() < PATIENCE, "{path} stays: {}", self.root.get(path).await.json());
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Says in the status of an object what its controller would say.
    pub(crate) async fn set_status(&self, path: &str, status: Value) {
        self.root.merge(&format!("{path}/status"), &json!({ "status": status })).await.expect(200);
    }

    /// Wakes a sleeper.
    pub(crate) async fn wake(&self, name: &str, message: &str) {
        self.set_status(&format!("{SLEEPERS}/{name}"), json!({ "state": "Awake", "message": message })).await;
    }

    pub(crate) async fn apply(&self, path: &str, manager: &str, object: &Value) -> Value {
        let path = format!("{path}?fieldManager={manager}&force=true");
        let answer = self.root.send(Method::PATCH, &path, "application/apply-patch+yaml", Some(object)).await;
        assert!(matches!(answer.code, 200 | 201), "{}", answer.json());
        answer.json()
    }
}

// === objects ===

pub(crate) fn bundle(name: &str, resources: Value) -> Value {
    json!({
        "apiVersion": "bundle.bailiwick.dev/v1alpha1", "kind": "Bundle", "metadata": { "name": name },
        "spec": { "serviceAccountName": "builder", "resources": resources },
    })
}

/// A resource of the same name as its object.
pub(crate) fn part(depends_on: &[&str], object: Value) -> Value {
    json!({ "name": object["metadata"]["name"], "dependsOn": depends_on, "spec": object })
}

pub(crate) fn map(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

pub(crate) fn secret(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": data })
}

pub(crate) fn sleeper(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "tpr.atlassian.com/v1", "kind": "Sleeper", "metadata": { "name": name }, "spec": spec })
}

pub(crate) fn condition(object: &Value, wanted: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == wanted).unwrap_or_default()
}

pub(crate) fn resource(bundle: &Value, name: &str) -> Value {
    let resources = bundle["status"]["resources"].as_array().cloned().unwrap_or_default();
    resources.into_iter().find(|resource| resource["name"] == name).unwrap_or_default()
}
