//! The Secrets of claims: one each, whatever comes between, and followed for as long as they matter to someone.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::{Method, Request};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::claim_site::{PROVIDER, provide, says};
use crate::site::{Road, SOON, Site, comes, gone, release, stays};

/// How often a Secret is renamed to have its name untold.
const ATTEMPTS: usize = 10;
/// By then the Secret is made, if what waits says its name.
const MADE_BY_THEN: Duration = Duration::from_secs(3);

// === impl Site ===

impl Site {
    /// With servers that have Secrets, and a class that claims get which ask for none.
    async fn furnish_with_secrets(&mut self) {
        self.furnish_one().await;
        self.run(provide(self.client.clone()));
        let template = json!({ "writeConnectionSecretToRef": { "namespace": PROVIDER } });
        self.default_class("ServerClass", "gold", template).await;
    }

    async fn name_secret(&self, name: Value) {
        let patch = json!({ "spec": { "writeConnectionSecretToRef": name } });
        self.objects("Database").patch("db", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Waits until these are the Secrets of a claim.
    async fn has_secrets(&self, uid: &str, wanted: &[&str]) {
        if let Err(last) = self.secrets_become(uid, wanted, SOON).await {
            panic!("they are {last:?}: {:#?}", self.objects("Database").get("db").await);
        }
    }

    /// The same within a time; else which ones they are.
    async fn secrets_become(&self, uid: &str, wanted: &[&str], within: Duration) -> Result<(), BTreeSet<String>> {
        let labelled = ListParams::default().labels(&format!("claim.bailiwick.dev/claim-uid={uid}"));
        let mut last = BTreeSet::new();
        let are_so = async {
            loop {
                let found = self.secrets().list_metadata(&labelled).await.unwrap();
                last = found.iter().map(ResourceExt::name_any).collect();
                if last.iter().eq(wanted) {
                    return;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        let so = timeout(within, are_so).await;
        so.map_err(|_| last)
    }

    /// Waits until the status of the claim names its Secret.
    async fn tells_secret(&self, name: &str) {
        comes(&self.objects("Database"), "db", |claim| {
            let status = &claim.data["status"];
            status["binding"]["name"] == name && status["observedGeneration"].as_i64() == claim.metadata.generation
        })
        .await;
    }

    /// Gives the claim a Secret of another name, which is made, while its status is about to say so and waits. A look that had not
    /// seen the new name may have something to say as well, and wait in its place: then it is tried again.
    async fn name_secret_untold(&self, road: &Road, uid: &str) {
        for attempt in 0..ATTEMPTS {
            let name = format!("other-{attempt}");
            road.waited.store(0, Ordering::Relaxed);
            road.held.send_replace(Some(|method, uri| {
                *method == Method::PATCH && uri.path().ends_with("/databases/db/status")
            }));
            self.name_secret(json!({ "name": name })).await;
            let waits = async {
                while road.waited.load(Ordering::Relaxed) == 0 {
                    sleep(Duration::from_millis(5)).await;
                }
            };
            timeout(SOON, waits).await.expect("the status is about to be written");
            if self.secrets_become(uid, &[&name], MADE_BY_THEN).await.is_ok() {
                return;
            }
            road.held.send_replace(None);
            self.tells_secret(&name).await;
        }
        panic!("what waits is never what says the new name");
    }

    /// How many watches of Secrets are open.
    async fn secret_watches(&self) -> u64 {
        let metrics = self.client.request_text(Request::get("/metrics").body(Vec::new()).unwrap()).await.unwrap();
        let open = metrics.lines().filter(|line| {
            line.starts_with("apiserver_longrunning_requests{") && line.contains("resource=\"secrets\"")
        });
        open.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
    }

    async fn watches_secrets(&self, wanted: u64) {
        let are_so = async {
            while self.secret_watches().await != wanted {
                sleep(Duration::from_millis(10)).await;
            }
        };
        let so = timeout(SOON, are_so).await;
        assert!(so.is_ok(), "there are {} watches, and {wanted} are wanted", self.secret_watches().await);
    }
}

/// RCD-17, R-26, decisions 42: a claim whose Secret is renamed, and back before that was said in its status, has the one that it names
/// and no other besides; also if its controller ended there.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_renamed_and_back() {
    let mut site = Site::open().await;
    site.furnish_with_secrets().await;
    site.post("Database", "db", json!({ "spec": {} })).await;
    let uid = {
        let _whole = site.claim_controller(site.client.clone());
        site.bound("db").await.uid().unwrap()
    };
    for ends in [false, true] {
        let (road, client) = site.road();
        let controller = site.claim_controller(client);
        // This controller has had its first look, too.
        site.name_secret(json!({ "name": "first" })).await;
        site.tells_secret("first").await;
        site.name_secret_untold(&road, &uid).await;
        let mut controller = Some(controller);
        if ends {
            controller = None;
        }
        site.name_secret(Value::Null).await;
        road.held.send_replace(None);
        let _whole = controller.unwrap_or_else(|| site.claim_controller(site.client.clone()));
        site.has_secrets(&uid, &["db"]).await;
        // The Secret is there before it is told.
        site.tells_secret("db").await;
    }
}

/// RCD-17, D-14: a claim whose Secret the host refuses says so, and has it when it names one that can be; and one whose resource has no
/// Secret any more has none either.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_cannot_be_and_one_that_is_no_more() {
    let mut site = Site::open().await;
    site.furnish_with_secrets().await;
    let _whole = site.claim_controller(site.client.clone());
    let odd = json!({ "spec": { "writeConnectionSecretToRef": { "name": "No_Name" } } });
    site.post("Database", "db", odd).await;
    let claims = site.objects("Database");
    let claim = comes(&claims, "db", |claim| says(claim, "Synced", "Rejected")).await;
    assert_eq!(claim.data["status"]["bindingPhase"], "Bound");
    site.name_secret(Value::Null).await;
    let claim = site.bound("db").await;
    let uid = claim.uid().unwrap();
    site.has_secrets(&uid, &["db"]).await;
    let server = claim.data["status"]["bindings"][0]["resourceRef"]["name"].as_str().unwrap();
    let patch = json!({ "spec": { "writeConnectionSecretToRef": null } });
    site.objects("Server").patch(server, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    site.has_secrets(&uid, &[]).await;
    comes(&claims, "db", |claim| claim.data["status"]["binding"].is_null()).await;
}

/// RCD-17, RCD-40, N-05: a claim is told nothing any more of a Secret that is gone, or that is not the resource's any more, and says so,
/// whoever has seen it there; when there is one again, all is well. Nor does anything stay of a resource that is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_whose_source_is_gone() {
    let site = Site::open().await;
    site.furnish_one().await;
    let template = json!({ "writeConnectionSecretToRef": { "namespace": PROVIDER } });
    site.default_class("ServerClass", "gold", template).await;
    let provider = || AbortOnDropHandle::new(tokio::spawn(provide(site.client.clone())));
    let claims = site.objects("Database");
    let is_ready = |claim: &DynamicObject| {
        let conditions = claim.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
    };
    let mut whole = site.claim_controller(site.client.clone());
    site.post("Database", "db", json!({ "spec": {} })).await;
    let mut provides = provider();
    let claim = site.bound("db").await;
    let uid = claim.uid().unwrap();
    let server = claim.data["status"]["bindings"][0]["resourceRef"]["name"].as_str().unwrap().to_owned();
    let sources: Api<Secret> = Api::namespaced(site.client.clone(), PROVIDER);
    let is_lost =
        |claim: &DynamicObject| says(claim, "Ready", "SecretGone") && claim.data["status"]["binding"].is_null();
    for is_removed in [true, false] {
        comes(&claims, "db", is_ready).await;
        site.has_secrets(&uid, &["db"]).await;
        drop(provides);
        if is_removed {
            sources.delete(&server, &DeleteParams::default()).await.unwrap();
        } else {
            let foreign = json!({ "metadata": { "ownerReferences": null } });
            sources.patch(&server, &PatchParams::default(), &Patch::Merge(foreign)).await.unwrap();
        }
        site.has_secrets(&uid, &[]).await;
        let claim = comes(&claims, "db", is_lost).await;
        assert_eq!(claim.data["status"]["bindingPhase"], "Bound");
        // Nor does it say anything else after a while, or when someone else looks after it who has not seen that Secret.
        assert!(is_lost(&stays(&claims, "db").await));
        drop(whole);
        whole = site.claim_controller(site.client.clone());
        let patch = json!({ "spec": { "size": i32::from(is_removed) } });
        claims.patch("db", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
        let claim = comes(&claims, "db", |claim| {
            claim.data["status"]["observedGeneration"].as_i64() == claim.metadata.generation
        })
        .await;
        assert!(is_lost(&claim), "{claim:#?}");
        if !is_removed {
            sources.delete(&server, &DeleteParams::default()).await.unwrap();
        }
        provides = provider();
        site.bound("db").await;
    }
    comes(&claims, "db", is_ready).await;
    let servers = site.objects("Server");
    release(&servers, &server).await;
    servers.delete(&server, &DeleteParams::default()).await.unwrap();
    comes(&claims, "db", |claim| says(claim, "Bound", "ResourceLost")).await;
    site.has_secrets(&uid, &[]).await;
    comes(&claims, "db", |claim| claim.data["status"]["binding"].is_null()).await;
}

/// RCD-38: Secrets are followed in the namespaces in which one matters to a claim, and in no others: not where a resource had its
/// Secret before, and not when the last claim has gone.
#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_followed_while_they_matter() {
    let mut site = Site::open().await;
    site.furnish_with_secrets().await;
    let before = site.secret_watches().await;
    let _whole = site.claim_controller(site.client.clone());
    for name in ["db", "other"] {
        site.post("Database", name, json!({ "spec": {} })).await;
    }
    site.bound("other").await;
    let claim = site.bound("db").await;
    site.watches_secrets(before + 2).await;
    let claims = site.objects("Database");
    claims.delete("other", &DeleteParams::default()).await.unwrap();
    gone(&claims, "other").await;
    site.watches_secrets(before + 2).await;
    // The server's Secret is beside the claim's from now on.
    let server = claim.data["status"]["bindings"][0]["resourceRef"]["name"].as_str().unwrap();
    let patch = json!({ "spec": { "writeConnectionSecretToRef": { "namespace": "a" } } });
    site.objects("Server").patch(server, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    site.watches_secrets(before + 1).await;
    // There is none, so that the claim is told nothing. What is followed still, is told of.
    gone(&site.secrets(), "db").await;
    let moved = json!({ "spec": { "writeConnectionSecretToRef": { "namespace": PROVIDER } } });
    site.objects("Server").patch(server, &PatchParams::default(), &Patch::Merge(moved)).await.unwrap();
    comes(&site.secrets(), "db", |_| true).await;
    site.watches_secrets(before + 2).await;
    claims.delete("db", &DeleteParams::default()).await.unwrap();
    gone(&claims, "db").await;
    site.watches_secrets(before).await;
}
