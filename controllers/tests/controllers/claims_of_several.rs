//! Claims that get several resources, of which one cannot be had any more when others have been made.

use http::Method;
use kube::ResourceExt;
use kube::api::{DeleteParams, DynamicObject, ListParams};
use serde_json::{Value, json};

use crate::claim_site::{GROUP, says};
use crate::site::{Holds, Site, comes, gone};

const MAKES_A_SERVER: Holds = |method, uri| *method == Method::POST && uri.path().ends_with("/servers");

// === impl Site ===

impl Site {
    /// Databases of a server that is made, and of a rule that is taken where there is one.
    async fn furnish_servers_with_rules(&self) {
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        self.define("Rule", "Cluster", json!({ "spec": open })).await;
        self.define("RuleClass", "Cluster", json!({ "specTemplate": open })).await;
        let mut resources = self.one();
        let version = format!("{GROUP}/v1");
        resources.as_array_mut().unwrap().push(json!({
            "resource": { "apiVersion": version, "kind": "Rule" }, "class": { "apiVersion": version, "kind": "RuleClass" },
            "preferExisting": true,
        }));
        self.furnish(resources).await;
        self.default_class("ServerClass", "gold", json!({})).await;
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
    let rules = site.objects("Rule").list(&ListParams::default()).await.unwrap().items;
    assert_eq!((site.servers().await.len(), rules.len()), (2, 2));
    assert!(!site.objects("RuleClass").get("open").await.unwrap().finalizers().is_empty(), "it is in use");
    for name in ["one", "two"] {
        claims.delete(name, &DeleteParams::default()).await.unwrap();
        gone(&claims, name).await;
    }
    let rules = site.objects("Rule").list(&ListParams::default()).await.unwrap().items;
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
