//! A server with a namespace in which Bundles are written, and an account that carries them out.

use std::time::Duration;

use bailiwick_test_host::Kubectl;
use http::Method;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use crate::invariants::{CANARY, MEASURE};
use crate::process::PATIENCE;
use crate::site::{Mode, Person, Site};
use crate::support::rights::Ledger;

pub(crate) const BUNDLES: &str = "/apis/bundle.bailiwick.dev/v1alpha1/namespaces/shop/bundles";
pub(crate) const SECRETS: &str = "/api/v1/namespaces/shop/secrets";
pub(crate) const MAPS: &str = "/api/v1/namespaces/shop/configmaps";
pub(crate) const SLEEPERS: &str = "/apis/tpr.atlassian.com/v1/namespaces/shop/sleepers";
pub(crate) const CLAIMS: &str = "/apis/smith.atlassian.com/v1/namespaces/shop/resourceclaims";
pub(crate) const BINDINGS: &str = "/apis/smith.atlassian.com/v1/namespaces/shop/resourcebindings";
/// After which time is looked at what nobody tells of.
pub(crate) const LOOKED_AT_AGAIN: Duration = Duration::from_secs(15);
/// By this the cluster hands on the group by which others know Bundles, or that of the sample kinds: one of both.
const SMITH: &str = "/apis/apiregistration.k8s.io/v1/apiservices/v1.smith.atlassian.com";
const CROSSPLANE: &str = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.core.crossplane.io";
/// What is gone when the cluster's garbage collector has done its part. It asks a server that was away, as ours is between two
/// tests, again after up to half a minute.
const GONE: Duration = PATIENCE.saturating_mul(3);
const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A server with the namespace `shop`, in which the account `builder` may do everything.
pub(crate) struct Shop {
    pub(crate) site: Site,
    pub(crate) root: Person,
    /// What everyone could do at first, and what was given and taken since; nothing before it is open.
    pub(crate) rights: Option<Ledger>,
    /// The controller of the sample kinds, where there are any.
    _controller: Option<AbortOnDropHandle<()>>,
}

// === impl Shop ===

impl Shop {
    pub(crate) async fn open(mode: Mode) -> Self {
        Self::open_with(mode, &[]).await
    }

    /// One whose Bundles are also known by the name that others know.
    pub(crate) async fn open_with_aliases(mode: Mode) -> Self {
        let shop = Self::open_with(mode, &["--alias-groups"]).await;
        if mode == Mode::Behind {
            // Nobody else may have the group.
            for plural in ["resourceclaims", "resourcebindings"] {
                let definition = format!("{DEFINITIONS}/{plural}.smith.atlassian.com");
                shop.root.delete(&definition).await;
                shop.gone(&definition).await;
            }
            shop.gone(SMITH).await;
            shop.site.cluster().register_aliases().await;
        }
        shop.served(&BUNDLES.replace("bundle.bailiwick.dev/v1alpha1", "smith.atlassian.com/v1")).await;
        shop
    }

    /// One in which that name is free for others' kinds.
    pub(crate) async fn open_without_aliases(mode: Mode) -> Self {
        Self::open_with(mode, &["--alias-groups=false"]).await
    }

    /// One with the sample kinds, which are in that group, and their controller beside it.
    pub(crate) async fn open_with_claims(mode: Mode) -> Self {
        let shop = Self::open_without_aliases(mode).await;
        let definitions = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/definitions.yaml");
        shop.kubectl(&format!("apply -f {definitions}")).await;
        shop.served(CLAIMS).await;
        shop.served(BINDINGS).await;
        let controller = AbortOnDropHandle::new(tokio::spawn(bailiwick_examples::run(shop.client().await)));
        Self { _controller: Some(controller), ..shop }
    }

    async fn open_with(mode: Mode, flags: &[&str]) -> Self {
        let site = match mode {
            Mode::Alone => Site::alone_with(flags).await,
            Mode::Behind => Site::behind_with(flags).await,
        };
        let mut shop = Self { root: site.root(), site, rights: None, _controller: None };
        let namespace = "/api/v1/namespaces/shop";
        if shop.site.mode == Mode::Behind {
            // What an earlier test has left: a group that nobody serves any more keeps namespaces from going, and an aggregator
            // goes on asking there for all documents that its server had.
            for alias in [SMITH, CROSSPLANE] {
                if shop.root.get(alias).await.json()["spec"]["service"].is_object() {
                    shop.root.delete(alias).await.expect(200);
                    shop.gone(alias).await;
                }
            }
            if shop.root.get(namespace).await.code == 200 {
                shop.root.delete(namespace).await;
                shop.gone(namespace).await;
            }
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
        shop.root.post(SECRETS, &secret("vault", json!({ "password": CANARY }))).await.expect(201);
        shop.until("/api/v1/namespaces/shop/serviceaccounts/default", |_| true).await;
        shop.site.a_moment().await;
        shop.rights = Some(Ledger::open(&MEASURE, &shop.site).await);
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

    /// Gives rights, and waits until they count: the cluster takes a moment to notice.
    pub(crate) async fn bind(&self, name: &str, rules: Value, subject: Value) {
        let user = match subject["kind"].as_str() {
            Some("ServiceAccount") => format!("system:serviceaccount:shop:{}", subject["name"].as_str().unwrap()),
            _ => subject["name"].as_str().unwrap().to_owned(),
        };
        let giving = self.give(name, rules, subject, &user);
        self.when_rights_change(&user, giving).await;
    }

    /// Someone who may does change what this one can do in the shop.
    pub(crate) async fn when_rights_change(&self, who: &str, change: impl Future<Output = ()>) {
        match &self.rights {
            Some(rights) => rights.when_rights_change(&self.site, ("shop", who), change).await,
            None => change.await,
        }
    }

    async fn give(&self, name: &str, rules: Value, subject: Value, user: &str) {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": name }, "rules": rules,
        });
        self.root.post(&format!("{RBAC}/namespaces/shop/roles"), &role).await.expect(201);
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name }, "subjects": [subject],
        });
        self.root.post(&format!("{RBAC}/namespaces/shop/rolebindings"), &binding).await.expect(201);
        let first = |rule: &Value, list: &str| rule[list][0].as_str().unwrap_or_default().to_owned();
        for rule in rules.as_array().unwrap() {
            let question = json!({ "spec": { "user": user, "resourceAttributes": {
                "namespace": "shop", "verb": first(rule, "verbs"), "group": first(rule, "apiGroups"),
                "resource": first(rule, "resources"), "name": first(rule, "resourceNames"),
            } } });
            let began = Instant::now();
            while self.root.post(ACCESS_REVIEWS, &question).await.expect(201)["status"]["allowed"] != true {
                assert!(began.elapsed() < PATIENCE, "{user} has not got {rule}");
                sleep(Duration::from_millis(50)).await;
            }
        }
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

    /// Waits until an object is gone.
    pub(crate) async fn gone(&self, path: &str) {
        let began = Instant::now();
        while self.root.get(path).await.code != 404 {
            assert!(began.elapsed() < GONE, "{path} stays: {}", self.root.get(path).await.json());
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// What kubectl prints for a command, which must succeed; its words are separated by spaces.
    pub(crate) async fn kubectl(&self, command: &str) -> String {
        let kubectl = Kubectl::new(&self.site.kubeconfig).await.unwrap();
        let output = kubectl.run(command.split(' ')).await.unwrap();
        output.success().unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// A client as anyone would make it, from the administrator's kubeconfig.
    pub(crate) async fn client(&self) -> Client {
        let kubeconfig = Kubeconfig::read_from(&self.site.kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        Client::try_from(config).unwrap()
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
