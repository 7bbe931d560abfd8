//! Claims that get several resources, of which one cannot be had any more when others have been made.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http::Method;
use kube::ResourceExt;
use kube::api::{DeleteParams, DynamicObject, ListParams};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::brittle::End;
use crate::claim_site::{GROUP, controller, says};
use crate::site::{Holds, SOON, Site, comes, gone};

const MAKES_A_SERVER: Holds = |method, uri| *method == Method::POST && uri.path().ends_with("/servers");

// === impl Site ===

impl Site {
    /// Databases of a server that is made, and of a rule that is taken where there is one.
    async fn furnish_servers_with_rules(&self) {
        self.define_rules().await;
        let mut resources = self.one();
        let version = format!("{GROUP}/v1");
        resources.as_array_mut().unwrap().push(json!({
            "resource": { "apiVersion": version, "kind": "Rule" }, "class": { "apiVersion": version, "kind": "RuleClass" },
            "preferExisting": true,
        }));
        self.furnish(resources).await;
        self.default_class("ServerClass", "gold", json!({})).await;
    }

    /// A claim that has chosen a rule which is gone, and for which nothing has been made when its controller ends.
    async fn claim_what_goes(&self, name: &str) {
        self.post("Rule", "free", json!({ "spec": {} })).await;
        self.post("Database", name, json!({ "spec": {} })).await;
        let (road, client) = self.road();
        road.held.send_replace(Some(MAKES_A_SERVER));
        {
            let _controller = self.claim_controller(client);
            comes(&self.objects("Database"), name, |claim| rule(claim)["resourceRef"]["name"] == "free").await;
            let is_chosen = async {
                while road.waited.load(Ordering::Relaxed) == 0 {
                    sleep(Duration::from_millis(5)).await;
                }
            };
            timeout(SOON, is_chosen).await.expect("a server is about to be made");
        }
        self.objects("Rule").delete("free", &DeleteParams::default()).await.unwrap();
        gone(&self.objects("Rule"), "free").await;
    }

    async fn rules(&self) -> Vec<DynamicObject> {
        self.objects("Rule").list(&ListParams::default()).await.unwrap().items
    }
}

fn is_bound(claim: &DynamicObject) -> bool {
    claim.data["status"]["bindingPhase"] == "Bound"
}

/// What a claim has, or is to have, as its rule.
fn rule(claim: &DynamicObject) -> &Value {
    &claim.data["status"]["bindings"][1]
}

/// B-RCD-8, N-03, RCD-41: of two claims that have chosen the same resource, and have others by the time one of them gets it, the other
/// gets something else in its place.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_late_gets_something_else() {
    let site = Site::open().await;
    site.furnish_servers_with_rules().await;
    site.default_class("RuleClass", "open", json!({ "speed": 1 })).await;
    site.post("Rule", "free", json!({ "spec": {} })).await;
    let (road, client) = site.road();
    road.held.send_replace(Some(MAKES_A_SERVER));
    let _controller = site.claim_controller(client);
    let claims = site.objects("Database");
    for name in ["one", "two"] {
        site.post("Database", name, json!({ "spec": {} })).await;
        comes(&claims, name, |claim| rule(claim)["resourceRef"]["name"] == "free").await;
    }
    road.held.send_replace(None);
    let mut got = Vec::new();
    for name in ["one", "two"] {
        let claim = comes(&claims, name, is_bound).await;
        got.push((rule(&claim)["resourceRef"]["name"] == "free", rule(&claim)["classRef"]["name"].clone()));
    }
    got.sort_by_key(|(is_free, _)| *is_free);
    assert_eq!(got, [(false, json!("open")), (true, Value::Null)]);
    assert_eq!((site.servers().await.len(), site.rules().await.len()), (2, 2));
    assert!(!site.objects("RuleClass").get("open").await.unwrap().finalizers().is_empty(), "it is in use");
    for name in ["one", "two"] {
        claims.delete(name, &DeleteParams::default()).await.unwrap();
        gone(&claims, name).await;
    }
    let rules = site.rules().await;
    assert_eq!(rules.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["free"], "it was there before");
}

/// B-RCD-8, RCD-47: a claim whose resource goes before it is bound waits for another, or a class; one that asks for it by name waits
/// for that one.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_gone_is_replaced_unless_it_was_asked_for() {
    let site = Site::open().await;
    site.furnish_servers_with_rules().await;
    let (road, client) = site.road();
    road.held.send_replace(Some(MAKES_A_SERVER));
    let _controller = site.claim_controller(client);
    let (claims, rules) = (site.objects("Database"), site.objects("Rule"));
    site.post("Rule", "free", json!({ "spec": {} })).await;
    site.post("Database", "any", json!({ "spec": {} })).await;
    comes(&claims, "any", |claim| rule(claim)["resourceRef"]["name"] == "free").await;
    rules.delete("free", &DeleteParams::default()).await.unwrap();
    road.held.send_replace(None);
    comes(&claims, "any", |claim| says(claim, "Bound", "ResourceNotFound")).await;
    let asks = json!({ "spec": { "resourceRef": { "kind": "Rule", "name": "mine" } } });
    site.post("Database", "asks", asks).await;
    comes(&claims, "asks", |claim| says(claim, "Bound", "ResourceNotFound")).await;
    assert_eq!(site.servers().await.len(), 2);

    site.post("Rule", "next", json!({ "spec": {} })).await;
    let claim = comes(&claims, "any", is_bound).await;
    assert_eq!(rule(&claim)["resourceRef"]["name"], "next");
    site.default_class("RuleClass", "open", json!({ "speed": 1 })).await;
    site.post("Database", "later", json!({ "spec": {} })).await;
    let claim = comes(&claims, "later", is_bound).await;
    assert_eq!(rule(&claim)["classRef"]["name"], "open");
    let offer = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Database", "namespace": "a", "name": "asks",
    });
    site.post("Rule", "mine", json!({ "spec": { "claimRef": offer } })).await;
    let claim = comes(&claims, "asks", is_bound).await;
    assert_eq!((&rule(&claim)["resourceRef"]["name"], &rule(&claim)["classRef"]), (&json!("mine"), &Value::Null));
}

/// N-03, RCD-47: a claim that asks for a resource by name asks for one of that kind: one of another kind that has the same name is
/// taken as any other is.
#[tokio::test(flavor = "multi_thread")]
async fn a_resource_of_the_same_name_is_another() {
    let site = Site::open().await;
    site.furnish_servers_with_rules().await;
    let version = format!("{GROUP}/v1");
    let offer = json!({ "apiVersion": version, "kind": "Database", "namespace": "a", "name": "db" });
    site.post("Server", "x", json!({ "spec": { "claimRef": offer } })).await;
    site.post("Rule", "x", json!({ "spec": {} })).await;
    let asks = json!({ "spec": { "resourceRef": { "apiVersion": version, "kind": "Server", "name": "x" } } });
    site.post("Database", "db", asks).await;
    let _controller = site.claim_controller(site.client.clone());
    let claim = comes(&site.objects("Database"), "db", is_bound).await;
    let bindings = claim.data["status"]["bindings"].as_array().unwrap();
    let named: Vec<&Value> = bindings.iter().map(|binding| &binding["resourceRef"]["name"]).collect();
    assert_eq!(named, ["x", "x"]);
    assert_eq!((site.servers().await.len(), site.rules().await.len()), (1, 1), "nothing is made");
}

/// R-26, N-02, B-RCD-8: before and after each write of what takes the place of something that has gone, another controller comes to
/// the same end: nothing is made twice, nothing is left.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_replaced_once_whoever_crashes() {
    let site = Site::open().await;
    site.furnish_servers_with_rules().await;
    let (claims, classes) = (site.objects("Database"), site.objects("RuleClass"));
    let mut points = 0;
    for end in [End::Before, End::After] {
        for writes in 0.. {
            let name = format!("db-{writes}-{}", format!("{end:?}").to_lowercase());
            // Nobody holds it yet.
            site.default_class("RuleClass", "open", json!({ "speed": 1 })).await;
            site.claim_what_goes(&name).await;
            let bound = async { drop(comes(&claims, &name, is_bound).await) };
            let ended = site.run_brittle(controller, (writes, end), bound).await;
            let _whole = site.claim_controller(site.client.clone());
            let claim = comes(&claims, &name, is_bound).await;
            assert_eq!(rule(&claim)["classRef"]["name"], "open");
            let uid = |object: &DynamicObject| json!(object.uid());
            let made: Vec<Value> = site.servers().await.iter().chain(&site.rules().await).map(uid).collect();
            let bindings = claim.data["status"]["bindings"].as_array().unwrap();
            let known: Vec<Value> = bindings.iter().map(|binding| binding["resourceRef"]["uid"].clone()).collect();
            assert_eq!(made, known, "{name}: one server and one rule are made");
            claims.delete(&name, &DeleteParams::default()).await.unwrap();
            gone(&claims, &name).await;
            assert_eq!((site.servers().await.len(), site.rules().await.len()), (0, 0), "something is left of {name}");
            classes.delete("open", &DeleteParams::default()).await.unwrap();
            gone(&classes, "open").await;
            points += usize::from(ended);
            if !ended {
                break;
            }
            assert!(writes < 30, "it writes for ever");
        }
    }
    println!("{points} points were tried");
    assert!(points >= 10, "{points} points were tried");
}
