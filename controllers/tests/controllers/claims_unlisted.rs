//! Kinds that cannot be listed, and definitions that cannot be judged: whom that concerns says so, and nobody else waits for it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bailiwick_api::{BINDING_DEFINITION_FINALIZER, Condition, ResourceBindingDefinition};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::claim_site::{GROUP, says};
use crate::site::{A_WHILE, Road, SOON, Site, comes, release};

/// What cannot be listed is tried again after at most half a minute.
const HEALED: Duration = Duration::from_secs(60);

// === impl Site ===

impl Site {
    /// A second definition for the same claims, by rules.
    async fn furnish_rules(&self) {
        self.define_rules().await;
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
    release(&site.objects("Server"), server.metadata.name.as_deref().unwrap()).await;
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

/// RCD-38, RCD-44: a definition of which nobody can tell whether it is allowed keeps claims from others for a while, and no longer.
#[tokio::test(flavor = "multi_thread")]
async fn others_go_on_without_what_cannot_be_judged() {
    let site = Site::open().await;
    site.furnish_one().await;
    site.default_class("ServerClass", "gold", json!({ "size": 1 })).await;
    let (road, client) = site.road();
    let _controller = site.claim_controller(client);
    let claims = site.objects("Database");
    site.post("Database", "first", json!({ "spec": {} })).await;
    comes(&claims, "first", is_bound).await;
    lead_astray(&road, "accessreviews", usize::MAX);
    site.furnish_rules().await;
    let is_asked = async {
        while road.astray.lock().unwrap().1 == usize::MAX {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, is_asked).await.expect("it is asked whether the definition is allowed");
    site.post("Database", "db", json!({ "spec": {} })).await;
    sleep(A_WHILE).await;
    let claim = claims.get("db").await.unwrap();
    assert!(claim.data["status"].is_null(), "{claim:#?}");
    let claim = comes(&claims, "db", is_bound).await;
    assert_eq!(claim.data["status"]["definition"]["name"], "databases");
}

/// RCD-38, RCD-44: claims that waited for what a definition names go on when it has gone, also if they are looked at again before it is
/// known what that means.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_what_a_definition_named() {
    let site = Site::open().await;
    site.furnish_one().await;
    site.default_class("ServerClass", "gold", json!({ "size": 1 })).await;
    let (road, client) = site.road();
    lead_astray(&road, "/ruleclasses", usize::MAX);
    let _controller = site.claim_controller(client);
    site.furnish_rules().await;
    site.readiness("by-rules", "Ready").await;
    // Who looks at the definition the next time does not come to an end.
    road.held.send_replace(Some(|_, uri| uri.path().ends_with("/resourcebindingdefinitions/by-rules")));
    let definitions: Api<ResourceBindingDefinition> = Api::all(site.client.clone());
    release(&definitions, "by-rules").await;
    let is_looked_at = async {
        while road.waited.load(Ordering::Relaxed) == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, is_looked_at).await.expect("the definition is looked at");
    let claims = site.objects("Database");
    site.post("Database", "db", json!({ "spec": {} })).await;
    sleep(A_WHILE).await;
    let claim = claims.get("db").await.unwrap();
    assert!(claim.data["status"].is_null(), "{claim:#?}");
    definitions.delete("by-rules", &DeleteParams::default()).await.unwrap();
    sleep(A_WHILE).await;
    road.held.send_replace(None);
    let claim = comes(&claims, "db", is_bound).await;
    assert_eq!(claim.data["status"]["definition"]["name"], "databases");
}
