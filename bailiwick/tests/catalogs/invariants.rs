//! What holds whatever people do with catalogs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::market::{Market, NAMESPACES, claims, entries};
use crate::objects::{API, RBAC, claim, condition, entry, local};
use crate::site::{Mode, eventually};
use crate::witness::nothing_was_done_as_ourselves;

/// What is in the Secret that is published, as it is written and as it is stored.
const CANARIES: [&str; 2] = ["hunter2", "aHVudGVyMg"];

/// What copies are of, in these tests.
const MADE: [(&str, &str); 5] = [
    ("/api/v1", "configmaps"),
    ("/api/v1", "resourcequotas"),
    ("/api/v1", "secrets"),
    (RBAC, "rolebindings"),
    (RBAC, "roles"),
];
/// How soon a right that was taken has no effect any more.
const REVOKED_WITHIN: Duration = Duration::from_secs(10);
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);

// === impl Market ===

impl Market {
    /// I1 to I5 of the threat model.
    pub(crate) async fn check_invariants(&self) {
        self.check_copies(&NAMESPACES).await;
        self.check_told(&NAMESPACES, &CANARIES).await;
        self.rights.as_ref().unwrap().nobody_gains(&self.site).await;
        self.what_is_revoked_ends().await;
    }

    /// I2, I3: nothing was done as ourselves; each copy is where its claim is, and an account of that namespace made it.
    pub(crate) async fn check_copies(&self, namespaces: &[&str]) {
        let mut deeds = nothing_was_done_as_ourselves(&self.site.asked_of_host());
        for (namespace, (api, plural)) in namespaces.iter().flat_map(|name| MADE.map(|made| (*name, made))) {
            let path = format!("{api}/namespaces/{namespace}/{plural}?labelSelector=bailiwick.dev%2Fderived-from");
            for copy in self.root().get(&path).await.expect(200)["items"].as_array().unwrap() {
                let owners = copy["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
                let Some(owner) = owners.iter().find(|owner| owner["kind"] == "ResourceCatalogClaim") else { continue };
                let claim =
                    self.root().get(&format!("{}/{}", claims(namespace), owner["name"].as_str().unwrap())).await;
                if claim.code == 200 && claim.json()["metadata"]["deletionTimestamp"].is_null() {
                    assert_eq!(claim.json()["metadata"]["uid"], owner["uid"], "{copy}");
                }
                // One that was made by a claim of an earlier test goes, but not at once.
                if claim.code == 404 && self.site.mode == Mode::Behind {
                    continue;
                }
                let copy = (namespace, plural, copy["metadata"]["name"].as_str().unwrap());
                self.site.made_by_an_account(&mut deeds, copy).await;
            }
        }
        nothing_was_done_as_ourselves(&self.site.asked_of_host());
    }

    /// I5: with the right to claim and the right to publish ends what follows from them, for whoever is about to use them and
    /// for claims that follow.
    async fn what_is_revoked_ends(&self) {
        let root = self.root();
        for (namespace, name) in [("a", "eddie-claims"), ("a", "claim-gold"), ("shop", "pat")] {
            let binding = format!("{RBAC}/namespaces/{namespace}/rolebindings/{name}");
            let gone = root.delete(&binding).await.code;
            assert!(matches!(gone, 200 | 404), "{binding}: {gone}");
        }
        let began = Instant::now();
        let (claimed, published) = (claim("late", "late", json!({})), entry("late", local(&[("Secret", "creds")])));
        for (who, path, object) in
            [("eddie", claims("a"), &claimed), ("ada", claims("a"), &claimed), ("pat", entries("shop"), &published)]
        {
            let (person, path) = (self.user(who), format!("{path}?dryRun=All"));
            eventually("what was revoked ends", async || person.post(&path, object).await.code == 403).await;
        }
        let follows = |claim: &Value| {
            let requester = claim["status"]["requester"]["username"].as_str().unwrap_or_default();
            condition(claim, "Synced").0 == "True" && matches!(requester, "ada" | "eddie")
        };
        let mut looks = 0;
        eventually("no claim follows any more", async || {
            let list = root.get(&claims("a")).await.expect(200);
            let is_over = !list["items"].as_array().unwrap().iter().any(follows);
            if !is_over {
                // Which makes them be looked at.
                looks += 1;
                let touched = json!({ "metadata": { "labels": { "touched": looks.to_string() } } });
                root.merge("/api/v1/namespaces/a", &touched).await.expect(200);
                sleep(BETWEEN_LOOKS).await;
            }
            is_over
        })
        .await;
        assert!(began.elapsed() < REVOKED_WITHIN, "it took {:?}", began.elapsed());
    }

    /// I4, D-12: what is in a Secret is told nowhere else.
    pub(crate) async fn check_told(&self, namespaces: &[&str], canaries: &[&str]) {
        let mut paths = vec![format!("{API}/resourcecatalogs")];
        for namespace in namespaces {
            paths.extend([claims(namespace), entries(namespace)]);
            paths.push(format!("/api/v1/namespaces/{namespace}/configmaps"));
            paths.push(format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"));
        }
        self.site.tells_nothing(&paths, canaries).await;
    }
}
