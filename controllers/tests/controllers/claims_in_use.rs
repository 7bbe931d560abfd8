//! What claims use, and is to go, while they are about to use it: it stays for them, or they have never used it; and what
//! definitions do not name any more.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bailiwick_api::{BINDING_DEFINITION_FINALIZER, Condition, ConditionStatus, ResourceBindingDefinition};
use http::Method;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::brittle::End;
use crate::claim_site::{GROUP, controller, says};
use crate::site::{Holds, SOON, Site, comes, gone, release, stays};

const DEFINITION: &str = "databases";

/// What a controller is about to do when something goes.
const STEPS: [(&str, Holds); 3] = [
    ("says what the claim gets", |method, uri| {
        *method == Method::PATCH && uri.path().ends_with("/databases/db/status")
    }),
    ("holds the claim", |method, uri| *method == Method::PATCH && uri.path().ends_with("/databases/db")),
    ("makes a server", |method, uri| *method == Method::POST && uri.path().ends_with("/servers")),
];

// === impl Site ===

impl Site {
    fn binding_definitions(&self) -> Api<ResourceBindingDefinition> {
        Api::all(self.client.clone())
    }

    /// Has a controller begin to satisfy a claim, up to a request which waits as long as it runs.
    async fn paused(&self, holds: Holds) -> AbortOnDropHandle<()> {
        let (road, client) = self.road();
        let controller = self.claim_controller(client);
        road.held.send_replace(Some(holds));
        self.post("Database", "db", json!({ "spec": {} })).await;
        let waits = async {
            while road.waited.load(Ordering::Relaxed) == 0 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(SOON, waits).await.expect("it comes so far");
        controller
    }

    /// Has the definition name other kinds.
    async fn edit_definition(&self, resource: &str, class: &str) {
        let version = format!("{GROUP}/v1");
        let entry = json!({
            "resource": { "apiVersion": version, "kind": resource }, "class": { "apiVersion": version, "kind": class },
        });
        let patch = json!({ "spec": { "resources": [entry] } });
        self.binding_definitions().patch(DEFINITION, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Deletes the claim: everything that was made for it goes.
    async fn nothing_stays_of_claim(&self) {
        let claims = self.objects("Database");
        claims.delete("db", &DeleteParams::default()).await.unwrap();
        gone(&claims, "db").await;
        let nothing = async {
            while !self.servers().await.is_empty() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, nothing).await.expect("no server is left");
    }
}

/// Whether a claim is held, or says that it gets something.
fn is_involved(claim: &DynamicObject) -> bool {
    !claim.finalizers().is_empty() || !claim.data["status"]["definition"].is_null()
}

/// What a definition says that it named before.
fn former(definition: &ResourceBindingDefinition) -> Vec<String> {
    let status = definition.status.clone().unwrap_or_default();
    status.former_resources.iter().map(|entry| format!("{} {}", entry.resource.kind, entry.class.kind)).collect()
}

/// What a definition says of its readiness.
fn readiness(definition: &ResourceBindingDefinition) -> Option<&Condition> {
    definition.status.iter().flat_map(|status| &status.conditions).find(|one| one.condition_type == "Ready")
}

fn is_bound(claim: &DynamicObject) -> bool {
    claim.data["status"]["bindingPhase"] == "Bound"
}

/// B-RCD-9, R-26: a definition that goes while a claim is about to be satisfied by it either waits for that claim, or the claim is not held
/// by anything: whoever was about to satisfy it is stopped there and never comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_goes_while_a_claim_chooses() {
    let site = Site::open().await;
    site.furnish_one().await;
    site.default_class("ServerClass", "gold", json!({})).await;
    for (step, holds) in STEPS {
        println!("it {step}");
        let paused = site.paused(holds).await;
        let definitions = site.binding_definitions();
        definitions.delete(DEFINITION, &DeleteParams::default()).await.unwrap();
        sleep(Duration::from_millis(700)).await;
        drop(paused);
        let claim = site.objects("Database").get("db").await.unwrap();
        let waits = definitions.get_opt(DEFINITION).await.unwrap().is_some();
        assert_eq!(waits, is_involved(&claim), "it {step}: {claim:#?}");
        {
            let _whole = site.claim_controller(site.client.clone());
            gone(&definitions, DEFINITION).await;
        }
        // Nobody has to look after it any more.
        let claim = site.objects("Database").get("db").await.unwrap();
        assert!(claim.finalizers().is_empty(), "it {step}: {claim:#?}");
        site.nothing_stays_of_claim().await;
        site.define_bindings(site.one()).await;
    }
}

/// Claims wait for everything that they may depend on: what cannot be listed, the definition tells.
#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_cannot_be_listed() {
    let site = Site::open().await;
    site.furnish_one().await;
    site.default_class("ServerClass", "gold", json!({})).await;
    let (road, client) = site.road();
    road.held.send_replace(Some(|method, uri| *method == Method::GET && uri.path().ends_with("/servers")));
    let _controller = site.claim_controller(client);
    let definitions = site.binding_definitions();
    let told =
        comes(&definitions, DEFINITION, |found| readiness(found).is_some_and(|one| one.reason == "NotListed")).await;
    let ready = readiness(&told).unwrap();
    assert_eq!(ready.status, ConditionStatus::False);
    assert!(ready.message.contains(&format!("all objects of Server of {GROUP} have been listed")), "{}", ready.message);
    site.post("Database", "db", json!({ "spec": {} })).await;
    assert!(!is_involved(&stays(&site.objects("Database"), "db").await));
    road.held.send_replace(None);
    comes(&site.objects("Database"), "db", is_bound).await;
    comes(&definitions, DEFINITION, |found| readiness(found).is_some_and(|one| one.status == ConditionStatus::True))
        .await;
}

/// Definitions of the same claims wait for each other's kinds, and are looked at when those have been seen.
#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_goes_when_the_kinds_of_another_were_seen() {
    let site = Site::open().await;
    site.furnish_one().await;
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    site.define("Rule", "Cluster", json!({ "spec": open, "status": open })).await;
    site.define("RuleClass", "Cluster", json!({ "specTemplate": open })).await;
    let version = format!("{GROUP}/v1");
    let other = json!({
        "metadata": { "name": "by-rules", "finalizers": [BINDING_DEFINITION_FINALIZER] },
        "spec": { "claim": { "apiVersion": version, "kind": "Database" }, "resources": [{
            "resource": { "apiVersion": version, "kind": "Rule" }, "class": { "apiVersion": version, "kind": "RuleClass" },
        }] },
    });
    let definitions = site.binding_definitions();
    site.make(&definitions, other).await;
    let (road, client) = site.road();
    road.held.send_replace(Some(|method, uri| *method == Method::GET && uri.path().ends_with("/ruleclasses")));
    let _controller = site.claim_controller(client);
    comes(&definitions, "by-rules", |found| readiness(found).is_some()).await;
    definitions.delete(DEFINITION, &DeleteParams::default()).await.unwrap();
    comes(&definitions, DEFINITION, |found| readiness(found).is_some_and(|one| one.reason == "Terminating")).await;
    // By then it is not looked at any more to tell the same.
    comes(&definitions, "by-rules", |found| readiness(found).is_some_and(|one| one.reason == "NotListed")).await;
    stays(&definitions, DEFINITION).await;
    road.held.send_replace(None);
    gone(&definitions, DEFINITION).await;
}

/// B-RCD-9, R-26: the same wherever a controller ends that is satisfying a claim: whoever comes next lets both go, or keeps both.
#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_goes_wherever_its_controller_ends() {
    let site = Site::open().await;
    site.furnish_one().await;
    site.default_class("ServerClass", "gold", json!({})).await;
    let (claims, definitions) = (site.objects("Database"), site.binding_definitions());
    let mut points = 0;
    for end in [End::Before, End::After] {
        for writes in 0.. {
            site.post("Database", "db", json!({ "spec": {} })).await;
            let bound = async { drop(comes(&claims, "db", is_bound).await) };
            let ended = site.run_brittle(controller, (writes, end), bound).await;
            definitions.delete(DEFINITION, &DeleteParams::default()).await.unwrap();
            {
                let _whole = site.claim_controller(site.client.clone());
                let settled = async {
                    loop {
                        let claim = claims.get("db").await.unwrap();
                        let is_there = definitions.get_opt(DEFINITION).await.unwrap().is_some();
                        if is_there && is_bound(&claim) || !is_there && !is_involved(&claim) {
                            return;
                        }
                        sleep(Duration::from_millis(10)).await;
                    }
                };
                let point = format!("{end:?} {writes}");
                assert!(timeout(SOON, settled).await.is_ok(), "{point}: {:#?}", claims.get("db").await.unwrap());
                site.nothing_stays_of_claim().await;
                gone(&definitions, DEFINITION).await;
            }
            site.define_bindings(site.one()).await;
            points += usize::from(ended);
            if !ended {
                break;
            }
            assert!(writes < 60, "it writes for ever");
        }
    }
    println!("{points} points were tried");
    assert!(points >= 6, "{points} points were tried");
}

/// B-RCD-9: a class that goes while a claim is about to use it stays for that claim, or is not used by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_class_that_goes_while_a_claim_chooses_it() {
    let site = Site::open().await;
    site.furnish_one().await;
    let classes = site.objects("ServerClass");
    for (step, holds) in STEPS {
        println!("it {step}");
        site.default_class("ServerClass", "gold", json!({})).await;
        // It is held from now on, for others.
        let name = "first";
        {
            let _whole = site.claim_controller(site.client.clone());
            site.post("Database", name, json!({ "spec": {} })).await;
            comes(&site.objects("Database"), name, is_bound).await;
            site.objects("Database").delete(name, &DeleteParams::default()).await.unwrap();
            gone(&site.objects("Database"), name).await;
        }
        let paused = site.paused(holds).await;
        classes.delete("gold", &DeleteParams::default()).await.unwrap();
        sleep(Duration::from_millis(700)).await;
        let is_there = classes.get_opt("gold").await.unwrap().is_some();
        let claim = site.objects("Database").get("db").await.unwrap();
        let chosen = &claim.data["status"]["bindings"][0]["classRef"]["name"];
        assert_eq!(is_there, chosen == "gold", "it {step}: {claim:#?}");
        drop(paused);
        let _whole = site.claim_controller(site.client.clone());
        site.nothing_stays_of_claim().await;
        gone(&classes, "gold").await;
    }
}

/// B-RCD-9, N-06: a definition that names other kinds from now on holds what claims still have by it, and nothing of it when they
/// have gone; what no claim uses is let go at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_names_other_classes() {
    let site = Site::open().await;
    site.furnish_one().await;
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    site.define("OtherClass", "Cluster", json!({ "specTemplate": open })).await;
    site.define("Machine", "Cluster", json!({ "spec": open })).await;
    site.default_class("ServerClass", "gold", json!({})).await;
    site.post("ServerClass", "silver", json!({ "specTemplate": {} })).await;
    let (claims, classes) = (site.objects("Database"), site.objects("ServerClass"));
    let _whole = site.claim_controller(site.client.clone());
    site.post("Database", "db", json!({ "spec": {} })).await;
    site.post("Database", "brief", json!({ "spec": { "classRef": { "name": "silver" } } })).await;
    for name in ["db", "brief"] {
        comes(&claims, name, is_bound).await;
    }
    claims.delete("brief", &DeleteParams::default()).await.unwrap();
    gone(&claims, "brief").await;
    assert!(!classes.get("silver").await.unwrap().finalizers().is_empty());

    let definitions = site.binding_definitions();
    let edit = async |resource: &str, class: &str| site.edit_definition(resource, class).await;
    edit("Machine", "OtherClass").await;
    comes(&classes, "silver", |class| class.finalizers().is_empty()).await;
    let said = comes(&definitions, DEFINITION, |definition| !former(definition).is_empty()).await;
    assert_eq!(former(&said), ["Server ServerClass"]);
    // What the claim has is looked after as before, and what it uses stays.
    classes.delete("gold", &DeleteParams::default()).await.unwrap();
    assert!(stays(&classes, "gold").await.metadata.deletion_timestamp.is_some());
    let server = site.servers().await.remove(0);
    site.objects("Server").delete(&server.name_any(), &DeleteParams::default()).await.unwrap();
    let says = |claim: &DynamicObject, reason: &str| {
        let conditions = claim.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|condition| condition["reason"] == reason)
    };
    comes(&claims, "db", |claim| says(claim, "ResourceTerminating")).await;
    site.nothing_stays_of_claim().await;
    gone(&classes, "gold").await;
    comes(&definitions, DEFINITION, |definition| former(definition).is_empty()).await;

    // There and back again: what it names is not what it named before.
    site.default_class("OtherClass", "iron", json!({})).await;
    site.post("Database", "db", json!({ "spec": {} })).await;
    comes(&claims, "db", is_bound).await;
    edit("Server", "ServerClass").await;
    comes(&definitions, DEFINITION, |definition| former(definition) == ["Machine OtherClass"]).await;
    edit("Machine", "OtherClass").await;
    let found = comes(&definitions, DEFINITION, |definition| former(definition) != ["Machine OtherClass"]).await;
    assert!(former(&found).iter().all(|entry| entry == "Server ServerClass"), "{:?}", former(&found));
    // With the definition everything goes that it holds, whenever it named it.
    edit("Server", "ServerClass").await;
    definitions.delete(DEFINITION, &DeleteParams::default()).await.unwrap();
    assert_eq!(former(&stays(&definitions, DEFINITION).await), ["Machine OtherClass"]);
    let machines = site.objects("Machine");
    claims.delete("db", &DeleteParams::default()).await.unwrap();
    gone(&claims, "db").await;
    gone(&definitions, DEFINITION).await;
    assert!(machines.list(&Default::default()).await.unwrap().items.is_empty());
    let iron: Value = json!(site.objects("OtherClass").get("iron").await.unwrap().finalizers());
    assert_eq!(iron, json!([]));
}

/// B-RCD-9, N-06: a definition that makes the same resources of other classes is done with the old ones when their claims have gone, whoever
/// else has such resources; what another definition names is left to that one.
#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_uses_other_classes() {
    let site = Site::open().await;
    site.furnish_one().await;
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    site.define("OtherClass", "Cluster", json!({ "specTemplate": open })).await;
    site.define("Cache", "Namespaced", json!({ "spec": open, "status": open })).await;
    site.default_class("ServerClass", "gold", json!({})).await;
    site.default_class("OtherClass", "iron", json!({})).await;
    let (claims, definitions) = (site.objects("Database"), site.binding_definitions());
    let other = json!({
        "metadata": { "name": "caches", "finalizers": [BINDING_DEFINITION_FINALIZER] },
        "spec": { "claim": { "apiVersion": format!("{GROUP}/v1"), "kind": "Cache" }, "resources": site.one() },
    });
    site.make(&definitions, other).await;
    let _whole = site.claim_controller(site.client.clone());
    site.post("Database", "db", json!({ "spec": {} })).await;
    comes(&claims, "db", is_bound).await;
    site.edit_definition("Server", "OtherClass").await;
    comes(&definitions, DEFINITION, |found| former(found) == ["Server ServerClass"]).await;
    site.post("Database", "new", json!({ "spec": {} })).await;
    let new = comes(&claims, "new", is_bound).await;
    assert_eq!(new.data["status"]["bindings"][0]["classRef"]["name"], "iron");
    claims.delete("db", &DeleteParams::default()).await.unwrap();
    gone(&claims, "db").await;
    comes(&definitions, DEFINITION, |found| former(found).is_empty()).await;
    // The other definition holds it, and lets go of it when it goes.
    let classes = site.objects("ServerClass");
    assert!(!classes.get("gold").await.unwrap().finalizers().is_empty());
    definitions.delete("caches", &DeleteParams::default()).await.unwrap();
    gone(&definitions, "caches").await;
    assert!(classes.get("gold").await.unwrap().finalizers().is_empty());
}

/// A claim `db` that has a server of the class `gold`, and who keeps it so.
async fn with_a_bound_claim() -> (Site, AbortOnDropHandle<()>) {
    let site = Site::open().await;
    site.furnish_one().await;
    site.default_class("ServerClass", "gold", json!({})).await;
    let whole = site.claim_controller(site.client.clone());
    site.post("Database", "db", json!({ "spec": {} })).await;
    comes(&site.objects("Database"), "db", is_bound).await;
    (site, whole)
}

/// B-RCD-9: a definition that is to go tells which claims it waits for, also if it means nothing any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_definition_tells_what_it_waits_for() {
    let (site, _whole) = with_a_bound_claim().await;
    let definitions = site.binding_definitions();
    site.edit_definition("Server", "Nothing").await;
    let says = |definition: &ResourceBindingDefinition, condition: &str, reason: &str| {
        let conditions = definition.status.iter().flat_map(|status| status.conditions.clone());
        let found = conditions.into_iter().find(|found| found.condition_type == condition && found.reason == reason);
        found.map(|found| found.message)
    };
    comes(&definitions, DEFINITION, |found| says(found, "Accepted", "UnknownKind").is_some()).await;
    definitions.delete(DEFINITION, &DeleteParams::default()).await.unwrap();
    let going = comes(&definitions, DEFINITION, |found| says(found, "Ready", "Terminating").is_some()).await;
    let message = says(&going, "Ready", "Terminating").unwrap();
    assert!(message.ends_with("it satisfies a/db"), "{message}");
    assert!(says(&going, "Accepted", "UnknownKind").is_some());
    site.nothing_stays_of_claim().await;
    gone(&definitions, DEFINITION).await;
}

/// RCD-23, RCD-40: what claims have by a definition that is accepted no more is looked after all the same.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_broken_definition_has_made_is_looked_after() {
    let (site, _whole) = with_a_bound_claim().await;
    let definitions = site.binding_definitions();
    let version = format!("{GROUP}/v1");
    let mut resources = site.one();
    resources.as_array_mut().unwrap().push(json!({
        "resource": { "apiVersion": version, "kind": "Nothing" }, "class": { "apiVersion": version, "kind": "ServerClass" },
    }));
    let change = Patch::Merge(json!({ "spec": { "resources": resources } }));
    definitions.patch(DEFINITION, &PatchParams::default(), &change).await.unwrap();
    let is_broken = |definition: &ResourceBindingDefinition| {
        let conditions = definition.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|one| one.condition_type == "Accepted" && one.reason == "UnknownKind")
    };
    comes(&definitions, DEFINITION, is_broken).await;
    let server = site.servers().await.remove(0).name_any();
    site.objects("Server").delete(&server, &DeleteParams::default()).await.unwrap();
    comes(&site.objects("Database"), "db", |claim| says(claim, "Ready", "ResourceTerminating")).await;
    release(&site.objects("Server"), &server).await;
    comes(&site.objects("Database"), "db", |claim| says(claim, "Bound", "ResourceLost")).await;
    site.nothing_stays_of_claim().await;
}

/// B-RCD-9: a class that a claim uses is held, also after someone has let go of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_used_class_is_held_again() {
    let (site, _whole) = with_a_bound_claim().await;
    let classes = site.objects("ServerClass");
    release(&classes, "gold").await;
    comes(&classes, "gold", |class| !class.finalizers().is_empty()).await;
    classes.delete("gold", &DeleteParams::default()).await.unwrap();
    assert!(stays(&classes, "gold").await.metadata.deletion_timestamp.is_some());
    site.nothing_stays_of_claim().await;
    gone(&classes, "gold").await;
}

/// B-RCD-9: what a definition named before is noted with the write that changes it, each once, and whatever its version; and there is a
/// bound on it.
#[tokio::test]
async fn what_was_named_before_is_noted_at_once() {
    let site = Site::open().await;
    site.furnish_one().await;
    let definitions = site.binding_definitions();
    let noted = async || former(&definitions.get(DEFINITION).await.unwrap());
    site.edit_definition("Server", "First").await;
    assert_eq!(noted().await, ["Server ServerClass"]);
    site.edit_definition("Server", "Second").await;
    assert_eq!(noted().await, ["Server ServerClass", "Server First"]);
    site.edit_definition("Server", "ServerClass").await;
    assert_eq!(noted().await, ["Server First", "Server Second"]);
    let patch = json!({ "spec": { "resources": [{
        "resource": { "apiVersion": format!("{GROUP}/v2"), "kind": "Server" },
        "class": { "apiVersion": format!("{GROUP}/v2"), "kind": "ServerClass" },
    }] } });
    definitions.patch(DEFINITION, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    assert_eq!(noted().await, ["Server First", "Server Second"], "it is the same in another version");
    for number in 2..64 {
        site.edit_definition("Server", &format!("Class{number}")).await;
    }
    assert_eq!(noted().await.len(), 64);
    let patch = json!({ "spec": { "resources": [{
        "resource": { "apiVersion": format!("{GROUP}/v1"), "kind": "Server" },
        "class": { "apiVersion": format!("{GROUP}/v1"), "kind": "OneTooMany" },
    }] } });
    let refused = definitions.patch(DEFINITION, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap_err();
    assert!(refused.to_string().contains("of 64 other kinds"), "{refused}");
}
