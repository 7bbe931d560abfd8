//! What holds whatever people do with catalogs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::market::{Market, NAMESPACES, claims, entries};
use crate::objects::API;
use crate::site::{Mode, eventually};
use crate::witness::nothing_was_done_as_ourselves;

/// What is in the Secret that is published, as it is written and as it is stored.
const CANARIES: [&str; 2] = ["hunter2", "aHVudGVyMg"];

// === impl Market ===

impl Market {
    /// I1 to I4 of the threat model. That what was revoked ends soon, I5, has cases of its own.
    pub(crate) async fn check_invariants(&self) {
        self.nobody_gains().await;
        for (namespace, plural) in NAMESPACES.into_iter().flat_map(|name| [(name, "configmaps"), (name, "secrets")]) {
            let path = format!("/api/v1/namespaces/{namespace}/{plural}?labelSelector=bailiwick.dev%2Fderived-from");
            for copy in self.root().get(&path).await.expect(200)["items"].as_array().unwrap() {
                let owners = copy["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
                let Some(owner) = owners.iter().find(|owner| owner["kind"] == "ResourceCatalogClaim") else { continue };
                // I3: it is where its claim is, and an account of that namespace made it.
                let claim =
                    self.root().get(&format!("{}/{}", claims(namespace), owner["name"].as_str().unwrap())).await;
                if claim.code == 200 && claim.json()["metadata"]["deletionTimestamp"].is_null() {
                    assert_eq!(claim.json()["metadata"]["uid"], owner["uid"], "{copy}");
                }
                let name = copy["metadata"]["name"].as_str().unwrap();
                // One that was made by a claim of an earlier test goes, but not at once.
                if claim.code != 404 || self.site.mode == Mode::Alone {
                    // It may have been made just now, and the log is written a moment later.
                    let what = format!("someone who made {copy}");
                    eventually(&what, async || self.was_made_by_an_account(namespace, plural, name)).await;
                }
            }
        }
        nothing_was_done_as_ourselves(&self.site.asked_of_host());
        self.nothing_is_told().await;
    }

    /// Whether an account of the namespace has made an object there.
    fn was_made_by_an_account(&self, namespace: &str, plural: &str, name: &str) -> bool {
        let account = format!("system:serviceaccount:{namespace}:");
        nothing_was_done_as_ourselves(&self.site.asked_of_host()).iter().any(|deed| {
            deed.user.starts_with(&account)
                && matches!(&*deed.verb, "create" | "patch")
                && (&*deed.resource, &*deed.namespace, &*deed.name) == (plural, namespace, name)
        })
    }

    /// I1: whoever was given nothing has nothing, wherever claims were realized.
    async fn nobody_gains(&self) {
        let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
        for namespace in NAMESPACES {
            let review = json!({
                "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": { "namespace": namespace },
            });
            let rules = async |name: &str| {
                let answer = self.user(name).post(path, &review).await.expect(201);
                let rules = ["resourceRules", "nonResourceRules"].map(|field| answer["status"][field].clone());
                // They come in any order.
                let each = rules.iter().flat_map(|rules| rules.as_array().into_iter().flatten());
                each.map(Value::to_string).collect::<BTreeSet<String>>()
            };
            assert_eq!(rules("mallory").await, rules("somebody-else").await, "{namespace}");
        }
    }

    /// I4: what is in a Secret is told nowhere else.
    async fn nothing_is_told(&self) {
        let mut paths = vec![format!("{API}/resourcecatalogs")];
        for namespace in NAMESPACES {
            paths.extend([claims(namespace), entries(namespace)]);
            paths.push(format!("/api/v1/namespaces/{namespace}/configmaps"));
            paths.push(format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"));
        }
        let mut texts = Vec::new();
        for path in paths {
            texts.push((path.clone(), self.root().get(&path).await.expect(200)));
        }
        texts.push(("the host's audit log".to_owned(), Value::Array(self.site.asked_of_host())));
        for (place, text) in texts {
            let text = text.to_string();
            assert!(CANARIES.iter().all(|canary| !text.contains(canary)), "{place} tells a secret");
        }
    }
}
