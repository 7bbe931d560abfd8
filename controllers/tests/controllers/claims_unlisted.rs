//! Kinds that cannot be listed: whom that concerns says so, and nobody else waits for it.

use std::time::Duration;

use bailiwick_api::{BINDING_DEFINITION_FINALIZER, Condition, ResourceBindingDefinition};
use kube::Api;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::claim_site::{GROUP, says};
use crate::site::{Road, Site, comes};

/// What cannot be listed is tried again after at most half a minute.
const HEALED: Duration = Duration::from_secs(60);

// === impl Site ===

impl Site {
    /// A second definition for the same claims, by rules.
    async fn furnish_rules(&self) {
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        self.define("Rule", "Cluster", json!({ "spec": open })).await;
        self.define("RuleClass", "Cluster", json!({ "specTemplate": open })).await;
        let version = format!("{GROUP}/v1");
        let other = json!({
            "metadata": { "name": "by-rules", "finalizers": [BINDING_DEFINITION_FINALIZER] },
            "spec": { "claim": { "apiVersion": version, "kind": "Database" }, "resources": [{
                "resource": { "apiVersion": version, "kind": "Rule" },
                "class": { "apiVersion": version, "kind": "RuleClass" },
            }] },
        });
        self.make(&Api::<ResourceBindingDefinition>::all(self.client.clone()), other).await;
    }

    /// Waits until a definition says this of its readiness.
    async fn readiness(&self, name: &str, reason: &str) -> Condition {
        let definitions: Api<ResourceBindingDefinition> = Api::all(self.client.clone());
        let began = Instant::now();
        loop {
            let status = definitions.get(name).await.unwrap().status.unwrap_or_default();
            let found = status.conditions.into_iter().find(|one| one.condition_type == "Ready");
            if let Some(found) = found.filter(|found| found.reason == reason) {
                return found;
            }
            assert!(began.elapsed() < HEALED, "{name} does not say {reason}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Has whatever leads to this part of a path come to nothing, or no longer.
fn lead_astray(road: &Road, part: &'static str, count: usize) {
    *road.astray.lock().unwrap() = (part, count);
}

fn is_bound(claim: &DynamicObject) -> bool {
    claim.data["status"]["bindingPhase"] == "Bound"
}

fn condition(claim: &DynamicObject, wanted: &str) -> Value {
    let conditions = claim.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == wanted).unwrap_or_default()
}

/// RCD-38, RCD-44: a definition whose classes cannot be listed says so and is left out; claims are satisfied by others, and those that are
/// satisfied by others have never waited. Who wants what only it has is told, and gets it when it can be listed.
#[tokio::test(flavor = "multi_thread")]
async fn others_go_on_without_what_cannot_be_listed() {
    let site = Site::open().await;
    site.furnish_one().await;
    site.default_class("ServerClass", "gold", json!({ "size": 1 })).await;
    let claims = site.objects("Database");
    {
        let _whole = site.claim_controller(site.client.clone());
        site.post("Database", "old", json!({ "spec": {} })).await;
        comes(&claims, "old", is_bound).await;
    }
    site.furnish_rules().await;
    site.post("RuleClass", "fast", json!({ "specTemplate": { "speed": 1 } })).await;
    let (road, client) = site.road();
    lead_astray(&road, "/ruleclasses", usize::MAX);
    let _controller = site.claim_controller(client);
    // What has been provided by others does not wait at all.
    let began = Instant::now();
    let server = site.servers().await.remove(0);
    crate::site::release(&site.objects("Server"), server.metadata.name.as_deref().unwrap()).await;
    site.objects("Server").delete(server.metadata.name.as_deref().unwrap(), &Default::default()).await.unwrap();
    comes(&claims, "old", |claim| says(claim, "Bound", "ResourceLost")).await;
    assert!(began.elapsed() < Duration::from_secs(4), "it took {:?}", began.elapsed());

    let ready = site.readiness("by-rules", "NotListed").await;
    assert!(ready.message.contains(&format!("RuleClass of {GROUP} (")), "{}", ready.message);
    site.post("Database", "new", json!({ "spec": {} })).await;
    let new = comes(&claims, "new", is_bound).await;
    assert_eq!(new.data["status"]["definition"]["name"], "databases");
    site.readiness("databases", "Ready").await;
    site.post("Database", "rules", json!({ "spec": { "classRef": { "kind": "RuleClass", "name": "fast" } } })).await;
    let waiting = comes(&claims, "rules", |claim| says(claim, "ClassSelected", "NoMatch")).await;
    let told = condition(&waiting, "ClassSelected")["message"].as_str().unwrap().to_owned();
    assert!(told.contains("\"by-rules\" waits until objects can be listed of RuleClass"), "{told}");

    lead_astray(&road, "/ruleclasses", 0);
    site.readiness("by-rules", "Ready").await;
    let rules = comes(&claims, "rules", is_bound).await;
    assert_eq!(rules.data["status"]["definition"]["name"], "by-rules");
}

/// RCD-23, RCD-40: a claim that has what cannot be listed says that nobody knows how it stands, and a new one why it waits; both
/// are well when it can be.
#[tokio::test(flavor = "multi_thread")]
async fn who_has_what_cannot_be_listed_says_so() {
    let site = Site::open().await;
    site.furnish_one().await;
    site.default_class("ServerClass", "gold", json!({ "size": 1 })).await;
    let claims = site.objects("Database");
    {
        let _whole = site.claim_controller(site.client.clone());
        site.post("Database", "old", json!({ "spec": {} })).await;
        comes(&claims, "old", |claim| condition(claim, "Ready")["status"] == "True").await;
    }
    let (road, client) = site.road();
    lead_astray(&road, "/servers", usize::MAX);
    let _controller = site.claim_controller(client);
    let ready = site.readiness("databases", "NotListed").await;
    assert!(ready.message.contains(&format!("Server of {GROUP} (")), "{}", ready.message);
    let old = comes(&claims, "old", |claim| says(claim, "Synced", "NotListed")).await;
    assert_eq!(condition(&old, "Ready")["status"], "Unknown");
    assert_eq!(condition(&old, "Bound")["status"], "True");
    let told = condition(&old, "Synced")["message"].as_str().unwrap().to_owned();
    assert!(told.contains(&format!("Server of {GROUP}")) && told.contains("\"databases\" tells why"), "{told}");
    site.post("Database", "new", json!({ "spec": {} })).await;
    comes(&claims, "new", |claim| says(claim, "ClassSelected", "NotListed")).await;

    lead_astray(&road, "/servers", 0);
    site.readiness("databases", "Ready").await;
    for name in ["old", "new"] {
        comes(&claims, name, |claim| condition(claim, "Ready")["status"] == "True").await;
    }
}
