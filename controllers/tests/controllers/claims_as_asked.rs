//! Claims that ask for what cannot be, or for something else before they have it; and what they get if what they depend on is not
//! known, or changes meanwhile.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bailiwick_api::{BINDING_DEFINITION_FINALIZER, CLAIM_FINALIZER, ResourceBindingDefinition};
use http::Method;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::claim_site::{GROUP, says};
use crate::site::{A_WHILE, SOON, Site, comes, gone};

/// A server of a definition, with what is done with its class.
fn server(strategies: Value) -> Value {
    let version = format!("{GROUP}/v1");
    json!({
        "resource": { "apiVersion": version, "kind": "Server" },
        "class": { "apiVersion": version, "kind": "ServerClass", "strategies": strategies },
    })
}

fn translate(from: &str, to: &str) -> Value {
    json!({ "fromClaimField": from, "toResourceField": to })
}

/// Strategies that lay the class's template under or over what comes from the claim.
fn strategies(order: [&str; 2], translations: Value) -> Value {
    json!({
        "provisioning": order,
        "overlay": [{ "fromClassField": ".specTemplate", "toResourceField": ".spec" }],
        "translate": translations,
    })
}

/// Two servers; the second can be made of claims whose word is in a map.
fn two_servers(words: Value) -> Value {
    let size = strategies(["overlay", "translate"], json!([translate(".spec.size", ".spec.size")]));
    let mut word = translate(".spec.word", ".metadata.labels.word");
    word["transforms"] = json!({ "map": words });
    json!([server(size), server(strategies(["overlay", "translate"], json!([word])))])
}

fn is_bound(claim: &DynamicObject) -> bool {
    claim.data["status"]["bindingPhase"] == "Bound"
}

async fn change(api: &Api<DynamicObject>, name: &str, patch: Value) {
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

/// Has databases consist of a rule, too.
async fn add_a_rule(site: &Site) {
    let version = format!("{GROUP}/v1");
    let mut resources = site.one();
    resources.as_array_mut().unwrap().push(json!({
        "resource": { "apiVersion": version, "kind": "Rule" }, "class": { "apiVersion": version, "kind": "RuleClass" },
    }));
    let definitions: Api<ResourceBindingDefinition> = Api::all(site.client.clone());
    let change = Patch::Merge(json!({ "spec": { "resources": resources } }));
    definitions.patch("databases", &PatchParams::default(), &change).await.unwrap();
}

/// D-14, RCD-33: however many claims make no resource of any form, each says so, and others get theirs.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_formed_stops_nobody() {
    let site = Site::open().await;
    let translations =
        json!([translate(".spec.odd", ".metadata.annotations"), translate(".spec.label", ".metadata.labels.label")]);
    site.furnish(json!([server(strategies(["overlay", "translate"], translations))])).await;
    site.default_class("ServerClass", "gold", json!({})).await;
    let _whole = site.claim_controller(site.client.clone());
    let mut odd: Vec<String> = (0..20).map(|number| format!("odd-{number}")).collect();
    for name in &odd {
        site.post("Database", name, json!({ "spec": { "odd": "text" } })).await;
    }
    site.post("Database", "number", json!({ "spec": { "label": 7 } })).await;
    odd.push("number".to_owned());
    site.post("Database", "good", json!({ "spec": { "label": "seven" } })).await;
    let claims = site.objects("Database");
    comes(&claims, "good", is_bound).await;
    for name in &odd {
        comes(&claims, name, |claim| says(claim, "Synced", "CannotForm")).await;
    }
}

/// D-RCD-5: a change of a claim that comes before all of it was provided counts for what was made before.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_comes_halfway_is_followed() {
    let site = Site::open().await;
    site.furnish(two_servers(json!({ "good": "known" }))).await;
    site.default_class("ServerClass", "gold", json!({})).await;
    let _whole = site.claim_controller(site.client.clone());
    site.post("Database", "db", json!({ "spec": { "size": 1, "word": "bad" } })).await;
    let claims = site.objects("Database");
    let claim = comes(&claims, "db", |claim| says(claim, "Synced", "CannotForm")).await;
    let first = claim.data["status"]["bindings"][0]["resourceRef"]["name"].as_str().unwrap().to_owned();
    let servers = site.objects("Server");
    comes(&servers, &first, |server| server.data["spec"]["size"] == 1).await;
    change(&claims, "db", json!({ "spec": { "size": 2, "word": "good" } })).await;
    comes(&claims, "db", is_bound).await;
    comes(&servers, &first, |server| server.data["spec"]["size"] == 2).await;
}

/// D-RCD-7: a definition that changes when a claim has a part of what it gets does not give it the rest by other rules.
#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_changes_halfway() {
    let site = Site::open().await;
    site.furnish(two_servers(json!({ "good": "known" }))).await;
    site.default_class("ServerClass", "gold", json!({})).await;
    let _whole = site.claim_controller(site.client.clone());
    site.post("Database", "db", json!({ "spec": { "size": 1, "word": "bad" } })).await;
    let claims = site.objects("Database");
    comes(&claims, "db", |claim| says(claim, "Synced", "CannotForm")).await;
    let definitions: Api<ResourceBindingDefinition> = Api::all(site.client.clone());
    let other = json!({ "spec": { "resources": two_servers(json!({ "bad": "known" })) } });
    definitions.patch("databases", &PatchParams::default(), &Patch::Merge(other)).await.unwrap();
    comes(&claims, "db", |claim| says(claim, "Bound", "DefinitionChanged")).await;
    assert_eq!(site.servers().await.len(), 1);
    // Whoever comes now gets all of it by the new ones.
    site.post("Database", "new", json!({ "spec": { "size": 1, "word": "bad" } })).await;
    comes(&claims, "new", is_bound).await;
    claims.delete("db", &DeleteParams::default()).await.unwrap();
    gone(&claims, "db").await;
    assert_eq!(site.servers().await.len(), 2);
}

/// RCD-36, RCD-41, N-06: a claim that is made when its definition has just changed gets all that the definition names by now.
#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_was_not_looked_at_yet() {
    let site = Site::open().await;
    site.furnish_one().await;
    site.define_rules().await;
    site.default_class("ServerClass", "gold", json!({})).await;
    site.default_class("RuleClass", "open", json!({})).await;
    let (road, client) = site.road();
    let _controller = site.claim_controller(client);
    let claims = site.objects("Database");
    site.post("Database", "first", json!({ "spec": {} })).await;
    comes(&claims, "first", is_bound).await;
    // Whether more may be handled is asked, and not answered for a while.
    road.held.send_replace(Some(|_, uri| uri.path().contains("accessreviews")));
    add_a_rule(&site).await;
    let waits = async {
        while road.waited.load(Ordering::Relaxed) == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, waits).await.expect("the definition is looked at");
    site.post("Database", "db", json!({ "spec": {} })).await;
    sleep(A_WHILE).await;
    let claim = claims.get("db").await.unwrap();
    assert!(claim.data["status"].is_null(), "{claim:#?}");
    road.held.send_replace(None);
    let claim = comes(&claims, "db", is_bound).await;
    assert_eq!(claim.data["status"]["bindings"].as_array().unwrap().len(), 2, "{claim:#?}");
}

/// RCD-36, RCD-41, N-06: a question about a definition that fails, and is answered soon, does not have claims satisfied by another.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_fails_once_changes_no_choice() {
    let site = Site::open().await;
    site.furnish_one().await;
    site.define_rules().await;
    site.default_class("ServerClass", "gold", json!({})).await;
    site.default_class("RuleClass", "open", json!({})).await;
    let second = json!({
        "metadata": { "name": "second", "finalizers": [BINDING_DEFINITION_FINALIZER] },
        "spec": { "claim": { "apiVersion": format!("{GROUP}/v1"), "kind": "Database" }, "resources": site.one() },
    });
    site.make(&Api::<ResourceBindingDefinition>::all(site.client.clone()), second).await;
    let (road, client) = site.road();
    let _controller = site.claim_controller(client);
    let claims = site.objects("Database");
    site.post("Database", "first", json!({ "spec": {} })).await;
    let first = comes(&claims, "first", is_bound).await;
    assert_eq!(first.data["status"]["definition"]["name"], "databases", "of two, it is preferred");
    // With the pauses in between, that is for a second.
    const FAILURES: usize = 8;
    *road.astray.lock().unwrap() = ("accessreviews", FAILURES);
    add_a_rule(&site).await;
    let fails = async {
        while road.astray.lock().unwrap().1 == FAILURES {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, fails).await.expect("the definition is looked at");
    site.post("Database", "db", json!({ "spec": {} })).await;
    let claim = comes(&claims, "db", is_bound).await;
    assert_eq!(claim.data["status"]["definition"]["name"], "databases");
    assert_eq!(claim.data["status"]["bindings"].as_array().unwrap().len(), 2, "{claim:#?}");
}

/// RCD-28: a claim that changes does not override what the class has set after it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_class_overrides_stays_so() {
    let site = Site::open().await;
    let translations =
        json!([translate(".spec.size", ".spec.size"), translate(".spec.label", ".metadata.labels.label")]);
    site.furnish(json!([server(strategies(["translate", "overlay"], translations))])).await;
    site.default_class("ServerClass", "gold", json!({ "size": 9 })).await;
    let _whole = site.claim_controller(site.client.clone());
    site.post("Database", "db", json!({ "spec": { "size": 1, "label": "old" } })).await;
    let claims = site.objects("Database");
    let claim = comes(&claims, "db", is_bound).await;
    let name = claim.data["status"]["bindings"][0]["resourceRef"]["name"].as_str().unwrap().to_owned();
    let servers = site.objects("Server");
    comes(&servers, &name, |server| server.data["spec"]["size"] == 9 && server.labels()["label"] == "old").await;
    change(&claims, "db", json!({ "spec": { "size": 2, "label": "new" } })).await;
    let server = comes(&servers, &name, |server| server.labels()["label"] == "new").await;
    assert_eq!(server.data["spec"]["size"], 9);
}

/// N-04: as long as a namespace has not been seen, nothing is decided there: what is for other namespaces is not given away.
#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_was_not_seen_yet() {
    let site = Site::open().await;
    site.furnish_one().await;
    let annotations =
        json!({ "claim.bailiwick.dev/is-default-class": "true", "claim.bailiwick.dev/claimable-from": "!tier" });
    let class = json!({ "metadata": { "name": "free", "annotations": annotations }, "specTemplate": {} });
    site.post("ServerClass", "free", class).await;
    let (road, client) = site.road();
    road.held.send_replace(Some(|_, uri| {
        uri.path() == "/api/v1/namespaces" && uri.query().is_some_and(|query| query.contains("watch="))
    }));
    let _controller = site.claim_controller(client);
    site.post("Database", "db", json!({ "spec": {} })).await;
    comes(&site.objects("Database"), "db", is_bound).await;

    site.make(&site.namespaces(), json!({ "metadata": { "name": "late", "labels": { "tier": "bronze" } } })).await;
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1", "Database"), "databases");
    let claims: Api<DynamicObject> = Api::namespaced_with(site.client.clone(), "late", &resource);
    let claim = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Database", "metadata": { "name": "db" }, "spec": {},
    });
    claims.create(&PostParams::default(), &serde_json::from_value(claim).unwrap()).await.unwrap();
    sleep(A_WHILE).await;
    let claim = claims.get("db").await.unwrap();
    assert!(claim.data["status"].is_null() && claim.finalizers().is_empty(), "{claim:#?}");
    road.held.send_replace(None);
    comes(&claims, "db", |claim| says(claim, "ClassSelected", "NoMatch")).await;
    assert_eq!(site.servers().await.len(), 1);
}

/// RCD-47, S-16: a text that is no name leads nowhere: neither from what a claim asks for, nor from what someone has written
/// into its status.
#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_none() {
    let site = Site::open().await;
    site.furnish_one().await;
    let claims = site.objects("Database");
    let version = format!("{GROUP}/v1");
    let definitions: Api<ResourceBindingDefinition> = Api::all(site.client.clone());
    let definition = definitions.get("databases").await.unwrap();
    let odd = ["../databases/db", "..", "a/b", "a?watch=1", "a%2fb", "a,metadata.name!=b", "Upper"];
    for (number, name) in odd.iter().enumerate() {
        let asks = json!({ "spec": { "resourceRef": { "kind": "Server", "name": name } } });
        site.post("Database", &format!("asks-{number}"), asks).await;
        let metadata = json!({ "name": format!("forged-{number}"), "finalizers": [CLAIM_FINALIZER] });
        site.post("Database", &format!("forged-{number}"), json!({ "metadata": metadata, "spec": {} })).await;
        let status = json!({ "status": {
            "definition": {
                "name": "databases", "uid": definition.uid(), "generation": definition.metadata.generation,
            },
            "binding": { "name": name },
            "bindings": [{
                "index": 0, "phase": "Unbound", "ready": false,
                "resourceRef": { "apiVersion": version, "kind": "Server", "name": name },
            }],
        } });
        let params = PatchParams::default();
        claims.patch_status(&format!("forged-{number}"), &params, &Patch::Merge(status)).await.unwrap();
        claims.delete(&format!("forged-{number}"), &DeleteParams::default()).await.unwrap();
    }
    let _whole = site.claim_controller(site.client.clone());
    for number in 0..odd.len() {
        let claim = comes(&claims, &format!("asks-{number}"), |claim| says(claim, "Bound", "InvalidName")).await;
        assert!(claim.finalizers().is_empty() && claim.data["status"]["bindings"].is_null(), "{claim:#?}");
        gone(&claims, &format!("forged-{number}")).await;
    }
    // It is decided when it asks for something else.
    site.default_class("ServerClass", "gold", json!({})).await;
    change(&claims, "asks-0", json!({ "spec": { "resourceRef": null } })).await;
    comes(&claims, "asks-0", is_bound).await;
}

/// D-RCD-13: whoever else begins to hold a resource while it is released goes on holding it.
#[tokio::test(flavor = "multi_thread")]
async fn what_others_hold_is_released_for_the_claim_only() {
    let site = Site::open().await;
    site.furnish_one().await;
    let annotations = json!({ "claim.bailiwick.dev/is-default-class": "true" });
    let class = json!({
        "metadata": { "name": "kept", "annotations": annotations }, "specTemplate": {}, "reclaimPolicy": "Retain",
    });
    site.post("ServerClass", "kept", class).await;
    let claims = site.objects("Database");
    site.post("Database", "db", json!({ "spec": {} })).await;
    let (road, client) = site.road();
    let _controller = site.claim_controller(client);
    comes(&claims, "db", is_bound).await;
    let server = site.servers().await.remove(0).name_any();
    comes(&site.objects("Server"), &server, |server| server.data["status"]["bindingPhase"] == "Bound").await;
    road.held.send_replace(Some(|method, uri| {
        *method == Method::PATCH && uri.path().contains("/servers/") && !uri.path().ends_with("/status")
    }));
    claims.delete("db", &DeleteParams::default()).await.unwrap();
    let waits = async {
        while road.waited.load(Ordering::Relaxed) == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, waits).await.expect("it is about to be released");
    let bound = site.objects("Server").get(&server).await.unwrap().finalizers().to_vec();
    let held: Vec<String> = bound.into_iter().chain(["example.org/mine".to_owned()]).collect();
    change(&site.objects("Server"), &server, json!({ "metadata": { "finalizers": held } })).await;
    road.held.send_replace(None);
    gone(&claims, "db").await;
    assert_eq!(site.objects("Server").get(&server).await.unwrap().finalizers(), ["example.org/mine"]);
}
