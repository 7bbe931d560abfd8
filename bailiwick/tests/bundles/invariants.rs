//! What holds whatever people do with Bundles.

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::shop::{Shop, bundle, map};
use crate::site::RBAC;
use crate::support::rights::{ANONYMOUS, CLUSTER, Measure, Tried};
use crate::witness::nothing_was_done_as_ourselves;

/// What is in the Secrets of these tests.
pub(crate) const CANARY: &str = "canary-value";
/// As it is written, and as it is stored; and what claims for a database put out.
const CANARIES: [&str; 4] = [CANARY, "Y2FuYXJ5LXZhbHVl", "godsexlove", "Z29kc2V4bG92Z"];
const API: &str = "/apis/bundle.bailiwick.dev/v1alpha1";
/// Where Bundles are written in these tests.
const NAMESPACES: [&str; 2] = ["shop", "default"];

/// How rights are measured in a shop: of those who write Bundles, of those who do not, and of the accounts that act.
pub(crate) static MEASURE: Measure = Measure {
    subjects: &[
        "alice",
        "mallory",
        ANONYMOUS,
        "system:serviceaccount:shop:builder",
        "system:serviceaccount:shop:curious",
        "system:serviceaccount:shop:default",
        "system:serviceaccount:shop:limited",
        "system:serviceaccount:shop:weak",
    ],
    namespaces: &NAMESPACES,
    asked: &[
        ("", "serviceaccounts", "builder", "impersonate"),
        ("", "serviceaccounts", "default", "impersonate"),
        ("", "secrets", "vault", "get"),
        ("rbac.authorization.k8s.io", "clusterroles", "admin", "bind"),
    ],
    tried: |place, who| if place == CLUSTER { in_cluster() } else { in_namespace(place, who) },
    at_first: [OnceCell::const_new(), OnceCell::const_new()],
};

/// What is tried in a namespace: to read what Bundles are made of, to make something, with a Bundle as well, and to take the
/// namespace over.
fn in_namespace(namespace: &str, who: &str) -> Tried {
    let core = |plural: &str| format!("/api/v1/namespaces/{namespace}/{plural}");
    let bundles = format!("{API}/namespaces/{namespace}/bundles");
    let admin = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "gain" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": who }],
    });
    let read = vec![core("secrets"), core("configmaps"), bundles.clone()];
    let made = vec![
        (core("configmaps"), map("gain", json!({}))),
        (bundles, bundle("gain", json!([]))),
        (format!("{RBAC}/namespaces/{namespace}/rolebindings"), admin),
    ];
    Tried { read, made }
}

/// What is tried in the cluster.
fn in_cluster() -> Tried {
    let rules = format!("{API}/readinessrules");
    let rule = json!({
        "apiVersion": "bundle.bailiwick.dev/v1alpha1", "kind": "ReadinessRule", "metadata": { "name": "gain" },
        "spec": { "selector": { "group": "gain.example.dev", "kind": "Gain" }, "condition": "Ready" },
    });
    Tried {
        read: vec!["/api/v1/secrets".to_owned(), format!("{API}/bundles"), rules.clone()],
        made: vec![(rules, rule)],
    }
}

// === impl Shop ===

impl Shop {
    /// I1 to I4 of the threat model.
    pub(crate) async fn check_invariants(&self) {
        nothing_was_done_as_ourselves(&self.site.asked_of_host());
        self.everything_was_made_by_accounts().await;
        self.nothing_is_told().await;
        self.rights.as_ref().unwrap().nobody_gains(&self.site).await;
        nothing_was_done_as_ourselves(&self.site.asked_of_host());
    }

    /// I3: what a Bundle has made is where the Bundle is and names it by its UID, and an account of that namespace has made it.
    async fn everything_was_made_by_accounts(&self) {
        let mut deeds = nothing_was_done_as_ourselves(&self.site.asked_of_host());
        for namespace in NAMESPACES {
            for (plural, made) in self.made_in(namespace).await {
                let owners = made["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
                let Some(owner) = owners.iter().find(|owner| owner["kind"] == "Bundle") else { continue };
                let bundle = format!("{API}/namespaces/{namespace}/bundles/{}", owner["name"].as_str().unwrap());
                let bundle = self.root.get(&bundle).await;
                // What is garbage goes, but not at once; in a cluster it may be of a test before.
                if bundle.code == 404 {
                    continue;
                }
                assert_eq!(bundle.json()["metadata"]["uid"], owner["uid"], "{made}");
                let name = made["metadata"]["name"].as_str().unwrap();
                self.site.made_by_an_account(&mut deeds, (namespace, &plural, name)).await;
            }
        }
    }

    /// All objects of a namespace of the kinds that Bundles there have, or may have had, and the plurals of these.
    async fn made_in(&self, namespace: &str) -> Vec<(String, Value)> {
        let mut paths = vec![("configmaps".to_owned(), format!("/api/v1/namespaces/{namespace}/configmaps"))];
        paths.push(("secrets".to_owned(), format!("/api/v1/namespaces/{namespace}/secrets")));
        let definitions = self.root.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").await.expect(200);
        for definition in definitions["items"].as_array().unwrap() {
            let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
            let plural = text("/spec/names/plural");
            let path = format!(
                "/apis/{}/{}/namespaces/{namespace}/{plural}",
                text("/spec/group"),
                text("/spec/versions/0/name")
            );
            paths.push((plural, path));
        }
        let mut made = Vec::new();
        for (plural, path) in paths {
            let answer = self.root.get(&path).await;
            // A definition may be going.
            let items = answer.json()["items"].as_array().cloned().unwrap_or_default();
            made.extend(items.into_iter().map(|item| (plural.clone(), item)));
        }
        made
    }

    /// I4, B-02, B-11: what is in a Secret is told nowhere else. A Bundle's own words are its writer's.
    async fn nothing_is_told(&self) {
        let mut paths = Vec::new();
        for namespace in NAMESPACES {
            paths.push(format!("/api/v1/namespaces/{namespace}/configmaps"));
            paths.push(format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"));
            let bundles = self.root.get(&format!("{API}/namespaces/{namespace}/bundles")).await.expect(200);
            for bundle in bundles["items"].as_array().unwrap() {
                let status = bundle["status"].to_string();
                assert!(CANARIES.iter().all(|canary| !status.contains(canary)), "{status}");
            }
        }
        self.site.tells_nothing(&paths, &CANARIES).await;
    }
}
